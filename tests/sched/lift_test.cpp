// SPDX-License-Identifier: BSL-1.0
//
// A thread behind the fence runs at the lowest priority, and may hold the allocator's lock. Before sysmon makes a thread, which
// needs the heap, it lets all of them run as others do: else it might wait for seconds on a busy machine, and with it
// whoever hangs next. The allocator (services/hangs/spy.cpp) looks at them whenever sysmon comes in.
#include <sched.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
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
