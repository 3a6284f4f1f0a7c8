// SPDX-License-Identifier: BSL-1.0
//
// The heuristics of channels as cases: counts are passed in, nothing runs.
#include <doctest/doctest.h>

#include <leat/csp/policy/bias.hpp>
#include <leat/csp/policy/ring_calm.hpp>
#include <leat/csp/policy/ring_spin.hpp>

using namespace leat::csp;

namespace {

int waits_without(ring_spin_policy& p) {
  int n = 0;
  while (!p.spins()) ++n;
  return n;
}

// Sections of one M until the lock is biased to it; none for more than two million.
int sections(bias_policy& p) {
  (void)p.is_due(false);
  for (int n = 1; n <= 2'000'000; ++n)
    if (p.is_due(true)) {
      p.was_biased();
      return n;
    }
  return 0;
}

}  // namespace

TEST_CASE("a ring: who spun in vain does so less and less often, until it helps") {
  ring_spin_policy p;
  CHECK(p.spins());
  for (const int without : {1, 3, 7, 15, 31, 63, 63}) {
    p.was_in_vain();
    CHECK(waits_without(p) == without);
  }
  p.helped();
  CHECK(p.spins());
  CHECK(p.spins());
}

TEST_CASE("a ring: it is calm after some visits without a park of the other side, more with more Ps") {
  for (const std::uint32_t procs : {1u, 2u, 8u}) {
    ring_calm_policy p;
    std::uint32_t visits = 0;
    for (p.visit(5); !p.is_calm(procs); ++visits) p.visit(5);
    CHECK(visits == 2 + procs);
    p.visit(6);  // it has parked
    CHECK_FALSE(p.is_calm(procs));
  }
  CHECK(ring_calm_policy::enough(0) == 16);  // a plain thread
}

TEST_CASE("a lock is biased to who alone uses it, after the more sections the oftener that was revoked") {
  bias_policy p;
  CHECK(sections(p) == 1 << 8);
  for (const int more : {12, 16, 20, 20}) {
    p.was_revoked(true);
    CHECK(sections(p) == 1 << more);
  }
}

TEST_CASE("a lock: who only looked, or is no M, counts less") {
  bias_policy p;
  for (const int more : {9, 10, 11, 12, 12}) {
    p.was_revoked(false);
    CHECK(sections(p) == 1 << more);
  }
}

TEST_CASE("a lock that was biased when it was made goes on as others do after its first revocation") {
  bias_policy p;
  p.was_biased_when_made();
  CHECK(p.is_biased_since_made());
  p.was_revoked(true);
  CHECK_FALSE(p.is_biased_since_made());
  CHECK(sections(p) == 1 << 8);
}

TEST_CASE("a lock: a section of another begins the count anew") {
  bias_policy p;
  for (int i = 0; i < (1 << 8) - 1; ++i) REQUIRE_FALSE(p.is_due(true));
  CHECK_FALSE(p.is_due(false));
  CHECK(sections(p) == 1 << 8);
}
