// SPDX-License-Identifier: BSL-1.0
//
// Gs that keep their thread: in a loop, in a system call that nobody declared, on a std::mutex. The others
// must not notice. Those that never end are tried in children of the test.
#include <unistd.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <leat/leat.hpp>

#include "hang_guard.hpp"
#include "support/child.hpp"

using namespace leat::sched::test;
using namespace std::chrono_literals;
using leat::nanoseconds;
using leat::now_ns;

namespace {

// A hog that kept its P would keep it for good. How late others are is what `leat-bench preempt` measures.
constexpr nanoseconds allowed_lateness = 60s;

template <class F>
bool in_time(F condition) {
  for (const std::int64_t until = now_ns() + 90'000'000'000; !condition(); (void)leat::sleep_for(1ms))
    if (now_ns() > until) return false;
  return true;
}

struct pipe_ends {
  pipe_ends() { ok = ::pipe(ends.data()) == 0; }
  ~pipe_ends() {
    ::close(ends[0]);
    ::close(ends[1]);
  }
  int read_end() const { return ends[0]; }
  int write_end() const { return ends[1]; }
  std::array<int, 2> ends{-1, -1};
  bool ok = false;
};

// A G that wants to run every 10 ms, and how late it was at worst.
class metronome {
 public:
  metronome()
      : beat_(leat::spawn("metronome", [this] {
          for (std::int64_t due = now_ns() + 10'000'000; !leat::stop_requested();
               due = now_ns() + 10'000'000) {
            if (leat::sleep_until(leat::time_point(nanoseconds(due))) == leat::sleep_result::stopped) return;
            worst_ = std::max(worst_, now_ns() - due);
            ++beats_;
          }
        })) {}
  void stop() {
    beat_.request_stop();
    beat_.get();
  }
  nanoseconds worst() const { return nanoseconds(worst_); }
  int beats() const { return beats_.load(); }

 private:
  std::int64_t worst_ = 0;
  std::atomic<int> beats_{0};
  leat::task<void> beat_;
};

// --- In a child: the hog never ends ------------------------------------------------------------------

void expect(bool well, const char* what) {
  if (well) return;
  std::printf("WRONG: %s\n", what);
  std::fflush(stdout);
  ::_exit(1);
}

// The seeds' example: main sleeps, says Done and ends the program, whatever the other Gs do.
template <class... Hog>
void main_ends_beside(Hog... hogs) {
  const std::int64_t begin = now_ns();
  std::int64_t slept = 0;
  leat::run({.procs = 1, .grace = 50ms}, [&] {
    metronome beat;
    (leat::go("hog", hogs), ...);
    leat::sleep_for(300ms);
    slept = now_ns() - begin;
    (void)in_time([&] { return leat::stats().retakes >= sizeof...(hogs) && beat.beats() >= 3; });
    beat.stop();
    const leat::runtime_stats s = leat::stats();
    std::printf("slept %lld ms, %d beats, worst lateness %lld us, %llu retakes, %llu without P\n",
                static_cast<long long>(slept / 1'000'000), beat.beats(),
                static_cast<long long>(beat.worst().count() / 1000),
                static_cast<unsigned long long>(s.retakes), static_cast<unsigned long long>(s.without_p));
    expect(s.retakes >= sizeof...(hogs), "no retake was counted");
    expect(beat.beats() >= 3, "the metronome hardly beat");
    expect(beat.worst() < allowed_lateness, "the metronome was late");
    std::puts("Done");
  });
  const auto took = nanoseconds(now_ns() - begin);
  std::printf("run returned after %lld ms\n", static_cast<long long>(took.count() / 1'000'000));
  expect(nanoseconds(slept) < 300ms + allowed_lateness, "main slept too long");
  // The sleep, two graces for Gs that do not listen, one for their threads, and the machine.
  expect(took < 300ms + 150ms + 4 * allowed_lateness, "run did not return");
  std::puts("and ended");
}

void loop_for_ever() {
  for (;;) asm volatile("" ::: "memory");
}

void check_child(const char* name) {
  const auto child = leat::test::run_self(name, {.limit = 280s});
  CAPTURE(child.exit_code);
  CAPTURE(child.signal);
  CAPTURE(child.timed_out);
  CHECK_MESSAGE(child.exited(0), child.output);
  CHECK_MESSAGE(child.said("Done\n"), child.output);
  CHECK_MESSAGE(child.said("and ended"), child.output);
}

}  // namespace

LEAT_CHILD(beside_an_endless_loop) { main_ends_beside(loop_for_ever); }

LEAT_CHILD(beside_an_undeclared_read) {
  auto* const empty = new pipe_ends;  // never closed: the reader outlives everything
  main_ends_beside([empty] {
    char byte;
    (void)!::read(empty->read_end(), &byte, 1);
  });
}

LEAT_CHILD(beside_a_thread_sleep) {
  main_ends_beside([] { std::this_thread::sleep_for(1h); });
}

LEAT_CHILD(beside_a_mutex_never_given_back) {
  static std::mutex held;
  main_ends_beside(
      [] {
        held.lock();
        loop_for_ever();
      },
      [] { held.lock(); });
}

LEAT_CHILD(beside_more_loops_than_cores) {
  main_ends_beside(loop_for_ever, loop_for_ever, loop_for_ever, loop_for_ever, loop_for_ever);
}

TEST_CASE("main sleeps, prints Done and ends the program beside a G in an endless loop, at procs = 1") {
  check_child("beside_an_endless_loop");
}
TEST_CASE("main ends the program beside a G in an undeclared read of an empty pipe") {
  check_child("beside_an_undeclared_read");
}
TEST_CASE("main ends the program beside a G in std::this_thread::sleep_for") {
  check_child("beside_a_thread_sleep");
}
TEST_CASE("main ends the program beside a G that waits for a std::mutex that a looping G holds") {
  check_child("beside_a_mutex_never_given_back");
}
TEST_CASE("main ends the program beside more endless loops than there are cores") {
  check_child("beside_more_loops_than_cores");
}

// What main's frame held is gone when run has returned: nothing that was left behind may come back to it.
LEAT_CHILD(left_behind) {
  static std::atomic<bool> returned{false};
  static std::atomic<int> inside{0}, came_back{0};
  const auto until_run_has_returned = [] {
    ++inside;
    while (!returned.load()) std::this_thread::sleep_for(1ms);
  };
  leat::run({.procs = 2, .grace = 20ms}, [&] {
    leat::go("declared", [=] {
      leat::blocking(until_run_has_returned);
      ++came_back;
    });
    leat::go("undeclared", [=] {
      until_run_has_returned();
      leat::yield();
      ++came_back;
    });
    leat::go("undeclared, then it just ends", until_run_has_returned);
    while (inside.load() < 3) (void)leat::sleep_for(1ms);
  });
  returned = true;
  std::this_thread::sleep_for(500ms);
  expect(came_back == 0, "a G went on after the runtime had ended");
  std::puts("Done\nand ended");
}
TEST_CASE("a G that was left behind in a blocking call never runs on after run has returned") {
  check_child("left_behind");
}

// One that ignores stops and goes in and out of the runtime all the time cannot be robbed of its P while it
// is inside.
LEAT_CHILD(busy_in_the_runtime) {
  static std::atomic<bool> returned{false};
  static std::atomic<int> came_back{0};
  for (int i = 0; i < 10; ++i) {
    returned = false;
    leat::run({.procs = 2, .grace = 1ms}, [&] {
      leat::go([] {
        for (;;) {
          const bool was_over = returned.load();
          (void)leat::stats();
          came_back += was_over;
        }
      });
      (void)leat::sleep_for(1ms);
    });
    returned = true;
    // Long enough for thousands of calls; a right program passes however long it is.
    std::this_thread::sleep_for(5ms);
  }
  expect(came_back == 0, "a G went on after the runtime had ended");
  std::puts("Done\nand ended");
}
TEST_CASE("a G that calls the runtime all the time does not do so after run has returned") {
  check_child("busy_in_the_runtime");
}

// --- Hogs that do end ---------------------------------------------------------------------------------

namespace {

// The hog loses its P, comes back, is a G like any other again, and ends with its result.
template <class Hog, class Release>
void check_rejoins(Hog hog, Release release) {
  leat::run({.procs = 1}, [&] {
    metronome beat;
    auto t = leat::spawn("hog", [&] {
      const int got = hog();
      int after = 0;
      for (int i = 0; i < 10; ++i) {
        leat::yield();
        after += leat::spawn([i] { return i; }).get();
        (void)leat::sleep_for(100us);
      }
      return got + after;
    });
    CHECK(in_time([] { return leat::stats().retakes >= 1 && leat::stats().without_p >= 1; }));
    CHECK(in_time([&] { return beat.beats() >= 3; }));
    CHECK_FALSE(t.done());
    release();
    CHECK(t.get() == 7 + 45);
    beat.stop();
    CHECK(all_have_their_p_again());
    CHECK(beat.worst() < allowed_lateness);
  });
}

}  // namespace

TEST_CASE("a G that looped without a P rejoins at its next entry and ends with its result") {
  std::atomic<bool> enough{false};
  check_rejoins(
      [&] {
        while (!enough.load()) {
        }
        return 7;
      },
      [&] { enough = true; });
}

TEST_CASE("a G that sat in an undeclared read rejoins when the byte has come") {
  pipe_ends p;
  REQUIRE(p.ok);
  check_rejoins(
      [&] {
        char byte = 0;
        return ::read(p.read_end(), &byte, 1) == 1 ? static_cast<int>(byte) : -1;
      },
      [&] { CHECK(::write(p.write_end(), "\7", 1) == 1); });
}

TEST_CASE("a G that slept with its thread rejoins afterwards") {
  std::atomic<bool> enough{false};
  check_rejoins(
      [&] {
        while (!enough.load()) std::this_thread::sleep_for(20ms);
        return 7;
      },
      [&] { enough = true; });
}

TEST_CASE("a G that blocked its thread on a std::mutex gets it and rejoins, and so does the holder") {
  leat::run({.procs = 1}, [] {
    metronome beat;
    std::mutex wanted;
    std::atomic<bool> held{false}, waits{false}, enough{false};
    int guarded = 0;
    auto holder = leat::spawn("holder", [&] {
      std::lock_guard hold(wanted);
      held = true;
      while (!enough.load()) std::this_thread::sleep_for(1ms);
      ++guarded;
    });
    auto waiter = leat::spawn("waiter", [&] {
      while (!held.load()) leat::yield();
      waits = true;
      std::lock_guard hold(wanted);
      ++guarded;
    });
    while (!waits.load()) (void)leat::sleep_for(1ms);
    CHECK(in_time([] { return leat::stats().retakes >= 2; }));
    enough = true;
    holder.get();
    waiter.get();
    CHECK(guarded == 2);
    beat.stop();
    CHECK(beat.worst() < allowed_lateness);
  });
}

TEST_CASE("a hog whose waker and joiner sleep is no deadlock, however often it comes back") {
  leat::run({.procs = 1, .slice = 1ms}, [] {
    for (int i = 0; i < 30; ++i) {
      // Main waits without a timer, and the only running G has no P.
      auto t = leat::spawn([] {
        spin_for(3ms);
        leat::yield();
        spin_for(3ms);
        return 1;
      });
      CHECK(t.get() == 1);
    }
  });
}

TEST_CASE("six hogs on two Ps let the others run, and each ends") {
  leat::run({.procs = 2}, [] {
    metronome beat;
    std::atomic<bool> enough{false};
    std::vector<leat::task<int>> hogs;
    for (int i = 0; i < 6; ++i)
      hogs.push_back(leat::spawn("hog", [&enough, i] {
        while (!enough.load()) {
        }
        leat::yield();
        return i;
      }));
    CHECK(in_time([&] { return leat::stats().retakes >= 4 && beat.beats() >= 3; }));
    enough = true;
    for (int i = 0; i < 6; ++i) CHECK(hogs[static_cast<std::size_t>(i)].get() == i);
    beat.stop();
    CHECK(beat.worst() < allowed_lateness);
    CHECK(all_have_their_p_again());
  });
}

namespace {

// Four Gs that compute on one P for a second, and on until their shares are alike; `enter` is what they call
// now and then.
void check_shares(void (*enter)()) {
  std::array<std::atomic<std::uint64_t>, 4> work{};
  const auto alike = [&] {
    const auto [least, most] = std::minmax({work[0].load(), work[1].load(), work[2].load(), work[3].load()});
    return least > 0 && most <= 3 * least;
  };
  leat::run({.procs = 1}, [&] {
    metronome beat;
    std::atomic<bool> enough{false};
    std::vector<leat::task<void>> all;
    for (auto& mine : work)
      all.push_back(leat::spawn("compute", [&mine, &enough, enter] {
        while (!enough) {
          for (int i = 0; i < 2000; ++i) asm volatile("" ::: "memory");
          ++mine;
          enter();
        }
      }));
    (void)leat::sleep_for(1s);
    CHECK(in_time(alike));
    enough = true;
    for (auto& t : all) t.get();
    beat.stop();
    CHECK(beat.worst() < allowed_lateness);
    CHECK(only_main_is_alive());
  });
}

}  // namespace

TEST_CASE("four computing Gs that only enter the runtime share one P") {
  check_shares([] { leat::checkpoint(); });
}
TEST_CASE("four computing Gs that yield share one P") {
  check_shares([] { leat::yield(); });
}
