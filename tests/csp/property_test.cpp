// SPDX-License-Identifier: BSL-1.0
//
// Random programs of sends, receives, selects, closes and stops over channels of every flavour and policy,
// checked against what may happen (property_checks.hpp) and, on one P, against what must happen
// (property_model.hpp).
//
// LEAT_SEED=n runs one program, LEAT_PROGRAMS=n so many, or the one n times. A failure prints its seed. The
// interleaving is not in the seed: a program that failed at procs 2 or 4 may need to be run many times.
#include <cstdio>
#include <cstdlib>

#include <doctest/doctest.h>

#include <leat/leat.hpp>

#include "../sched/fixture.hpp"
#include "property_world.hpp"

using namespace leat::csp::test;

namespace {

std::uint64_t number_from(const char* variable, std::uint64_t otherwise) {
  const char* const given = std::getenv(variable);
  return given ? std::strtoull(given, nullptr, 0) : otherwise;
}

leat::runtime_options options_for(const program& p) {
  return p.exact ? leat::sched::test::undisturbed(1) : leat::sched::test::with_procs(p.procs);
}

// Of one kind, by seed % 4. The first that fails ends it.
bool run_some(std::uint64_t first, std::uint64_t step, std::uint64_t count) {
  bool ok = true;
  leat::run(options_for(generator(first).make()), [&] {
    for (std::uint64_t i = 0; i < count && ok; ++i) {
      const program p = generator(first + i * step).make();
      const std::string fault = run_program(p);
      if (fault.empty()) continue;
      ok = false;
      std::fprintf(stderr, "LEAT_SEED=%llu: %s\n%s", static_cast<unsigned long long>(p.seed), fault.c_str(),
                   to_text(p).c_str());
    }
  });
  return ok;
}

}  // namespace

// Who waits for too long is found by the program itself, so the whole may take as long as it likes.
TEST_CASE("random programs do what channels promise" * doctest::timeout(100'000)) {
  if (const std::uint64_t seed = number_from("LEAT_SEED", 0)) {
    std::printf("%s", to_text(generator(seed).make()).c_str());
    CHECK(run_some(seed, 0, number_from("LEAT_PROGRAMS", 1)));
    return;
  }
  const std::uint64_t programs = number_from("LEAT_PROGRAMS", 2000);
  const std::uint64_t base = leat::sched::test::seed_for("programs") * 4;
  constexpr std::uint64_t block = 100;
  bool ok = true;
  std::uint64_t done = 0;
  while (done < programs && ok) {
    for (std::uint64_t kind = 0; kind < 4 && ok; ++kind) ok = run_some(base + done + kind, 4, block / 4);
    done += block;
  }
  CHECK(ok);
  std::printf("%llu programs\n", static_cast<unsigned long long>(done));
}
