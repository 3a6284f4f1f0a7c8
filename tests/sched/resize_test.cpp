// SPDX-License-Identifier: BSL-1.0
//
// Changing the number of Ps while they run.
#include <thread>
#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

void resize_under_load(bool from_thread, unsigned run_queue) {
  CAPTURE(from_thread);
  CAPTURE(run_queue);
  run_clean(with_procs(1, run_queue), [&] {
    constexpr int gs = 200;
    constexpr int rounds = fiber::under_tsan ? 20 : 100;
    std::atomic<int> ended{0};
    std::atomic<long> steps{0};
    for (int i = 0; i < gs; ++i) {
      go([&, i] {
        for (int k = 0; k < rounds; ++k) {
          ++steps;
          if ((i + k) % 7 == 0) {
            (void)sleep_for(20us);
          } else {
            yield();
          }
          if (k % 10 == 0) spawn([&] { ++steps; }).get();
        }
        ++ended;
      });
    }
    const auto resize = [&] {
      for (int i = 0; i < 30; ++i) {
        for (const unsigned n : {4u, 2u, 3u, 1u}) {
          set_procs(n);
          CHECK(stats().procs == n);
          (void)sleep_for(50us);
        }
      }
      set_procs(4);
      set_procs(2);
    };
    if (from_thread) {
      std::thread outside(resize);
      CHECK(eventually([&] { return ended == gs; }));
      blocking([&] { outside.join(); });
    } else {
      spawn(resize).get();
    }
    CHECK(eventually([&] { return ended == gs; }));
    CHECK(steps == gs * rounds + gs * (rounds / 10));
    CHECK(stats().procs == 2);
    CHECK(eventually([] { return stats().idle_procs == 1; }));
    std::atomic<int> after{0};
    for (int i = 0; i < 50; ++i) go([&] { ++after; });
    CHECK(eventually([&] { return after == 50; }));
  });
}

}  // namespace

TEST_CASE("the number of Ps changes under load and no G is lost, from a G") {
  resize_under_load(false, 256);
  resize_under_load(false, 2);
}
TEST_CASE("the number of Ps changes under load and no G is lost, from a plain thread") {
  resize_under_load(true, 256);
  resize_under_load(true, 2);
}

TEST_CASE("Ps that are added are used at once by what is queued") {
  run_clean(undisturbed(1), [] {
    // All four must run at the same time to end.
    std::atomic<int> here{0};
    const auto meet = [&] {
      ++here;
      CHECK(eventually_without_entering([&] { return here >= 4; }));
    };
    std::vector<task<void>> all;
    for (int i = 0; i < 4; ++i) all.push_back(spawn(meet));
    set_procs(5);
    for (auto& t : all) t.get();
  });
}

TEST_CASE("a sleeper on a P that is taken away still wakes") {
  run_clean(with_procs(4), [] {
    std::atomic<int> woke{0};
    for (int i = 0; i < 40; ++i) {
      go([&] {
        (void)sleep_for(5ms);
        ++woke;
      });
    }
    CHECK(eventually([&] { return stats().parks >= 40; }));
    set_procs(1);
    CHECK(eventually([&] { return woke == 40; }));
  });
}

TEST_CASE("a number of Ps out of range is refused and changes nothing") {
  run_clean(with_procs(2), [] {
    for (const unsigned n : {0u, 1025u, 100000u}) CHECK_THROWS_AS(set_procs(n), std::invalid_argument);
    CHECK(stats().procs == 2);
  });
  CHECK_THROWS_AS(set_procs(2), std::logic_error);
}
