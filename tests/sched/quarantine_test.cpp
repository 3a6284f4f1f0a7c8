// SPDX-License-Identifier: BSL-1.0
//
// Gs that never come back. What happens to them, to those who wait for them, and to everybody else.
#include <dlfcn.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstddef>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <iterator>
#include <stdexcept>
#include <string>
#include <thread>

#include <doctest/doctest.h>

#include "fixture.hpp"
#include "hang_guard.hpp"
#include "overrun_fixture.hpp"
#include "support/child.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"
#include "victims.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

namespace {

using steps = std::vector<overrun_step>;

struct traces {
  unsigned tried = 0, empty = 0, frozen = 0;
};

// Each kind of victim at one P and at two.
traces quarantine_each() {
  traces found;
  for (const unsigned procs : {1u, 2u}) {
    for (const victim& v : victims) {
      if (!is_fair(v)) continue;
      INFO(v.name, " at procs = ", procs);
      const auto guard = guard_of(10ms, 10ms);
      bool settled = false;
      bool told = false, goes_on = false, still_goes_on = false;
      run_clean(with_procs(procs), [&] {
        neighbour beside;
        auto t = spawn({.name = "victim", .guard = guard}, v.body);
        goes_on = beside.goes_on();
        try {
          t.get();
        } catch (const quarantined& e) {
          told = std::string(e.what()).find("'victim' was quarantined") != std::string::npos;
        }
        still_goes_on = beside.goes_on();
        CHECK(stats().quarantined == 1);
        CHECK(eventually([&] { return guard->is_over(); }));
        settled = settled_as_it_should(v);
        found.frozen += stats().frozen;
        beside.stop();
      });
      CHECK(told);
      CHECK(goes_on);
      CHECK(still_goes_on);
      REQUIRE(guard->steps().size() == 3);
      CHECK(guard->steps()[0] == overrun_step::asked);
      CHECK(guard->steps()[1] == overrun_step::insisted);
      CHECK(guard->steps()[2] == overrun_step::quarantined);
      CHECK(settled);
      ++found.tried;
      found.empty += guard->entries()[2].trace.empty();
    }
  }
  return found;
}

}  // namespace

TEST_CASE("a G that never enters the runtime is asked, insisted on and quarantined; its joiner is told") {
  const traces found = quarantine_each();
  CHECK(found.tried > 0);
  // Three kinds at one P and at two end so, but for one now and then.
  if (sched::can_freeze() && !fiber::under_asan && !fiber::under_tsan) CHECK(found.frozen >= 3);
}

// A thread that a busy machine gives no time does not say in time where it stands.
TEST_CASE("the news of a quarantine say where it was" * leat::test::soak) {
  const traces found = quarantine_each();
  CHECK(leat::test::at_most("quarantines that do not say where", found.empty, "", found.tried / 2));
}

TEST_CASE("from the start of a hang to its quarantine it takes no longer than hang, grace and 50 ms" *
          leat::test::soak) {
  // A machine that is busy with other things adds its own: the best of a few counts.
  nanoseconds best = 1h;
  for (int i = 0; i < 40 && best > 150ms; ++i) {
    const auto guard = guard_of(60ms, 40ms);
    leat::run(with_procs(1), [&] {
      const std::int64_t begin = now_ns();
      auto t = spawn({.guard = guard}, loops);
      CHECK_THROWS_AS(t.get(), quarantined);
      best = std::min(best, nanoseconds(now_ns() - begin));
    });
  }
  CHECK(best >= 100ms);
  CHECK(leat::test::at_most("from a hang to its quarantine, hang 60 ms, grace 40 ms, best", best,
                            150ms * slow_build));
}

TEST_CASE("a G with a thread of its own is taken off it, the thread ends, and its P goes to others") {
  for (const unsigned procs : {1u, 2u}) {
    const auto guard = guard_of(5ms, 5ms);
    run_clean(with_procs(procs), [&] {
      neighbour beside;
      auto t = spawn({.thread = own_thread{}, .guard = guard}, loops);
      CHECK_THROWS_AS(t.get(), quarantined);
      CHECK(settled_as_it_should({"a loop", loops, ends_by::leaving}));
      CHECK(beside.goes_on());
      beside.stop();
    });
  }
}

TEST_CASE("without timers it is asked where it stands again and again, and found where it can be left") {
  const auto child = leat::test::run_self("without_timers");
  CHECK_MESSAGE(child.exited(0), child.output);
}
LEAT_CHILD(without_timers) {
  sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_timer_create, 0, 1),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EAGAIN),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
  };
  const sock_fprog program{std::size(filter), filter};
  expect(::prctl(PR_SET_NO_NEW_PRIVS, 1UL, 0UL, 0UL, 0UL) == 0 &&
             ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0,
         "the kernel refuses a seccomp filter");
  sigevent ev = {};
  ev.sigev_notify = SIGEV_NONE;
  timer_t timer{};
  expect(::timer_create(CLOCK_MONOTONIC, &ev, &timer) != 0, "there are timers");
  leat::run(with_procs(1), [&] {
    if (!sched::can_leave()) return;
    unsigned still = 0;
    for (const auto body : {mallocs, mallocs, mallocs, loops, reads}) {
      const auto guard = guard_of(5ms, 5ms);
      auto t = spawn({.guard = guard}, body);
      try {
        t.get();
        expect(false, "it came back");
      } catch (const quarantined&) {
      }
      still += body == reads;
      expect(eventually([&] { return stats().fenced == 0; }), "no place was found for its thread");
      expect(stats().frozen == still, "it was frozen although it need not, or left where it may not");
    }
  });
  ::_exit(0);
}

// What the kernel tells of a thread is read from a file of /proc.
LEAT_CHILD(hang_without_descriptors) {
  const rlimit few{32, 32};
  expect(::setrlimit(RLIMIT_NOFILE, &few) == 0, "no limit");
  leat::run(with_procs(2), [] {
    auto t = spawn({.guard = guard_of(10ms, 10ms)}, [] {
      int ends[2] = {-1, -1};
      expect(::pipe(ends) == 0, "no pipe");
      while (::dup(ends[0]) >= 0) {
      }
      char byte;
      (void)!::read(ends[0], &byte, 1);
    });
    try {
      t.get();
      expect(false, "it came back");
    } catch (const quarantined&) {
    }
  });
  ::_exit(0);
}

TEST_CASE("one that sits in a system call is quarantined also when all descriptors are used up") {
  if (fiber::under_asan) return;  // UBSan reads vtables through a pipe of its own
  const auto child = leat::test::run_self("hang_without_descriptors", {.limit = 90s});
  CHECK_MESSAGE(child.exited(0), child.output);
}

TEST_CASE("a plain thread that joins is told too, and a task that nobody joins may be dropped") {
  const auto guard = guard_of(5ms, 5ms);
  run_clean(with_procs(1), [&] {
    auto joined = spawn({.guard = guard}, loops);
    auto dropped = spawn({.guard = guard}, loops);
    go({.guard = guard}, loops);
    std::atomic<bool> told{false};
    std::thread([&] {
      try {
        joined.get();
      } catch (const quarantined&) {
        told = true;
      }
    }).join();
    CHECK(told);
    {
      const auto gone = std::move(dropped);
    }
    CHECK(eventually([&] { return stats().quarantined == 3; }));
  });
}

TEST_CASE("what a quarantined G owned is not destroyed") {
  static std::atomic<int> destroyed;
  destroyed = 0;
  struct owned {
    owned() = default;
    owned(owned&& other) noexcept : moved(std::exchange(other.moved, true)) {}
    ~owned() {
      if (!moved) ++destroyed;
    }
    bool moved = false;
  };
  const auto guard = guard_of(5ms, 5ms);
  run_clean(with_procs(1), [&] {
    auto t = spawn({.guard = guard}, [captured = owned{}] {
      const owned on_stack;
      loops();
    });
    CHECK_THROWS_AS(t.get(), quarantined);
  });
  CHECK(destroyed == 0);
}

TEST_CASE("the dump shows a quarantined G and where it stands") {
  const auto guard = guard_of(5ms, 5ms);
  std::string text;
  leat::run(with_procs(1), [&] {
    auto t = spawn({.name = "stuck", .guard = guard}, loops);
    CHECK_THROWS_AS(t.get(), quarantined);
    int ends[2] = {-1, -1};
    REQUIRE(::pipe2(ends, O_NONBLOCK) == 0);
    leat::dump(ends[1]);
    char part[4096];
    const auto n = ::read(ends[0], part, sizeof part);
    if (n > 0) text.assign(part, static_cast<std::size_t>(n));
    ::close(ends[0]);
    ::close(ends[1]);
  });
  const auto at = text.find("'stuck': quarantined, its thread ");
  CHECK_MESSAGE(at != std::string::npos, text);
}

TEST_CASE("beyond max_quarantined a hanging G is left alone, which is logged once") {
  // Those that are left keep their threads busy until the program ends.
  const auto child = leat::test::run_self("beyond_the_limit");
  CHECK_MESSAGE(child.exited(0), child.output);
  CHECK_MESSAGE(child.said("max_quarantined = 2 reached"), child.output);
  CHECK(child.output.find("max_quarantined") == child.output.rfind("max_quarantined"));
}
LEAT_CHILD(beyond_the_limit) {
  const auto guard = guard_of(5ms, 5ms);
  runtime_options o = with_procs(1);
  o.max_quarantined = 2;
  o.grace = 1ms;
  leat::run(o, [&] {
    for (int i = 0; i < 5; ++i) go({.guard = guard}, loops);
    (void)eventually([&] {
      int insisted = 0;
      for (const auto step : guard->steps()) insisted += step == overrun_step::insisted;
      return insisted == 5;
    });
    expect(eventually([] { return stats().quarantined == 2; }), "none was quarantined");
    const auto left_alone = [&] {
      const auto told = guard->steps();
      return std::count(told.begin(), told.end(), overrun_step::left_alone);
    };
    expect(eventually([&] { return left_alone() == 3; }), "not all that run on were told of");
    (void)sleep_for(50ms);
    expect(left_alone() == 3, "one was told of twice");
    expect(stats().quarantined == 2, "the limit was not kept");
  });
  ::_exit(0);
}

TEST_CASE("max_threads is the program's own limit: to reach it is no word of the last thread") {
  const auto guard = guard_of(5ms, 5ms);
  runtime_options o = with_procs(1);
  o.max_threads = 3;
  o.slice = 1s;  // its P is still with the one that hangs
  run_clean(o, [&] {
    std::atomic<bool> waits{false}, over{false};
    static std::atomic<bool> computes{false};  // read by one after whose end nothing of this frame comes
    auto own = spawn({.thread = own_thread{}}, [&] {
      for (waits = true; !over;) (void)sleep_for(1ms);
    });
    CHECK(eventually([&] { return waits.load(); }));
    // Three Ps with two threads. The one that hangs does not count any more, and gives its place to one for its P. There is
    // none for the third.
    set_procs(3);
    auto busy = spawn([&] {
      for (computes = true; !guard->is_over();) {
      }
    });
    auto hangs = spawn({.guard = guard}, [&] {
      while (!computes) yield();
      reads();
    });
    CHECK_THROWS_AS(hangs.get(), quarantined);
    busy.get();
    over = true;
    own.get();
  });
  for (const noting_guard::entry& e : guard->entries()) CHECK_FALSE(e.last_thread);
}

TEST_CASE("frozen threads do not use up max_threads") {
  const auto guard = guard_of(5ms, 5ms);
  runtime_options o = with_procs(2);
  o.max_threads = 3;
  run_clean(o, [&] {
    for (int i = 0; i < 6; ++i) {
      auto t = spawn({.guard = guard}, reads);
      CHECK_THROWS_AS(t.get(), quarantined);
    }
    CHECK(eventually(
        [] { return stats().frozen + (fiber::under_asan || fiber::under_tsan ? stats().fenced : 0) == 6; }));
    CHECK(stats().threads <= 3);
  });
}

TEST_CASE("all others waiting for a quarantined G is no deadlock") {
  run_clean(with_procs(1), [&] {
    for (int i = 0; i < 20; ++i) {
      auto t = spawn({.guard = guard_of(1ms, 1ms)}, loops);
      auto waits = spawn([&] { CHECK_THROWS_AS(t.get(), quarantined); });
      waits.get();
    }
  });
}

// --- At the limit -------------------------------------------------------------------------------------

TEST_CASE("one that comes in, or ends, just at the limit does so or is quarantined, never both") {
  const int tries = sched::can_leave() ? 300 : 30;
  for (const unsigned procs : {1u, 2u}) {
    random_numbers random(seed_for("at the limit"));
    int quarantines = 0, others = 0;
    runtime_options o = with_procs(procs);
    o.max_quarantined = 1000;
    run_clean(o, [&] {
      for (int i = 0; i < tries; ++i) {
        const auto guard = guard_of(1ms, 500us);
        const auto spin = nanoseconds(static_cast<std::int64_t>(random.below(1'200'000)) + 2'200'000);
        const bool ends = random.one_in(2);
        // A plain reference: ThreadSanitizer's own locks, which the count of a shared one takes, would stay
        // held.
        std::atomic<bool> after{false};
        auto t = spawn({.guard = guard}, [&after, spin, ends] {
          spin_for(spin);
          if (!ends) {
            yield();  // throws if it has been insisted on
            after.store(true);
          }
          return 7;
        });
        bool came_back = false, stopped_there = false, is_quarantined = false;
        try {
          came_back = t.get() == 7;
        } catch (const quarantined&) {
          is_quarantined = true;
        } catch (const stopped&) {
          stopped_there = true;
        }
        CHECK(came_back + stopped_there + is_quarantined == 1);
        if (is_quarantined) CHECK(eventually([&] { return guard->is_over(); }));
        CHECK(guard->is_over() == is_quarantined);
        if (is_quarantined) CHECK_FALSE(after.load());
        ++(is_quarantined ? quarantines : others);
      }
    });
    MESSAGE(quarantines, " quarantined, ", others, " came back");
  }
}

// --- Signals ------------------------------------------------------------------------------------------

TEST_CASE("handlers that the program has for a real-time signal are left alone") {
  const auto child = leat::test::run_self("with_handlers");
  CHECK_MESSAGE(child.exited(0), child.output);
}
LEAT_CHILD(with_handlers) {
  static std::atomic<int> caught{0};
  struct sigaction a = {};
  a.sa_handler = [](int) { ++caught; };
  ::sigaction(SIGRTMAX - 1, &a, nullptr);
  const auto quarantine_one = [&] {
    auto t = spawn({.guard = guard_of(5ms, 5ms)}, loops);
    try {
      t.get();
    } catch (const quarantined&) {
      // Until its thread is settled it is sent signals.
      expect(eventually([] { return stats().fenced == 0; }), "its thread was not settled");
      return;
    }
    expect(false, "it came back");
  };
  leat::run(with_procs(1), [&] {
    const int first = quarantine_signal();
    expect(first != 0 && first != SIGRTMAX - 1, "it took the program's signal");
    quarantine_one();
    // The program comes later, and takes that one too.
    ::sigaction(first, &a, nullptr);
    quarantine_one();
    expect(quarantine_signal() != first, "no other signal was chosen");
    expect(caught == 0, "the program's handler was called");
    (void)::raise(SIGRTMAX - 1);
    (void)::raise(first);
    expect(caught == 2, "the program's handler was not called");
  });
  ::_exit(0);
}
