// SPDX-License-Identifier: BSL-1.0
//
// The edge between sleeping and waking. In builds with debug checks threads are stopped at the worst places
// of the protocol (sched/pause_point.hpp): windows of a few instructions, which no stress test finds in reasonable
// time.
#include <array>
#include <ctime>
#include <functional>
#include <memory>
#include <optional>
#include <thread>

#include <leat/sched/pause_point.hpp>

#include "fixture.hpp"
#include "hang_guard.hpp"

using namespace leat;
using namespace leat::sched;
using namespace leat::sched::test;

namespace {

runtime_options options_for(unsigned procs, unsigned run_queue, std::optional<unsigned> spinning) {
  runtime_options o = with_procs(procs, run_queue);
  o.spinning = spinning;
  return o;
}

constexpr int rounds = fiber::under_tsan ? 3000 : 8000;

// An M looks for a few µs to some dozen before it sleeps; most pauses end around there.
void pause_around_the_edge(random_numbers& random) {
  if (random.one_in(100)) {
    ::usleep(static_cast<useconds_t>(random.below(1500)));
  } else {
    spin_for(nanoseconds(random.below(random.one_in(2) ? 60'000 : 6'000)));
  }
}

// Plain threads that each spawn one G at a time and wait for it, while all Ps go idle again and again.
void check_from_outside(unsigned procs, std::optional<unsigned> spinning, int threads, bool resize) {
  const std::uint64_t seed = seed_for("spawns from outside");
  leat::run(options_for(procs, 256, spinning), [&] {
    keep_alive others_will_wake_us;
    std::atomic<int> left{threads};
    // One guard for each: the others' progress must not hide a thread that waits.
    std::vector<std::unique_ptr<hang_guard>> guards;
    std::vector<std::thread> all;
    for (int i = 0; i < threads; ++i)
      guards.push_back(std::make_unique<hang_guard>("spawns from outside", seed));
    std::atomic<int> ran{0}, asked{0};
    for (int i = 0; i < threads; ++i)
      all.emplace_back([&, i] {
        random_numbers random(seed + static_cast<std::uint64_t>(i));
        auto& guard = *guards[static_cast<std::size_t>(i)];
        for (rounds_of turns(rounds / threads); turns.more();) {
          ++asked;
          if (random.one_in(4)) {
            spawn([&] { ran.fetch_add(1, std::memory_order_relaxed); }).get();
            pause_around_the_edge(random);
          } else {
            // A join would wake this thread long after the M has gone to sleep: watch instead, and be there
            // in time.
            std::atomic<bool> over{false};
            go([&] {
              ran.fetch_add(1, std::memory_order_relaxed);
              over.store(true, std::memory_order_release);
            });
            for (int turn = 1; !over.load(std::memory_order_acquire); ++turn)
              if (turn % 1000 == 0) std::this_thread::yield();
            for (std::uint64_t n = random.below(3000); n > 0; --n) asm volatile("");
          }
          guard.progress();
          if (resize && random.one_in(3)) set_procs(static_cast<unsigned>(1 + random.below(procs)));
        }
        // Standing still is right from here on.
        for (--left; left.load() > 0; ::usleep(1000)) guard.progress();
      });
    blocking([&] {
      for (auto& t : all) t.join();
    });
    guards.clear();
    CHECK(ran.load() == asked.load());
  });
}

void check_from_g_to_g(std::optional<unsigned> spinning) {
  const std::uint64_t seed = seed_for("spawns from G to G");
  leat::run(options_for(2, 1, spinning), [&] {
    hang_guard guard("spawns from G to G", seed);
    random_numbers random(seed);
    int ran = 0;
    rounds_of all(rounds);
    while (all.more()) {
      auto t = spawn([&] { ++ran; });
      pause_around_the_edge(random);
      (void)t.join();
      t.get();
      guard.progress();
      if (random.one_in(10)) (void)sleep_for(nanoseconds(random.below(50'000)));
    }
    CHECK(ran == all.done());
  });
}

}  // namespace

TEST_CASE("each G that a plain thread spawns runs, however close the Ms are to sleep") {
  for (const std::optional<unsigned> spinning : {std::optional<unsigned>(0), std::optional<unsigned>()})
    check_from_outside(2, spinning, 1, false);
}

TEST_CASE("two plain threads that spawn at the same time do not hide each other's wakes") {
  for (const std::optional<unsigned> spinning : {std::optional<unsigned>(0), std::optional<unsigned>()})
    check_from_outside(2, spinning, 2, false);
}

TEST_CASE("a P that retires passes on what it was woken for") { check_from_outside(4, {}, 2, true); }

TEST_CASE("each G that a G spawns runs, with a ring of one, with and without spinning") {
  check_from_g_to_g(0);
  check_from_g_to_g({});
}

TEST_CASE("work that is queued behind a busy G is taken by an idle P") {
  const std::uint64_t seed = seed_for("queued behind a busy G");
  leat::run(undisturbed(2), [&] {
    random_numbers random(seed);
    for (rounds_of all(300, 20); all.more();) {
      (void)sleep_for(nanoseconds(random.below(300'000)));
      std::atomic<bool> ran{false};
      auto t = spawn([&] { ran = true; });
      const std::int64_t begin = now_ns();
      while (!ran.load() && nanoseconds(now_ns() - begin) < patience) {
      }
      REQUIRE(ran.load());
      t.get();
    }
  });
}

// --- Step by step -----------------------------------------------------------------------------------

#if LEAT_DEBUG_CHECKS_ON

namespace {

enum class thread_kind { m, plain };

// Stops the first thread of a kind that comes to a place, until it is let go.
class stop_at {
 public:
  stop_at(pause_site place, thread_kind kind) : place_(index(place)), kind_(kind) {
    armed()[place_].store(this);
    pause_hook.store(
        [](pause_site at) noexcept {
          visits()[index(at)].fetch_add(1);
          there()[index(at)].fetch_add(1);
          if (stop_at* const s = armed()[index(at)].load()) s->meet();
          there()[index(at)].fetch_sub(1);
        },
        std::memory_order_release);  // pairs with pause_point
  }
  // Who has come to the place sees the null, or is waited for.
  ~stop_at() {
    go_on_ = true;
    armed()[place_].store(nullptr);
    while (there()[place_].load() != 0) std::this_thread::yield();
  }
  stop_at(const stop_at&) = delete;
  stop_at& operator=(const stop_at&) = delete;

  bool has_one() const { return caught_.load(); }
  void let_go() { go_on_ = true; }
  static std::uint64_t visits_of(pause_site at) { return visits()[index(at)].load(); }

 private:
  static unsigned index(pause_site p) { return static_cast<unsigned>(p); }
  static std::array<std::atomic<stop_at*>, pause_places>& armed() {
    static std::array<std::atomic<stop_at*>, pause_places> all{};
    return all;
  }
  static std::array<std::atomic<unsigned>, pause_places>& there() {
    static std::array<std::atomic<unsigned>, pause_places> all{};
    return all;
  }
  static std::array<std::atomic<std::uint64_t>, pause_places>& visits() {
    static std::array<std::atomic<std::uint64_t>, pause_places> all{};
    return all;
  }
  void meet() noexcept {
    if ((current_m() ? thread_kind::m : thread_kind::plain) != kind_ || caught_.exchange(true)) return;
    const timespec nap{0, 20'000};
    while (!go_on_.load()) (void)::nanosleep(&nap, nullptr);
  }

  const unsigned place_;
  const thread_kind kind_;
  std::atomic<bool> caught_{false}, go_on_{false};
};

// What the protocol owes: not after the patience that a busy machine is given. If it does not come, a spawn
// more sets things right, and the test can go on and end.
bool soon(const std::atomic<bool>& ran) {
  const auto until = now() + patience;
  while (!ran && now() < until) (void)sleep_for(100us);
  if (ran) return true;
  go([] {});
  return false;
}

bool all_asleep(unsigned busy_threads) {
  const runtime_stats s = stats();
  return s.idle_procs == 1 && s.spinning == 0 && s.idle_threads == s.threads - busy_threads;
}

// Runs `director` on a plain thread while one P is idle and the others are held by Gs that sit in a read().
void with_one_idle_p(unsigned procs, unsigned spinning, const std::function<void(unsigned)>& director) {
  runtime_options o = undisturbed(procs);
  o.spinning = spinning;
  std::array<int, 2> pipe{};
  REQUIRE(::pipe(pipe.data()) == 0);
  run_clean(o, [&] {
    keep_alive others_will_wake_us;
    std::atomic<unsigned> held{0};
    std::vector<task<void>> holders;
    for (unsigned i = 1; i < procs; ++i)
      holders.push_back(spawn("holder", [&] {
        ++held;
        char c;
        CHECK(::read(pipe[0], &c, 1) == 1);
      }));
    blocking([&] {
      std::thread([&] {
        // Busy are the thread of main, which is in this call, and those of the holders.
        CHECK(eventually([&] { return held == procs - 1 && all_asleep(procs); }));
        director(procs);
        CHECK(eventually([&] { return all_asleep(procs); }));
      }).join();
    });
    for (unsigned i = 1; i < procs; ++i) CHECK(::write(pipe[1], "x", 1) == 1);
  });
  ::close(pipe[0]);
  ::close(pipe[1]);
}

}  // namespace

TEST_CASE("a waker that found no idle P looks again for those who relied on it") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    for (const unsigned spinning : {0u, 1u}) {
      CAPTURE(procs);
      CAPTURE(spinning);
      with_one_idle_p(procs, spinning, [](unsigned busy) {
        stop_at on_its_way(pause_site::before_waking, thread_kind::plain);
        stop_at in_vain(pause_site::searched_in_vain, thread_kind::plain);
        std::atomic<bool> first_ran{false}, second_runs{false}, second_may_end{false}, third_ran{false};
        std::thread waker([&] { go([&] { first_ran = true; }); });
        CHECK(eventually([&] { return on_its_way.has_one(); }));
        // Somebody else wakes an M, which takes the only P ...
        go([&] {
          second_runs = true;
          CHECK(eventually_without_entering([&] { return second_may_end.load(); }));
        });
        CHECK(eventually([&] { return second_runs && first_ran; }));
        on_its_way.let_go();
        CHECK(eventually([&] { return in_vain.has_one(); }));
        // ... and gives it up again. The next one to spawn leaves the waking to the waker, who searches.
        second_may_end = true;
        CHECK(eventually([&] { return all_asleep(busy); }));
        go([&] { third_ran = true; });
        in_vain.let_go();
        waker.join();
        CHECK(soon(third_ran));
        CHECK(eventually([&] { return third_ran.load(); }));
      });
    }
  }
}

TEST_CASE("an M on its way to sleep sees what was queued while it still counted as searching") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    with_one_idle_p(procs, 1, [](unsigned) {
      std::atomic<pid_t> first{0}, second{0};
      std::atomic<std::uint64_t> sleeps{0};
      std::atomic<bool> ran{false};
      stop_at idler(pause_site::before_uncounting, thread_kind::m);
      go([&] { first = thread_id(); });
      CHECK(eventually([&] { return idler.has_one(); }));
      CHECK(stats().idle_procs == 1);
      const std::uint64_t sleeps_before = stop_at::visits_of(pause_site::before_sleep);
      go([&] {
        sleeps = stop_at::visits_of(pause_site::before_sleep);
        second = thread_id();
        ran = true;
      });
      idler.let_go();
      CHECK(soon(ran));
      CHECK(eventually([&] { return ran.load(); }));
      CHECK(second == first);
      CHECK(sleeps == sleeps_before);  // at its last look, not on the second thought that idle_set::sleep has
    });
  }
}

#endif
