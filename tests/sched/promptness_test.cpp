// SPDX-License-Identifier: BSL-1.0
//
// The slices that the kernel keeps for threads, where it does (Linux 6.12 and later).
#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <thread>
#include <vector>

#include <leat/sched/blocking.hpp>
#include <leat/sched/promptness.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched;
using namespace leat::sched::test;

namespace {

struct attributes {
  std::uint32_t size = 48, policy = 0;
  std::uint64_t flags = 0;
  std::int32_t nice = 0;
  std::uint32_t priority = 0;
  std::uint64_t runtime = 0, deadline = 0, period = 0;
};

attributes of(pid_t thread = 0) {
  attributes a;
  REQUIRE(::syscall(SYS_sched_getattr, thread, &a, sizeof a, 0) == 0);
  return a;
}

pid_t this_thread() { return static_cast<pid_t>(::syscall(SYS_gettid)); }

constexpr std::uint64_t shortest = 100'000;

// Asked on a thread of its own, by the system calls alone, without Leat's code. Linux has slices since 6.12, and a
// sandbox may refuse the calls.
bool kernel_has_slices() {
  bool kept = false;
  std::thread([&] {
    attributes a;
    if (::syscall(SYS_sched_getattr, 0, &a, sizeof a, 0) != 0) return;
    a.runtime = 5 * shortest;
    attributes after;
    kept = ::syscall(SYS_sched_setattr, 0, &a, 0) == 0 &&
           ::syscall(SYS_sched_getattr, 0, &after, sizeof after, 0) == 0 && after.runtime == a.runtime;
  }).join();
  if (!kept) MESSAGE("skipped: this kernel keeps no slice that a thread asks for");
  return kept;
}

void compute_until(const std::atomic<bool>& over) {
  volatile unsigned turns = 0;
  while (!over.load(std::memory_order_relaxed)) turns = turns + 1;
}

}  // namespace

TEST_CASE("Ms are prompt while the runtime lives, and the caller is as before afterwards") {
  if (!kernel_has_slices()) return;
  const attributes before = of();
  std::uint64_t inside = 0;
  leat::run({.procs = 1}, [&] { inside = of().runtime; });
  CHECK(inside == std::min(before.runtime, shortest));
  const attributes after = of();
  CHECK(after.runtime == before.runtime);
  CHECK(after.policy == before.policy);
  CHECK(after.nice == before.nice);
}

TEST_CASE("the M of a G that outruns its slice is unhurried, and prompt again once it has slept") {
  if (!kernel_has_slices()) return;
  leat::run({.procs = 2, .slice = 1ms}, [&] {
    std::atomic<pid_t> thread{0};
    std::atomic<bool> over{false};
    auto hog = spawn([&] {
      thread = this_thread();
      compute_until(over);
    });
    CHECK(eventually([&] { return thread != 0 && of(thread).runtime > shortest; }));
    over = true;
    hog.get();
    CHECK(eventually([&] { return of(thread).runtime == shortest; }));
  });
}

TEST_CASE("an M that a thread of another kind, or a hog, starts is prompt") {
  if (!kernel_has_slices()) return;
  std::atomic<bool> go{false};
  std::thread plain;
  plain = std::thread([&] {
    const attributes a = of();
    REQUIRE(a.runtime > shortest);  // it was started outside the runtime
    while (!go) std::this_thread::yield();
    std::vector<task<std::uint64_t>> gs;
    for (int i = 0; i < 4; ++i)
      gs.push_back(spawn([] {
        leat::blocking([] { std::this_thread::sleep_for(20ms); });  // each needs a thread
        return of().runtime;
      }));
    for (auto& g : gs) CHECK(g.get() == shortest);
    go = false;
  });
  leat::run({.procs = 2}, [&] {
    go = true;
    CHECK(eventually([&] { return !go; }));
  });
  plain.join();
}

TEST_CASE("a slice of the user's own, and a nice value, are kept") {
  if (!kernel_has_slices()) return;
  std::thread([] {
    attributes a = of();
    a.runtime = 3 * shortest;
    a.nice = 3;
    REQUIRE(::syscall(SYS_sched_setattr, 0, &a, 0) == 0);
    {
      const prompt_thread prompt;
      CHECK(of().runtime == shortest);
      CHECK(of().nice == 3);
      CHECK_FALSE(set_promptness(0, promptness::at_once));  // it is
      CHECK(set_promptness(0, promptness::unhurried));
      CHECK_FALSE(set_promptness(0, promptness::unhurried));
      CHECK(set_promptness(0, promptness::at_once));
    }
    CHECK(of().runtime == 3 * shortest);
    CHECK(of().nice == 3);
    CHECK_FALSE(set_promptness(0, promptness::unhurried));  // it was never made prompt
    CHECK_FALSE(set_promptness(-1, promptness::unhurried));
  }).join();
}
