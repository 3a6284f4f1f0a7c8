// SPDX-License-Identifier: BSL-1.0
//
// A mutex that nobody waits for is unlocked without a barrier (csp/mutex.hpp); tests/models/mutex.pml is the
// proof, this is the run.
#include <leat/csp/mutex.hpp>

#include <memory>
#include <mutex>

#include <leat/csp/wait_group.hpp>
#include <leat/sched/barrier.hpp>

#include "../sched/fixture.hpp"
#include "csp/start_waiting.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

const auto start_waiting = [](auto f) { return csp::test::start_waiting(f, {}, sched::wait_reason::mutex); };

// Where nobody has waited for long, unlock makes no barrier (csp/mutex.hpp).
bool is_calm(const mutex& m) {
  return csp::mutex_needy[csp::mutex_bucket(&m)].n.load(std::memory_order_relaxed) == 0;
}
void use_alone(mutex& m, int times) {
  for (int i = 0; i < times; ++i) std::scoped_lock hold(m);
}
constexpr int until_calm = 256 * 64;

}  // namespace

TEST_CASE("a mutex that nobody waits for becomes calm, until somebody does") {
  run_clean(with_procs(2), [] {
    mutex m;
    use_alone(m, until_calm + 256);
    CHECK(is_calm(m) == sched::detail::membarrier_works);
    m.lock();
    auto waits = start_waiting([&] { std::scoped_lock hold(m); });
    CHECK_FALSE(is_calm(m));
    use_alone(*std::make_unique<mutex>(), until_calm / 8);  // others are none of its business
    m.unlock();
    waits.get();
    CHECK_FALSE(is_calm(m));
    use_alone(m, until_calm + 256);
    CHECK(is_calm(m) == sched::detail::membarrier_works);
  });
}

TEST_CASE("nobody who comes to a calm mutex is left waiting") {
  for (const unsigned procs : {2u, 4u})
    run_clean(with_procs(procs), [] {
      mutex m;
      wait_group all;
      std::atomic<bool> over{false};
      // Sections of a length about which others give up looking and park.
      all.add();
      go([&] {
        for (unsigned i = 0; !over.load(std::memory_order_relaxed); ++i) {
          std::scoped_lock hold(m);
          if (i % 64 == 0)
            for (unsigned k = 0; k < i % 4096; ++k) asm volatile("");
        }
        all.done();
      });
      int found_calm = 0;
      const deadline enough = patience;
      const auto is_found = [&] { return found_calm > 0 || !sched::detail::membarrier_works; };
      for (int i = 0; i < 200 || (!is_found() && !enough.expired()); ++i) {
        // As long as it stays so when somebody else uses it too.
        for (const deadline end = 10ms; !is_calm(m) && !end.expired();) yield();
        found_calm += is_calm(m);
        std::scoped_lock hold(m);
      }
      over = true;
      (void)all.wait();
      CHECK(is_found());
    });
}
