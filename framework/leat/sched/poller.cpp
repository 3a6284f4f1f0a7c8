// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/poller.hpp>

#include <leat/sched/futex.hpp>

namespace leat::sched {

void sleep_poller::wait(std::int64_t until) noexcept {
  // Acquire pairs with interrupt.
  if (woken_.exchange(0, std::memory_order_acquire) != 0) return;
  futex_wait(woken_, 0, until);
  (void)woken_.exchange(0, std::memory_order_acquire);
}

void sleep_poller::interrupt() noexcept {
  if (woken_.exchange(1, std::memory_order_release) == 0) futex_wake(woken_);
}

}  // namespace leat::sched
