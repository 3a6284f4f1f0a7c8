// SPDX-License-Identifier: BSL-1.0
#include <sched.h>
#include <sys/resource.h>
#include <algorithm>
#include <array>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <semaphore>
#include <set>
#include <stdexcept>
#include <thread>

#include "fixture.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::test::run_self;

namespace {

std::vector<int> allowed_cpus() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  std::vector<int> all;
  for (int i = 0; i < CPU_SETSIZE; ++i)
    if (CPU_ISSET(static_cast<std::size_t>(i), &set)) all.push_back(i);
  return all;
}

}  // namespace

TEST_CASE("a G with a thread of its own runs there from beginning to end, through every kind of wait") {
  sweep_clean([] {
    signal_to_g s;
    auto own = spawn({.name = "own", .thread = own_thread{}}, [&] {
      const pid_t mine = thread_id();
      int wrong = 0;
      const auto look = [&] { wrong += thread_id() != mine; };
      for (int i = 0; i < 5; ++i) {
        yield();
        look();
        (void)sleep_for(20us);
        look();
        spawn([] {}).get();
        look();
        blocking([] { std::this_thread::yield(); });
        look();
      }
      s.wait();
      look();
      return wrong == 0 ? mine : -1;
    });
    std::set<pid_t> others;
    for (int i = 0; i < 50; ++i) others.insert(spawn([] { return thread_id(); }).get());
    s.signal();
    const pid_t thread = own.get();
    CHECK(thread > 0);
    CHECK(others.count(thread) == 0);
    CHECK(thread != thread_id());
  });
}

TEST_CASE("no other G ever runs on such a thread") {
  sweep_clean([] {
    std::atomic<pid_t> own_tid{0};
    std::atomic<bool> over{false};
    auto own = spawn({.thread = own_thread{}}, [&] {
      own_tid = thread_id();
      while (!over) (void)sleep_for(10us);
    });
    CHECK(eventually([&] { return own_tid != 0; }));
    int wrong = 0;
    for (int i = 0; i < 500; ++i) wrong += spawn([] { return thread_id(); }).get() == own_tid;
    CHECK(wrong == 0);
    over = true;
    own.get();
  });
}

TEST_CASE("its result, its exception and a stop reach and leave it like any other") {
  sweep_clean([] {
    const spawn_options own{.thread = own_thread{}};
    CHECK(spawn(own, [] { return 3; }).get() == 3);
    CHECK_THROWS_AS(spawn(own, [] { throw std::runtime_error("x"); }).get(), std::runtime_error);
    auto waits = spawn(own, [] { return sleep_for(1h); });
    yield();
    waits.request_stop();
    CHECK(waits.get() == sleep_result::stopped);
    std::atomic<bool> ran{false};
    go(own, [&] { ran = true; });
    CHECK(eventually([&] { return ran.load(); }));
  });
}

TEST_CASE("a pinned one runs on its CPU") {
  run_clean(with_procs(2), [] {
    for (const int cpu : allowed_cpus()) {
      auto own = spawn({.name = "pinned", .thread = own_thread{.cpu = cpu}}, [cpu] {
        for (int i = 0; i < 10; ++i) {
          if (::sched_getcpu() != cpu) return false;
          (void)sleep_for(50us);
        }
        return true;
      });
      CHECK(own.get());
    }
  });
}

namespace {

// Three Gs that must have an M each, started by `start`: where and how these run.
struct manner {
  int policy = 0, cpus = 0;
  bool operator==(const manner&) const = default;
};
manner manner_here() {
  cpu_set_t set;
  CPU_ZERO(&set);
  REQUIRE(::sched_getaffinity(0, sizeof set, &set) == 0);
  return {::sched_getscheduler(0), CPU_COUNT(&set)};
}
template <class F>
void check_manner_of_three(F start) {
  const manner ours = manner_here();
  std::array<manner, 3> theirs{};
  run_clean(with_procs(4), [&] {
    std::atomic<int> here{0}, over{0};
    start([&] {
      for (manner& m : theirs)
        go([&] {
          ++here;
          while (here < 3) std::this_thread::yield();
          // It may have been kept off a CPU for one wake, until sysmon's next round (policy/nudge.hpp).
          (void)eventually_without_entering([&] { return manner_here() == ours; });
          m = manner_here();
          ++over;
        });
    });
    CHECK(eventually([&] { return over == 3; }));
  });
  for (const manner& m : theirs) {
    CHECK(m.policy == ours.policy);
    CHECK(m.cpus == ours.cpus);
  }
}

void pin(int cpu) {
  cpu_set_t one;
  CPU_ZERO(&one);
  CPU_SET(static_cast<std::size_t>(cpu), &one);
  CHECK(::sched_setaffinity(0, sizeof one, &one) == 0);
}

}  // namespace

TEST_CASE("what such a thread starts is neither pinned nor real-time") {
  log_catcher log;  // where real-time is not permitted, the other half is tried
  for (int i = 0; i < 5; ++i)
    check_manner_of_three([](auto go_all) {
      spawn({.thread = own_thread{.cpu = allowed_cpus()[0], .priority = 1}}, go_all).get();
    });
}

TEST_CASE("nor is what a thread of the program starts that is so") {
  for (int i = 0; i < 5; ++i)
    check_manner_of_three([](auto go_all) {
      std::thread foreign([&] {
        pin(allowed_cpus()[0]);
        go_all();
      });
      blocking([&] { foreign.join(); });
    });
}

TEST_CASE("a real-time thread that gives on nothing of that has ordinary Ms") {
  // It takes a right to become real-time; the flag alone, at the ordinary policy, takes none.
  for (const int policy : {SCHED_FIFO, SCHED_BATCH, SCHED_OTHER}) {
    CAPTURE(policy);
    const sched_param param{.sched_priority = policy == SCHED_FIFO ? 1 : 0};
    bool tried = false;
    std::array<int, 3> theirs{};
    std::thread home([&] {
      tried = ::sched_setscheduler(0, policy | SCHED_RESET_ON_FORK, &param) == 0;
      if (!tried) return;
      (void)leat::run(with_procs(4), [&] {
        std::atomic<int> here{0}, over{0};
        for (int& one : theirs)
          go([&] {
            ++here;
            while (here < 3) std::this_thread::yield();
            one = ::sched_getscheduler(0);
            ++over;
          });
        CHECK(eventually([&] { return over == 3; }));
      });
    });
    home.join();
    if (!tried) MESSAGE("this policy is not permitted here");
    for (const int one : theirs) CHECK((!tried || one == (policy == SCHED_FIFO ? SCHED_OTHER : policy)));
  }
}

TEST_CASE("at max_threads, one begins in the place of such a thread that has ended") {
  runtime_options o = with_procs(1);
  o.max_threads = 2;
  run_clean(o, [] {
    std::atomic<bool> begun{false}, blocked{false}, ran{false};
    auto own = spawn({.thread = own_thread{}}, [&] {
      begun = true;
      while (!blocked) std::this_thread::yield();  // main gets the P after a slice
    });
    while (!begun) yield();
    go([&] { ran = true; });
    blocking([&] {
      blocked = true;
      CHECK(eventually_without_entering([&] { return ran.load(); }));
    });
    own.get();
  });
}

namespace {

std::binary_semaphore may_end{0};
std::atomic<int> at_its_end{0};

// What a thread of the program may have: an object that is destroyed with it, and waits for somebody then.
struct waits_at_the_end {
  ~waits_at_the_end() {
    if (!waits) return;
    ++at_its_end;
    may_end.acquire();
    ++at_its_end;
  }
  bool waits = false;
};
thread_local waits_at_the_end at_the_end;

bool ends_in_vain() {
  spawn({.thread = own_thread{}}, [] { at_the_end.waits = true; }).get();
  return eventually([] { return at_its_end == 1; });
}

}  // namespace

TEST_CASE("a thread that does not come to its end keeps nobody waiting") {
  at_its_end = 0;
  run_clean(with_procs(1), [] {
    CHECK(ends_in_vain());
    for (int i = 0; i < 5; ++i) {
      CHECK(spawn({.thread = own_thread{}}, [i] { return i; }).get() == i);
      std::atomic<bool> ran{false};
      go([&] { ran = true; });
      blocking([&] { CHECK(eventually_without_entering([&] { return ran.load(); })); });
    }
    may_end.release();
    CHECK(eventually([] { return at_its_end == 2; }));
  });
}

LEAT_CHILD(ends_beside_a_thread_that_does_not) {
  at_its_end = 0;
  runtime_options o = with_procs(1);
  o.grace = 50ms;
  (void)leat::run(o, ends_in_vain);
  std::printf("run has returned, of %d\n", at_its_end.load());
  std::fflush(stdout);
  std::_Exit(0);
}

TEST_CASE("nor at the end of run") {
  const auto r = run_self("ends_beside_a_thread_that_does_not");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("run has returned, of 1"));
}

TEST_CASE("a CPU that does not exist is warned about, and the G runs unpinned") {
  for (const int cpu : {1000, 5000}) {
    CAPTURE(cpu);
    log_catcher log;
    run_clean(with_procs(1), [&] {
      CHECK(spawn({.name = "lost", .thread = own_thread{.cpu = cpu}}, [] { return 1; }).get() == 1);
    });
    CHECK(log.said("'lost' cannot be pinned to CPU " + std::to_string(cpu)));
  }
}

LEAT_CHILD(priority_without_permission) {
  const rlimit none{0, 0};
  ::setrlimit(RLIMIT_RTPRIO, &none);
  if (::geteuid() == 0 && ::setuid(65534) != 0) std::printf("cannot drop root\n");
  const int status = leat::run(with_procs(1), [] {
    return spawn({.name = "urgent", .thread = own_thread{.priority = 10}},
                 [] {
                   (void)sleep_for(1ms);
                   return ::sched_getscheduler(0) == SCHED_FIFO ? 1 : 2;
                 })
        .get();
  });
  std::printf("policy answer %d\n", status);
}

TEST_CASE(
    "a real-time priority that is not permitted gives a warning that says what is missing, and it runs") {
  const auto r = run_self("priority_without_permission");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("policy answer 2"));
  CHECK(r.said("'urgent' runs without real-time priority 10"));
  CHECK(r.said("CAP_SYS_NICE"));
}

TEST_CASE("many of them run, wait and talk at the same time") {
  sweep_clean([] {
    constexpr int n = 20;
    std::vector<task<pid_t>> all;
    std::atomic<int> here{0};
    for (int i = 0; i < n; ++i) {
      all.push_back(spawn({.thread = own_thread{}}, [&] {
        ++here;
        while (here < n) yield();
        for (int k = 0; k < 10; ++k) (void)sleep_for(10us);
        return thread_id();
      }));
    }
    std::set<pid_t> threads;
    for (auto& t : all) threads.insert(t.get());
    CHECK(threads.size() == n);
  });
}

TEST_CASE("beyond max_threads such a G ends with an error that its joiner gets") {
  log_catcher log;
  runtime_options o = with_procs(1);
  o.max_threads = 4;
  std::atomic<int> dropped{0};
  run_clean(o, [&] {
    std::atomic<bool> over{false};
    std::atomic<int> running{0}, failed{0};
    std::vector<task<void>> all;
    for (int i = 0; i < 10; ++i) {
      all.push_back(spawn([&] {
        try {
          spawn({.name = "own", .thread = own_thread{}}, [&] {
            ++running;
            while (!over) (void)sleep_for(100us);
          }).get();
        } catch (const spawn_error&) {
          ++failed;
        }
      }));
    }
    CHECK(eventually([&] { return running + failed == 10; }));
    // One thread is for the others; there may be more.
    CHECK(running >= 1);
    CHECK(running <= 3);
    CHECK(stats().threads == 4);
    // A detached one is logged, and what it captured is destroyed.
    struct drops {
      std::atomic<int>* n;
      explicit drops(std::atomic<int>& to) : n(&to) {}
      drops(drops&& from) noexcept : n(std::exchange(from.n, nullptr)) {}
      ~drops() {
        if (n) ++*n;
      }
    };
    stop_source source;
    go({.name = "detached one", .thread = own_thread{}, .stop = source}, [d = drops(dropped)] { (void)d; });
    CHECK(eventually([&] { return dropped == 1; }));
    source.request_stop();
    over = true;
    for (auto& t : all) t.get();
  });
  CHECK(dropped == 1);
  CHECK(log.said("'detached one'"));
}

TEST_CASE("threads of ended Gs do not count against max_threads") {
  log_catcher log;
  runtime_options o = with_procs(1);
  o.max_threads = 4;
  run_clean(o, [] {
    for (int i = 0; i < 50; ++i) {
      CHECK(spawn({.thread = own_thread{}}, [i] { return i; }).get() == i);
      // Spare threads may be there, but there is room for one more.
      CHECK(eventually([] { return stats().threads < 4; }));
    }
  });
  CHECK(log.text().empty());
}

TEST_CASE("one that computes without end on its thread loses its P to the others") {
  runtime_options o = with_procs(1);
  o.slice = 1ms;
  run_clean(o, [] {
    std::atomic<bool> over{false};
    auto own = spawn({.thread = own_thread{}},
                     [&] { return eventually_without_entering([&] { return over.load(); }); });
    (void)sleep_for(5ms);
    CHECK(spawn([] { return 1; }).get() == 1);
    over = true;
    CHECK(own.get());
  });
}
