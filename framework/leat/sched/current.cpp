// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/current.hpp>

#include <unistd.h>

#include <leat/base/clock.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {

std::atomic<bool> current_scheduler::taken_{false};
std::atomic<int> current_scheduler::plain_threads_[2];
std::atomic<unsigned> current_scheduler::entering_in_{0};

namespace {

struct plain_visit {
  unsigned depth = 0;
  unsigned half = 0;  // of plain_threads_
};
thread_local constinit plain_visit visit;

}  // namespace

// Not inlined: where a G may be, the address of a thread_local must not be kept (fiber/thread_slot.hpp).
[[gnu::noinline]] void current_scheduler::plain_thread_enters() noexcept {
  if (visit.depth++ == 0) {
    visit.half = entering_in_.load(std::memory_order_relaxed);
    plain_threads_[visit.half].fetch_add(1, std::memory_order_seq_cst);
  }
  // While nobody else keeps the time: what it wakes has been blocked until now, not until sysmon fell asleep.
  scheduler* const s = get();
  if (!s || s->for_sysmon().sleeps_deeply()) coarse_clock.store(now_ns(), std::memory_order_relaxed);
}

[[gnu::noinline]] void current_scheduler::plain_thread_leaves() noexcept {
  // Release pairs with clear.
  if (--visit.depth == 0) plain_threads_[visit.half].fetch_sub(1, std::memory_order_release);
}

void current_scheduler::clear() noexcept {
  current_.store(nullptr, std::memory_order_seq_cst);
  // One half after the other: while we wait for one, those who come count in the other and cannot keep us
  // here; and one that chose its half long ago may be in either.
  for (int halves = 0; halves < 2; ++halves) {
    const unsigned old = entering_in_.load(std::memory_order_relaxed);
    entering_in_.store(old ^ 1, std::memory_order_relaxed);
    while (plain_threads_[old].load(std::memory_order_seq_cst) != 0) ::usleep(20);
  }
  taken_.store(false, std::memory_order_release);
}

}  // namespace leat::sched
