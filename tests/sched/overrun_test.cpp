// SPDX-License-Identifier: BSL-1.0
//
// Guarded Gs that run for long and come back: who is asked to stop, who is insisted on, and who must be left
// alone. Those that never come back: quarantine_test.cpp.
#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "fixture.hpp"
#include "hang_guard.hpp"
#include "overrun_fixture.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

namespace {

constexpr nanoseconds long_time = 10s;

using steps = std::vector<overrun_step>;

// Without entering the runtime.
template <class F>
void spin_until(F condition) {
  REQUIRE(eventually_without_entering(condition));
}

}  // namespace

TEST_CASE("a G that has run for too long is asked to stop, and one that listens ends as it likes") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [&] {
      const auto guard = guard_of(20ms, long_time);
      auto t = spawn({.name = "listens", .guard = guard}, [] {
        spin_until([] { return stop_requested(); });
        return 7;
      });
      CHECK(t.get() == 7);
      CHECK(eventually([&] { return guard->steps() == steps{overrun_step::asked}; }));
      CHECK(guard->entries().front().ran >= 20ms);
    });
  }
}

TEST_CASE(
    "until it is quarantined no system call of it returns early, and the news say which one it waits in") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [&] {
      const auto guard = guard_of(20ms, 20ms);
      // Asked and insisted on while it waits; it comes in before it would be quarantined, most of the time.
      const std::int64_t begin = now_ns();
      int ended = -1, error = 0;
      nanoseconds took{0};
      auto t = spawn({.guard = guard}, [&] {
        ended = ::poll(nullptr, 0, 35);
        error = errno;
        took = nanoseconds(now_ns() - begin);
        yield();
      });
      bool was_quarantined = false;
      try {
        t.get();
      } catch (const stopped&) {
      } catch (const quarantined&) {
        was_quarantined = true;  // the machine gave it no time to come back
      }
      if (was_quarantined) return;
      CHECK(ended == 0);
      CHECK_MESSAGE(took >= 35ms, error);
      REQUIRE_FALSE(guard->entries().empty());
      CHECK(std::string(guard->entries().front().call) == "poll");
    });
  }
}

TEST_CASE("what a G that was asked waits for afterwards ends at once") {
  run_clean(with_procs(1), [] {
    const auto guard = guard_of(10ms, long_time);
    auto t = spawn({.guard = guard}, [] {
      spin_until([] { return stop_requested(); });
      return sleep_for(1h) == sleep_result::stopped;
    });
    CHECK(t.get());
  });
}

TEST_CASE("times that are too long to be added to the clock are without end") {
  const auto endless = std::make_shared<noting_guard>(std::chrono::hours::max(), std::chrono::hours::max());
  CHECK(endless->hang() == overrun_guard::longest);
  CHECK(endless->grace() == overrun_guard::longest);
  CHECK(noting_guard(-1s, 1.5s).hang() == 0ns);
  runtime_options o = with_procs(2);
  o.grace = nanoseconds::max();
  o.trace = nanoseconds::max();
  run_clean(o, [&] {
    // Long enough for a run to be noticed, and for one with a grace only to be asked.
    const auto asked_only = std::make_shared<noting_guard>(10ms, std::chrono::hours::max());
    auto free = spawn({.guard = endless}, [] { std::this_thread::sleep_for(60ms); });
    auto asked = spawn({.guard = asked_only}, [&] {
      spin_until([] { return stop_requested(); });
      std::this_thread::sleep_for(30ms);
    });
    free.get();
    asked.get();
    CHECK(endless->entries().empty());
    CHECK(asked_only->steps() == steps{overrun_step::asked});
  });
  // Main returns with one left, which is given as long as it wants.
  bool ended = false;
  leat::run(o, [&] {
    go([&] {
      (void)sleep_for(1h);
      ended = true;
    });
  });
  CHECK(ended);
}

TEST_CASE("a G that goes on past its grace is unwound at its next entry") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [] {
      const auto guard = guard_of(10ms, 300ms);
      bool unwound = false, went_on = false;
      auto t = spawn({.guard = guard}, [&] {
        struct note {
          bool& flag;
          ~note() { flag = true; }
        } at_end{unwound};
        // Comes in between the insisting and the quarantine, or in the run after that.
        try {
          while (!guard->was(overrun_step::asked)) std::this_thread::yield();
          while (!guard->was(overrun_step::insisted)) yield();
          yield();
        } catch (const stopped&) {
          throw;
        }
        went_on = true;
      });
      CHECK_THROWS_AS(t.get(), stopped);
      CHECK(unwound);
      CHECK_FALSE(went_on);
      CHECK(eventually([&] { return guard->steps() == steps{overrun_step::asked, overrun_step::insisted}; }));
    });
  }
}

TEST_CASE("only the G that hangs is asked to stop") {
  run_clean(with_procs(2), [] {
    const auto guard = guard_of(10ms, long_time);
    const auto other = guard_of(long_time, long_time);
    std::atomic<bool> enough{false};
    auto well = spawn({.guard = other}, [&] {
      while (!enough.load()) yield();
      return stop_requested();
    });
    auto hangs = spawn({.guard = guard}, [] { spin_until([] { return stop_requested(); }); });
    hangs.get();
    enough = true;
    CHECK_FALSE(well.get());
    CHECK(other->steps().empty());
    CHECK_FALSE(stop_requested());
  });
}

TEST_CASE("a G that enters the runtime now and then is never told of, however long it lives") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [] {
      const auto guard = guard_of(1s, 1ms);
      auto t = spawn({.guard = guard}, [] {
        for (int i = 0; i < 150; ++i) {
          spin_for(10ms);
          checkpoint();
        }
      });
      t.get();
      CHECK(guard->steps().empty());
    });
  }
}

TEST_CASE("a G in a declared blocking call is waiting, not hanging") {
  run_clean(with_procs(1), [] {
    const auto guard = guard_of(5ms, 1ms);
    auto t = spawn({.guard = guard}, [] { blocking([] { std::this_thread::sleep_for(100ms); }); });
    t.get();
    CHECK(guard->steps().empty());
  });
}

TEST_CASE("a G that waits for long is not hanging") {
  run_clean(with_procs(1), [] {
    const auto guard = guard_of(5ms, 1ms);
    auto t = spawn({.guard = guard}, [] { (void)sleep_for(100ms); });
    t.get();
    CHECK(guard->steps().empty());
  });
}

TEST_CASE("a G without a P hangs like any other") {
  run_clean(with_procs(1), [] {
    const auto guard = guard_of(60ms, long_time);
    std::atomic<bool> seen{false};
    auto t = spawn({.guard = guard}, [&] { spin_until([&] { return seen.load() && stop_requested(); }); });
    // Main wants the P all the time, so the other one loses it after a slice.
    CHECK(eventually([] { return stats().without_p >= 1; }));
    seen = true;
    t.get();
    CHECK(eventually([&] { return guard->steps() == steps{overrun_step::asked}; }));
  });
}

TEST_CASE("a G with a thread of its own is asked to stop like any other") {
  run_clean(with_procs(1), [] {
    const auto guard = guard_of(10ms, long_time);
    auto t =
        spawn({.thread = own_thread{}, .guard = guard}, [] { spin_until([] { return stop_requested(); }); });
    t.get();
    CHECK(eventually([&] { return guard->steps() == steps{overrun_step::asked}; }));
  });
}

TEST_CASE("one that came in after it had been asked, and goes on, is insisted on after its grace") {
  run_clean(with_procs(1), [] {
    const auto guard = guard_of(100ms * slow_build, 1s);
    auto t = spawn({.guard = guard}, [] {
      spin_until([] { return stop_requested(); });
      for (;;) {
        spin_for(100us);
        yield();
      }
    });
    CHECK_THROWS_AS(t.get(), stopped);
    CHECK(eventually([&] { return guard->steps() == steps{overrun_step::asked, overrun_step::insisted}; }));
  });
}

TEST_CASE("the longest run is noted as it grows, and never longer than it was") {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [] {
      const auto guard = guard_of(1h, 1h);
      spawn({.guard = guard}, [&] {
        std::int64_t since = now_ns(), longest = 0;
        const auto come_in = [&] {
          const std::int64_t before = now_ns();
          yield();
          longest = std::max(longest, now_ns() - since);
          since = before;
        };
        come_in();
        for (const nanoseconds d : {50ms, 80ms}) {
          spin_until([&] { return guard->longest_run() >= d; });
          come_in();
        }
        const nanoseconds noted = guard->longest_run();
        for (int i = 0; i < 100; ++i) {
          spin_for(100us);
          come_in();
        }
        CHECK(guard->longest_run() >= noted);
        CHECK(guard->longest_run().count() <= longest);
      }).get();
      CHECK(guard->steps().empty());
    });
  }
}

TEST_CASE("a guard is let go with its G") {
  run_clean(with_procs(2), [] {
    std::weak_ptr<noting_guard> seen;
    {
      const auto guard = guard_of(5ms, long_time);
      seen = guard;
      spawn({.guard = guard}, [] { spin_until([] { return stop_requested(); }); }).get();
      spawn({.guard = guard}, [] {}).get();
    }
    CHECK(eventually([&] { return seen.expired(); }));
  });
}

TEST_CASE("many guarded Gs that come and go leave nothing behind") {
  sweep_clean([] {
    std::weak_ptr<noting_guard> seen;
    {
      const auto guard = guard_of(1ms, long_time);
      seen = guard;
      std::vector<task<void>> all;
      for (int i = 0; i < 200; ++i)
        all.push_back(spawn({.guard = guard}, [i] {
          if (i % 40 == 0) spin_for(2ms);
          yield();
        }));
      for (auto& t : all) t.get();
    }
    CHECK(eventually([&] { return seen.expired(); }));
  });
}

TEST_CASE("a guarded G that waits costs an idle program no CPU time" * leat::test::soak) {
  leat::run(with_procs(2), [] {
    const auto guard = guard_of(1ms, 1ms);
    signal_to_g go_on;
    auto t = spawn({.guard = guard}, [&] { go_on.wait(); });
    (void)sleep_for(1500ms);  // sysmon goes to sleep after a second
    const auto cpu = [] {
      timespec now{};
      ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
      return std::chrono::seconds(now.tv_sec) + nanoseconds(now.tv_nsec);
    };
    const nanoseconds before = cpu();
    (void)sleep_for(500ms);
    CHECK(leat::test::at_most("CPU time of 500 ms beside a guarded G that waits", cpu() - before,
                              5ms * slow_build));
    go_on.signal();
    t.get();
    CHECK(guard->steps().empty());
  });
}

TEST_CASE("who is wanted out and catches its stop again and again is put out at the second time") {
  if (fiber::under_tsan) return;  // nobody is taken off his stack there
  for (const unsigned procs : {1u, 2u}) {
    leat::run(with_procs(procs), [] {
      const auto guard = guard_of(long_time, long_time);
      stop_source stop;
      static std::atomic<int> caught;
      caught = 0;
      auto t = spawn({.stop = stop, .guard = guard}, [&] {
        for (;;) try {
            (void)sleep_for(1h);
          } catch (const stopped&) {
            ++caught;
          }
      });
      CHECK(eventually([&] { return stats().parks > 0; }));
      guard->want_out();
      stop.insist();
      CHECK(eventually([&] { return guard->is_over(); }));
      // Its stay at the second takes a few looks of sysmon's, of which a busy machine may keep it.
      CHECK(caught < 50);
      CHECK_THROWS_AS(t.get(), quarantined);
    });
  }
}

TEST_CASE("a wish to have a G out that comes when it has ended keeps sysmon from no sleep") {
  const auto watcher = static_cast<int>(::syscall(SYS_gettid));
  leat::run(with_procs(1), [&] {
    const auto switches = [&] {
      std::ifstream status("/proc/self/task/" + std::to_string(watcher) + "/status");
      int n = -1;
      for (std::string line; std::getline(status, line);)
        if (std::sscanf(line.c_str(), "voluntary_ctxt_switches: %d", &n) == 1) break;
      return n;
    };
    // Another one that is guarded, so that sysmon looks at all.
    signal_to_g go_on;
    auto other = spawn({.guard = guard_of(1s, 1s)}, [&] { go_on.wait(); });
    const auto guard = guard_of(1s, 1s);
    spawn({.guard = guard}, [] {}).get();
    guard->want_out();
    // On a busy machine it takes a while until all Ms have come to rest.
    int least = 1000;
    for (int i = 0; i < 50 && least >= 5; ++i) {
      const int before = switches();
      REQUIRE(before >= 0);
      (void)sleep_for(200ms);
      least = std::min(least, switches() - before);
    }
    CHECK(least < 5);
    go_on.signal();
    other.get();
  });
}

TEST_CASE("a back-trace is told in lines with addresses, files and the names that are known") {
  void* here[] = {reinterpret_cast<void*>(&::getpid), nullptr};
  const std::string text = to_text(here);
  CHECK(text.find("#0 0x") != std::string::npos);
  CHECK(text.find("getpid") != std::string::npos);
  CHECK(text.find("libc") != std::string::npos);
  CHECK(text.find("\n    #1 ") != std::string::npos);
  const std::string line = to_line(here);
  CHECK(line.find("getpid+0x0 < ") != std::string::npos);
  CHECK(line.find('\n') == std::string::npos);
  CHECK(to_line({}).empty());
}
