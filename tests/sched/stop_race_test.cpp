// SPDX-License-Identifier: BSL-1.0
//
// Stops that race with the beginning and the end of waits (sched/interrupt.hpp). A stop that was lost shows as a G
// that sleeps on for an hour, and the guard reports it; a G that was woken twice breaks the scheduler's own
// checks or the counts.
#include <atomic>
#include <thread>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <leat/leat.hpp>

#include "hang_guard.hpp"
#include "support/child.hpp"

using namespace leat::sched::test;
using namespace std::chrono_literals;
using leat::join_result;
using leat::nanoseconds;
using leat::sleep_result;

namespace {

constexpr int rounds = leat::fiber::under_tsan ? 3000 : 20'000;

// Around the length of a park: a few µs, at times much more.
void little_pause(random_numbers& random) {
  if (random.one_in(50)) {
    (void)leat::sleep_for(nanoseconds(random.below(100'000)));
  } else if (!random.one_in(4)) {
    spin_for(nanoseconds(random.below(8'000)));
  }
}

leat::runtime_options with_procs(unsigned n) {
  leat::runtime_options o;
  o.procs = n;
  return o;
}

}  // namespace

TEST_CASE("a stop that races with the beginning of a sleep is never lost") {
  const std::uint64_t seed = seed_for("stop against sleep");
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    leat::run(with_procs(procs), [&] {
      hang_guard guard("stop against sleep", seed);
      random_numbers random(seed + procs);
      for (rounds_of all(rounds / 3); all.more();) {
        const auto warm_up = nanoseconds(random.below(5'000));
        auto t = leat::spawn([warm_up] {
          spin_for(warm_up);
          const bool stopped = leat::sleep_for(1h) == sleep_result::stopped;
          return stopped && leat::stop_requested() && leat::sleep_for(1h) == sleep_result::stopped;
        });
        little_pause(random);
        t.request_stop();
        if (!t.get()) FAIL("a sleep of an hour elapsed");
        guard.progress();
      }
    });
  }
}

TEST_CASE("a stop that races with the beginning of a join is never lost") {
  const std::uint64_t seed = seed_for("stop against join");
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    leat::run(with_procs(procs), [&] {
      hang_guard guard("stop against join", seed);
      random_numbers random(seed + procs);
      for (rounds_of all(rounds / 3); all.more();) {
        const auto warm_up = nanoseconds(random.below(5'000));
        auto t = leat::spawn([warm_up] {
          auto sleeper = leat::spawn([] { return leat::sleep_for(1h); });
          spin_for(warm_up);
          const join_result r = sleeper.join();
          sleeper.request_stop();
          return r == join_result::stopped && sleeper.get() == sleep_result::stopped;
        });
        little_pause(random);
        t.request_stop();
        if (!t.get()) FAIL("the join was not ended by the stop");
        guard.progress();
      }
    });
  }
}

TEST_CASE("a stop that races with the end of a sleep wakes it once") {
  const std::uint64_t seed = seed_for("stop against the end of a sleep");
  for (const unsigned procs : {1u, 2u}) {
    CAPTURE(procs);
    std::uint64_t elapsed = 0, stopped = 0;
    rounds_of all(rounds / 2);
    leat::run(with_procs(procs), [&] {
      hang_guard guard("stop against the end of a sleep", seed);
      random_numbers random(seed + procs);
      while (all.more()) {
        const std::int64_t due = leat::now_ns() + static_cast<std::int64_t>(random.below(40'000));
        std::atomic<int> wakes{0};
        auto t = leat::spawn([&wakes, due] {
          const sleep_result r = leat::sleep_until(leat::time_point(nanoseconds(due)));
          ++wakes;
          // A second wake of the first sleep would end this one early.
          const std::int64_t again = leat::now_ns() + 5'000;
          const sleep_result r2 = leat::sleep_until(leat::time_point(nanoseconds(again)));
          if (r2 == sleep_result::elapsed && leat::now_ns() < again) ++wakes;
          if (r == sleep_result::elapsed && leat::now_ns() < due) ++wakes;
          return r;
        });
        spin_for(nanoseconds(random.below(50'000)));
        t.request_stop();
        ++(t.get() == sleep_result::elapsed ? elapsed : stopped);
        if (wakes != 1) FAIL("woken " << wakes.load() << " times");
        guard.progress();
      }
    });
    CHECK(elapsed + stopped == static_cast<std::uint64_t>(all.done()));
    CHECK(stopped > 0);
  }
}

TEST_CASE("a stop that races with the end of the joined G wakes the joiner once, with the right answer") {
  const std::uint64_t seed = seed_for("stop against the end of a join");
  for (const unsigned procs : {1u, 2u}) {
    CAPTURE(procs);
    std::uint64_t ended = 0, stopped = 0;
    rounds_of all(rounds / 2);
    leat::run(with_procs(procs), [&] {
      hang_guard guard("stop against the end of a join", seed);
      random_numbers random(seed + procs);
      while (all.more()) {
        const auto work = nanoseconds(random.below(20'000));
        auto t = leat::spawn([work] {
          auto worker = leat::spawn([work] {
            (void)leat::sleep_for(work);
            return 5;
          });
          const join_result r = worker.join();
          const bool done = worker.done();
          // `ended` must be true; `stopped` may have been overtaken by the end.
          const bool honest = r == join_result::stopped || done;
          return std::pair(r, honest && worker.get() == 5);
        });
        spin_for(nanoseconds(random.below(40'000)));
        t.request_stop();
        const auto [r, well] = t.get();
        if (!well) FAIL("join said ended of a G that had not");
        ++(r == join_result::ended ? ended : stopped);
        guard.progress();
      }
    });
    CHECK(ended + stopped == static_cast<std::uint64_t>(all.done()));
  }
}

TEST_CASE("a stop source reaches each of its Gs wherever they are, from Gs and from plain threads") {
  const std::uint64_t seed = seed_for("stop source");
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    leat::run(with_procs(procs), [&] {
      hang_guard guard("stop source", seed);
      random_numbers random(seed + procs);
      for (rounds_of turns(rounds / 60); turns.more();) {
        leat::stop_source source;
        std::vector<leat::task<bool>> all;
        for (int k = 0; k < 20; ++k) {
          const std::uint64_t what = random.below(5);
          all.push_back(leat::spawn({.stop = source}, [what] {
            switch (what) {
              case 0: return leat::sleep_for(1h) == sleep_result::stopped;
              case 1: {
                auto other = leat::spawn([] { return leat::sleep_for(1h); });
                return other.join() == join_result::stopped;  // its destructor stops it
              }
              case 2:
                while (!leat::stop_requested()) leat::yield();
                return true;
              case 3:
                while (leat::sleep_for(10us) != sleep_result::stopped) {
                }
                return true;
              default:
                try {
                  for (;;) leat::checkpoint();
                } catch (const leat::stopped&) {
                  return true;
                }
            }
          }));
        }
        little_pause(random);
        if (random.one_in(2)) {
          source.request_stop();
        } else {
          std::thread outside([&] { source.request_stop(); });
          if (random.one_in(2)) source.request_stop();  // both at once
          outside.join();
        }
        // Those that come later are stopped from the beginning.
        all.push_back(leat::spawn({.stop = source}, [] {
          return leat::stop_requested() && leat::sleep_for(1h) == sleep_result::stopped;
        }));
        for (auto& t : all)
          if (!t.get()) FAIL("a member was not stopped");
        guard.progress();
      }
    });
  }
}

namespace {

// A plain thread that stops whoever raises the flag, a random moment later: from before the wait to well into
// it.
class sniper {
 public:
  explicit sniper(std::uint64_t seed) : thread_([this, seed] { shoot(seed); }) {}
  ~sniper() {
    over_ = true;
    thread_.join();
  }
  // On the G, as the last thing before it waits.
  void here_i_am(leat::stop_source& with) noexcept {
    busy_.store(true, std::memory_order_relaxed);
    target_.store(&with, std::memory_order_release);
  }
  // The source is still in its hands.
  bool busy() const noexcept { return busy_.load(std::memory_order_acquire); }

 private:
  void shoot(std::uint64_t seed) {
    random_numbers random(seed);
    while (!over_.load(std::memory_order_relaxed)) {
      leat::stop_source* const s = target_.exchange(nullptr, std::memory_order_acquire);
      if (!s) continue;
      // request_stop itself takes about as long to get to the G as the G to get to its wait.
      for (std::uint64_t i = random.one_in(10) ? random.below(2000) : random.below(40); i > 0; --i)
        asm volatile("");
      s->request_stop();
      busy_.store(false, std::memory_order_release);
    }
  }

  std::atomic<leat::stop_source*> target_{nullptr};
  std::atomic<bool> over_{false}, busy_{false};
  std::thread thread_;
};

template <class Wait>
void check_stops_from_outside(const char* what, Wait wait) {
  const std::uint64_t seed = seed_for(what);
  leat::run(with_procs(2), [&] {
    hang_guard guard(what, seed);
    sniper stops(seed);
    for (rounds_of all(rounds); all.more();) {
      leat::stop_source source;
      if (!leat::spawn({.stop = source}, [&] { return wait([&] { stops.here_i_am(source); }); }).get())
        FAIL("the wait was not ended by the stop");
      while (stops.busy()) leat::yield();
      guard.progress();
    }
  });
}

}  // namespace

TEST_CASE(
    "a plain thread that stops the only sleeping G in the moment of its sleep is seen, and is no deadlock") {
  check_stops_from_outside("sleep, stopped from outside", [](auto now) {
    now();
    return leat::sleep_for(1h) == sleep_result::stopped;
  });
}

TEST_CASE("a plain thread that stops a G in the moment of its join is seen") {
  check_stops_from_outside("join, stopped from outside", [](auto now) {
    auto sleeper = leat::spawn([] { return leat::sleep_for(1h); });
    leat::yield();
    now();
    return sleeper.join() == join_result::stopped;  // its destructor stops the sleeper
  });
}

TEST_CASE("no stop is lost where the kernel has no membarrier" * doctest::timeout(200)) {
  // There a stop needs no system call to reach the G, so it comes much closer to the beginning of the wait.
  const auto child = leat::test::run_program(
      "/proc/self/exe", {"-sf=*stop_race_test.cpp", "-tc=*in the moment of its*,*races with the*"},
      {.limit = 180s, .environment = {"LEAT_NO_MEMBARRIER=1"}});
  CHECK_MESSAGE(child.exited(0), child.output);
}
