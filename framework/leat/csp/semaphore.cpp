// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/semaphore.hpp>

#include <stdexcept>

#include <leat/sched/scheduler.hpp>

namespace leat {

using sched::entered;

namespace {

std::uint32_t checked(std::size_t permits) {
  if (permits > semaphore::max()) throw std::length_error("semaphore: more permits than semaphore::max()");
  return static_cast<std::uint32_t>(permits);
}

}  // namespace

semaphore::semaphore(std::size_t permits) : state_(checked(permits) * one) {}

acquire_status semaphore::acquire_slow(deadline until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  const std::int64_t at = csp::until_ns(until);
  const sched::G* g = nullptr;
  std::int32_t outcome = csp::outcome_timeout;
  {
    entered in;
    if (in.m) g = &in.g();
    lock_.lock();
    std::uint32_t s = state_.load(std::memory_order_relaxed);
    // Acquire pairs with the release in release.
    while (!state_.compare_exchange_weak(s, s >= one ? s - one : s | waiting, std::memory_order_acquire,
                                         std::memory_order_relaxed)) {
    }
    if (s >= one) {
      lock_.unlock();
      return acquire_status::acquired;
    }
    if (at == csp::forever || now_ns() < at) {
      outcome = csp::wait_and_unlock(in, lock_, queue_, nullptr, sched::wait_reason::semaphore, at).outcome;
    } else {
      lock_.unlock();
    }
  }
  if (outcome >= 0) return acquire_status::acquired;
  if (g) sched::throw_if_insisted(*g);
  return outcome == csp::outcome_stopped ? acquire_status::stopped : acquire_status::timeout;
}

void semaphore::release(std::size_t n) noexcept {
  const auto with = [](std::uint32_t s, std::size_t more) noexcept {
    LEAT_CHECK(more <= max() - s / one, "a semaphore got more permits than it can hold", "permits", s / one,
               "released", more);
    return s + static_cast<std::uint32_t>(more) * one;
  };
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (!(s & waiting)) {
    // Release pairs with the acquire in try_acquire and acquire_slow.
    if (state_.compare_exchange_weak(s, with(s, n), std::memory_order_release, std::memory_order_relaxed))
      return;
  }
  const sched::shield unbroken;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    bool wake_it = false;
    for (; n != 0; --n) {
      csp::waiter* const w = csp::claim_first(queue_, wake_it);
      if (!w) break;
      if (wake_it) woken.push_back(w);
    }
    if (queue_.empty()) {
      s = state_.load(std::memory_order_relaxed);
      while (!state_.compare_exchange_weak(s, with(s & ~waiting, n), std::memory_order_release,
                                           std::memory_order_relaxed)) {
      }
    }
  }
  if (woken.empty()) return;
  const entered in;
  csp::wake_all(in.m, woken);
}

}  // namespace leat
