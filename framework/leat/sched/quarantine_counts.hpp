// SPDX-License-Identifier: BSL-1.0
//
// How many Gs are guarded, wanted out, and in quarantine. What of it is an order says so.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/sched/overrun.hpp>

namespace leat::sched {

class quarantine_counts {
 public:
  // A G with this guard is spawned. True: it is the first.
  bool add_guarded(const overrun_guard& guard) noexcept {
    const std::int64_t hang = guard.hang().count();
    std::int64_t least = shortest_hang_.load(std::memory_order_relaxed);
    while (hang < least && !shortest_hang_.compare_exchange_weak(least, hang, std::memory_order_relaxed)) {
    }
    return guarded_.fetch_add(1, std::memory_order_relaxed) == 0;
  }
  void remove_guarded() noexcept { guarded_.fetch_sub(1, std::memory_order_relaxed); }
  bool any_guarded() const noexcept { return guarded_.load(std::memory_order_relaxed) > 0; }
  // Of all guards so far, in nanoseconds; a second if there was none.
  std::int64_t shortest_hang() const noexcept { return shortest_hang_.load(std::memory_order_relaxed); }

  // overrun_guard::want_out, and it is out or has ended.
  void want_out() noexcept {
    outs_wanted_.fetch_add(1, std::memory_order_release);
  }  // pairs with any_wanted_out
  void out_settled(overrun_guard& guard) noexcept {
    using part = overrun_guard::runtime_part;
    const std::uint32_t before = guard.for_runtime().out.fetch_sub(part::one_g, std::memory_order_relaxed);
    if (before == part::one_g + part::wanted) outs_wanted_.fetch_sub(1, std::memory_order_relaxed);
  }
  bool any_wanted_out() const noexcept { return outs_wanted_.load(std::memory_order_acquire) != 0; }

  // A quarantined G is fenced first. Then its thread is frozen, or comes back. sysmon; `back` the thread.
  void fence() noexcept {
    quarantined_.fetch_add(1, std::memory_order_relaxed);
    fenced_.fetch_add(1, std::memory_order_relaxed);
  }
  void freeze() noexcept {
    frozen_.fetch_add(1, std::memory_order_relaxed);
    fenced_.fetch_sub(1, std::memory_order_release);  // pairs with fenced
  }
  void back() noexcept { fenced_.fetch_sub(1, std::memory_order_release); }  // pairs with fenced
  unsigned quarantined() const noexcept { return quarantined_.load(std::memory_order_relaxed); }
  // Who reads 0 may destroy what the quarantined ones looked at: each has looked for the last time before.
  unsigned fenced() const noexcept { return fenced_.load(std::memory_order_acquire); }
  unsigned frozen() const noexcept { return frozen_.load(std::memory_order_relaxed); }

 private:
  std::atomic<int> guarded_{0};
  std::atomic<std::int64_t> shortest_hang_{1'000'000'000};
  std::atomic<int> outs_wanted_{0};
  std::atomic<unsigned> quarantined_{0}, fenced_{0}, frozen_{0};
};

}  // namespace leat::sched
