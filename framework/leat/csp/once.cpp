// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/once.hpp>

#include <leat/csp/mutex.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat {

using sched::entered;

bool once::begin() noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  const void* const me = csp::caller_id();
  entered in;
  for (;;) {
    lock_.lock();
    const state s = state_.load(std::memory_order_relaxed);
    if (s != running) {
      if (s == fresh) {
        state_.store(running, std::memory_order_relaxed);
        runner_ = me;
      }
      lock_.unlock();
      return s == fresh;
    }
    LEAT_DCHECK(runner_ != me, "the function of a once calls the same once", "once",
                static_cast<const void*>(this));
    (void)csp::wait_and_unlock(in, lock_, queue_, nullptr, sched::wait_reason::mutex, csp::forever,
                               csp::stops::are_ignored);
  }
}

void once::end(state to) noexcept {
  const sched::no_quarantine unbroken;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    runner_ = nullptr;
    state_.store(to, std::memory_order_release);  // pairs with call
    // All of them also when it failed: one becomes the runner, and the others wait for that one.
    csp::claim_all(queue_, csp::ending::done, woken);
  }
  if (woken.empty()) return;
  const entered in;
  csp::wake_all(in.m, woken);
}

}  // namespace leat
