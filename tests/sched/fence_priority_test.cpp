// SPDX-License-Identifier: BSL-1.0
//
// Threads behind a fence run at the lowest priority. On a machine that has no time left they stand still, and
// keep the locks that they hold: who waits for such a lock must get it all the same.
#include <sched.h>
#include <sys/resource.h>
#include <unistd.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <leat/sched/quarantine.hpp>

#include "hang_guard.hpp"
#include "support/child.hpp"
#include "victims.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

namespace {

std::mutex shared_lock;  // as malloc's, or stdio's: one that the rest of the program needs

// Under a frame of the C library, so that its thread is neither left nor frozen.
void holds_a_lock_now_and_then() {
  int few[] = {3, 1, 2, 5, 4};
  std::qsort(few, 5, sizeof few[0], [](const void*, const void*) {
    for (;;) {
      {
        const std::lock_guard hold(shared_lock);
        spin_for(300us);
      }
      spin_for(100us);
    }
    return 0;
  });
}

}  // namespace

LEAT_CHILD(wait_for_those_behind_the_fence) {
  std::vector<std::thread> hogs;
  for (unsigned i = 0; i < std::thread::hardware_concurrency(); ++i)
    hogs.emplace_back([] {
      for (;;) asm volatile("" ::: "memory");
    });
  runtime_options o = with_procs(2);
  o.slice = 1ms;
  leat::run(o, [&] {
    for (int i = 0; i < 3; ++i) {
      auto t = spawn({.guard = guard_of(5ms, 5ms)}, holds_a_lock_now_and_then);
      try {
        t.get();
        expect(false, "it came back");
      } catch (const quarantined&) {
      }
    }
    const auto all_demoted = [] {
      int n = 0;
      sched::scheduler::current()->threads().each([&](sched::M& m) { n += m.hung.demoted.load(); });
      return n == 3;
    };
    expect(eventually(all_demoted), "they do not run at the lowest priority");
    std::int64_t longest = 0;
    for (int i = 0; i < 20; ++i) {
      const std::int64_t begin = now_ns();
      {
        const std::lock_guard hold(shared_lock);
      }
      longest = std::max(longest, now_ns() - begin);
      (void)sleep_for(1ms);
    }
    std::printf("longest %lld us\n", static_cast<long long>(longest / 1000));
    std::fflush(stdout);
  });
  ::_exit(0);
}

TEST_CASE("a lock that a thread behind a fence holds is given back, also on a busy machine") {
  const auto child = leat::test::run_self("wait_for_those_behind_the_fence", {.limit = 100s});
  CHECK_MESSAGE(child.exited(0), child.output);
  long long longest = -1;
  const auto at = child.output.find("longest ");
  if (at != std::string::npos) (void)std::sscanf(child.output.c_str() + at, "longest %lld", &longest);
  MESSAGE(longest, " us at most");
  CHECK(longest >= 0);
  // Without leave to change priorities nobody is lifted; then it takes what the smallest share takes.
  const int priority = ::getpriority(PRIO_PROCESS, 0);
  const bool may_lift =
      ::setpriority(PRIO_PROCESS, 0, priority - 1) == 0 && ::setpriority(PRIO_PROCESS, 0, priority) == 0;
  if (may_lift) CHECK(longest < 2'000'000 * slow_build);
}

namespace {

std::atomic<bool> held_up{true};

void comes_back_later() {
  int two[] = {2, 1};
  std::qsort(two, 2, sizeof two[0], [](const void*, const void*) {
    while (held_up) {
    }
    return 0;
  });
}

}  // namespace

LEAT_CHILD(come_back_from_the_lowest_priority) {
  const sched_param none{};
  expect(::sched_setscheduler(0, SCHED_BATCH, &none) == 0, "the kernel refuses SCHED_BATCH");
  leat::run(with_procs(2), [&] {
    auto t = spawn({.guard = guard_of(5ms, 5ms)}, comes_back_later);
    try {
      t.get();
      expect(false, "it came back");
    } catch (const quarantined&) {
    }
    const auto some_demoted = [] {
      bool any = false;
      sched::scheduler::current()->threads().each([&](sched::M& m) { any |= m.hung.demoted.load(); });
      return any;
    };
    expect(eventually(some_demoted), "it does not run at the lowest priority");
    held_up = false;
    // Between the C library and the runtime it can be found where nothing of others hangs on it. Where threads cannot
    // leave their Gs it is frozen there, and keeps the class that it has.
    const auto is_settled = [&] {
      return stats().fenced == 0 && (!some_demoted() || (!sched::can_leave() && stats().frozen == 1));
    };
    expect(eventually(is_settled), "it does not come back");
    // A moment after it is no longer counted as one of the lowest.
    const auto all_as_before = [] {
      bool all = true;
      sched::scheduler::current()->threads().each([&](sched::M& m) {
        all &= m.exited.load() || m.hung.frozen.load() || ::sched_getscheduler(m.tid.load()) == SCHED_BATCH;
      });
      return all;
    };
    expect(eventually(all_as_before), "a thread has another policy than before");
  });
  ::_exit(0);
}

TEST_CASE("a thread that comes back from behind a fence has the scheduling policy that it had") {
  if (fiber::under_tsan) return;  // where no thread is taken out of a G
  const auto child = leat::test::run_self("come_back_from_the_lowest_priority");
  CHECK_MESSAGE(child.exited(0), child.output);
}
