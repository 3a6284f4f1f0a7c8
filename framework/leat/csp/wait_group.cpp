// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/wait_group.hpp>

#include <limits>
#include <stdexcept>

#include <leat/sched/scheduler.hpp>

namespace leat {

using sched::entered;

void wait_group::add(std::size_t n) {
  std::size_t s = state_.load(std::memory_order_relaxed);
  do {
    if (n > (std::numeric_limits<std::size_t>::max() - s) / one)
      throw std::length_error("wait_group::add: the count would overflow");
  } while (!state_.compare_exchange_weak(s, s + n * one, std::memory_order_relaxed));
}

void wait_group::done_slow() noexcept {
  const sched::no_quarantine unbroken;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    std::size_t s = state_.load(std::memory_order_relaxed);
    bool zero = false;
    std::size_t next = 0;
    do {
      LEAT_CHECK(s >= one, "wait_group::done without add", "wait_group", static_cast<const void*>(this));
      zero = s / one == 1;
      next = zero ? settled : s - one;
      // As in done.
    } while (!state_.compare_exchange_weak(s, next, std::memory_order_acq_rel, std::memory_order_relaxed));
    if (zero) csp::claim_all(queue_, csp::ending::done, woken);
  }
  if (woken.empty()) return;
  const entered in;
  csp::wake_all(in.m, woken);
}

wait_status wait_group::wait_slow(deadline until, csp::stops on_stop) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  const std::int64_t at = csp::until_ns(until);
  const sched::G* g = nullptr;
  csp::ending how = csp::ending::timeout;
  {
    entered in;
    if (in.m) g = &in.g();
    lock_.lock();
    std::size_t s = state_.load(std::memory_order_acquire);  // pairs with done
    // Acquire as above: a failed exchange may find zero.
    while (s >= one && !state_.compare_exchange_weak(s, s | waiting, std::memory_order_acquire)) {
    }
    if (s < one) {
      // Nobody waits: whoever made it zero has emptied the queue in the same section.
      while (s < one && !state_.compare_exchange_weak(s, 0, std::memory_order_acquire)) {
      }
      lock_.unlock();
      return wait_status::done;
    }
    if (at == csp::forever || now_ns() < at) {
      how = csp::wait_and_unlock(in, lock_, queue_, nullptr, sched::wait_reason::join, at, on_stop);
    } else {
      lock_.unlock();
    }
  }
  if (how == csp::ending::done) return wait_status::done;
  if (g && on_stop == csp::stops::end_it) sched::throw_if_insisted(*g);
  return how == csp::ending::stopped ? wait_status::stopped : wait_status::timeout;
}

}  // namespace leat
