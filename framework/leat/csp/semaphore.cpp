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

acquire_status semaphore::acquire_slow(std::size_t n, deadline until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  std::uint32_t wanted = checked(n);
  const std::int64_t at = csp::until_ns(until);
  const sched::G* g = nullptr;
  csp::ending how = csp::ending::timeout;
  {
    entered in;
    if (in.m) g = &in.g();
    lock_.lock();
    std::uint32_t s = state_.load(std::memory_order_relaxed);
    bool enough = false;
    do {
      enough = s / one >= wanted && queue_.empty();
      // Acquire pairs with the release in release.
    } while (!state_.compare_exchange_weak(s, enough ? s - wanted * one : s | waiting,
                                           std::memory_order_acquire, std::memory_order_relaxed));
    if (enough) {
      lock_.unlock();
      return acquire_status::acquired;
    }
    if (at == csp::forever || now_ns() < at) {
      how = csp::wait_and_unlock(in, lock_, queue_, &wanted, sched::wait_reason::semaphore, at);
    } else {
      lock_.unlock();
    }
  }
  if (how == csp::ending::done) return acquire_status::acquired;
  // It may have kept others waiting, or be the last of those for whom `waiting` is set.
  release_slow(0);
  if (g) sched::throw_if_insisted(*g);
  return how == csp::ending::stopped ? acquire_status::stopped : acquire_status::timeout;
}

void semaphore::release(std::size_t n) noexcept {
  std::uint32_t s = state_.load(std::memory_order_relaxed);
  while (!(s & waiting)) {
    LEAT_CHECK(n <= max() - s / one, "a semaphore got more permits than it can hold", "permits", s / one,
               "released", n);
    // Release pairs with the acquire in try_acquire_many and acquire_slow.
    if (state_.compare_exchange_weak(s, s + static_cast<std::uint32_t>(n) * one, std::memory_order_release,
                                     std::memory_order_relaxed))
      return;
  }
  release_slow(n);
}

void semaphore::release_slow(std::size_t n) noexcept {
  const sched::no_quarantine unbroken;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    // Acquire: permits that were released before go to those who are claimed here.
    std::uint32_t s = state_.load(std::memory_order_acquire);
    for (;;) {
      LEAT_CHECK(n <= max() - s / one, "a semaphore got more permits than it can hold", "permits", s / one,
                 "released", n);
      std::uint32_t permits = s / one + static_cast<std::uint32_t>(n);
      while (csp::waiter* const w = queue_.list.front()) {
        const std::uint32_t wanted = *static_cast<const std::uint32_t*>(w->slot);
        if (wanted > permits) break;
        csp::prefetch_frames(*w);
        queue_.unlink(*w);
        const csp::wait::claimed c = w->who->try_claim(w->index);
        if (c == csp::wait::claimed::lost) continue;  // it is on its way out
        permits -= wanted;
        if (c == csp::wait::claimed::wake_it) woken.push_back(w);
      }
      const std::uint32_t next = permits * one + (queue_.empty() ? 0 : waiting);
      // Fails only where waiting is not set, and the queue was empty: nobody has been given anything.
      if (state_.compare_exchange_strong(s, next, std::memory_order_acq_rel, std::memory_order_acquire))
        break;
    }
  }
  if (woken.empty()) return;
  const entered in;
  csp::wake_all(in.m, woken);
}

}  // namespace leat
