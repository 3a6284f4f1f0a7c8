// SPDX-License-Identifier: BSL-1.0
//
// A thread behind the fence runs at the lowest priority, and may hold the allocator's lock. Who needs the heap then might wait
// for seconds on a busy machine, so all of them run as others do when sysmon is about to make a thread, and while somebody
// waits. The allocator (services/hangs/spy.cpp) tells who comes in.
#include <sched.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <mutex>
#include <thread>

#include <doctest/doctest.h>

#include <leat/sched/scheduler.hpp>
#include <leat/sched/sysmon.hpp>

#include "fixture.hpp"
#include "overrun_fixture.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

extern "C" void spy_tells(void (*whom)());

namespace {

std::atomic<int> by_sysmon{0}, lowest_meanwhile{0};

int at_the_lowest() {
  int n = 0;
  sched::scheduler::current()->threads().each(
      [&](sched::M& m) { n += m.hung.apart.load() && ::sched_getscheduler(m.tid.load()) == SCHED_IDLE; });
  return n;
}

void note_allocation() {
  if (!sched::this_is_sysmon) return;
  by_sysmon.fetch_add(1, std::memory_order_relaxed);
  lowest_meanwhile.fetch_add(at_the_lowest(), std::memory_order_relaxed);
}

// Nobody can ask its thread, so it stays behind the fence.
void loops_without_signals() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  for (;;) asm volatile("" ::: "memory");
}

std::mutex of_the_heap;
std::atomic<bool> held{false}, came_in{false};

void wait_for_lock() {
  const sched::M* const m = sched::current_m();
  if (!held || !m || !m->gate.in_runtime() || came_in.exchange(true)) return;
  const std::lock_guard hold(of_the_heap);
}

// At the lowest priority it never gives the lock back, as on a machine with no time to spare.
void holds_the_lock() {
  sigset_t all;
  sigfillset(&all);
  ::pthread_sigmask(SIG_BLOCK, &all, nullptr);
  {
    const std::lock_guard hold(of_the_heap);
    while (::sched_getscheduler(0) != SCHED_IDLE) {
    }
    held = true;
    while (::sched_getscheduler(0) == SCHED_IDLE) {
    }
  }
  for (;;) asm volatile("" ::: "memory");
}

// Else nobody is put into the idle class.
bool can_come_back_from_the_idle_class() {
  bool can = false;
  std::thread([&] {
    const sched_param none{};
    can = ::sched_setscheduler(0, SCHED_IDLE, &none) == 0 && ::sched_setscheduler(0, SCHED_OTHER, &none) == 0;
  }).join();
  return can;
}

}  // namespace

LEAT_CHILD(threads_made_beside_the_fence) {
  leat::run(with_procs(1), [] {
    go({.name = "stuck", .guard = guard_of(10ms, 1ms)}, loops_without_signals);
    const bool fenced = eventually([] { return at_the_lowest() == 1; });
    spy_tells(note_allocation);
    std::atomic<int> running{0};
    std::atomic<bool> over{false};
    for (int i = 0; i < 8; ++i)
      go([&] {
        ++running;
        while (!over) asm volatile("" ::: "memory");
      });
    const bool all_run = eventually([&] { return running == 8; });
    spy_tells(nullptr);
    over = true;
    std::fprintf(stderr, "fenced %d, all run %d, %s, lowest meanwhile %d\n", fenced, all_run,
                 by_sysmon > 0 ? "sysmon made threads" : "sysmon made none", lowest_meanwhile.load());
    std::fflush(stderr);
    ::_exit(0);
  });
}

LEAT_CHILD(heap_wanted_inside_the_runtime) {
  leat::run(with_procs(1), [] {
    go({.name = "stuck", .guard = guard_of(10ms, 1ms)}, holds_the_lock);
    const bool low = eventually([] { return held.load(); });
    spy_tells(wait_for_lock);
    constexpr int more_than_the_timers_have_room_for = 400;
    std::atomic<int> asleep{0};
    for (int i = 0; i < more_than_the_timers_have_room_for; ++i)
      go([&] {
        ++asleep;
        (void)sleep_for(1h);
      });
    const bool all = eventually([&] { return asleep == more_than_the_timers_have_room_for; });
    spy_tells(nullptr);
    std::fprintf(stderr, "at the lowest %d, wanted inside %d, all asleep %d\n", low, came_in.load(), all);
    std::fflush(stderr);
    ::_exit(0);
  });
}

TEST_CASE("while somebody inside the runtime waits for the heap, those behind the fence run as others do") {
  if (!can_come_back_from_the_idle_class()) {
    MESSAGE("skipped: this user may not raise the priority of a thread");
    return;
  }
  const auto r = leat::test::run_self("heap_wanted_inside_the_runtime");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("at the lowest 1, wanted inside 1, all asleep 1\n"));
}

TEST_CASE("before sysmon makes a thread, those behind the fence run as others do") {
  if (!can_come_back_from_the_idle_class()) {
    MESSAGE("skipped: this user may not raise the priority of a thread");
    return;
  }
  const auto r = leat::test::run_self("threads_made_beside_the_fence");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("fenced 1, all run 1, sysmon made threads, lowest meanwhile 0\n"));
}
