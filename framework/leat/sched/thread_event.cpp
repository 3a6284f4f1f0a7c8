// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/thread_event.hpp>

#include <leat/sched/futex.hpp>

namespace leat::sched {

bool thread_event::wait(std::int64_t until) noexcept {
  if (word_.exchange(0, std::memory_order_acquire) != 0) return true;  // pairs with signal
  futex_wait(word_, 0, until);
  return word_.exchange(0, std::memory_order_acquire) != 0;
}

void thread_event::signal() noexcept {
  if (word_.exchange(1, std::memory_order_release) == 0) futex_wake(word_);
}

}  // namespace leat::sched
