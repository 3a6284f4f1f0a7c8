// SPDX-License-Identifier: BSL-1.0
//
// A counting semaphore. Permits go to those who wait in the order in which they came; one who wants several
// gets them at once, and those who come after it wait behind it.
//
// Variables: state_ = permits * one + waiting; queue_, under lock_.
//   waiting  queue_ may hold somebody; the permits are then too few for the first. Set and cleared under
//            lock_, and while it is set the permits change under lock_ only
//
//   acquire(k)                                   release(n)
//    1 not waiting: permits - k by CAS, or        a not waiting: permits + n by CAS, the last touch; or
//    2 takes lock_; the same, or sets waiting     b takes lock_; adds n; as long as there are enough for the
//      in the CAS that sees too few                 first that can be claimed, takes them away and claims it;
//    3 parks in the queue, which drops lock_        if the queue is empty then, clears waiting; drops lock_
//    4 gave up: b and c with n = 0, for those     c wakes them
//      who stood behind it
//
// Forbidden: a waiter sleeps beside its permits: 2 sets waiting when there are too few, so every later
// release comes to b, after the waiter has dropped the lock and can be found; who leaves the queue comes to b
// as well. Forbidden: release touches a semaphore that the one it released has destroyed: a is its last
// touch, or the unlock in b is. Those who need no waking (wait.hpp) take the lock before they go on, the
// others are woken after it. A permit that was given is had, even if a stop or the deadline came at the same
// time. Stress: tests/csp/semaphore_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <leat/base/clock.hpp>
#include <leat/csp/wait.hpp>

namespace leat {

enum class acquire_status : std::uint8_t { acquired, stopped, timeout };

class semaphore {
 public:
  static constexpr std::uint32_t max() noexcept { return (std::uint32_t{1} << 31) - 1; }

  // Throws std::length_error beyond max().
  explicit semaphore(std::size_t permits);
  semaphore(const semaphore&) = delete;
  semaphore& operator=(const semaphore&) = delete;

  // `stopped`: the caller was asked to stop, and there was no permit; throws leat::stopped instead when that
  // was insisted on.
  acquire_status acquire() { return acquire_until(deadline::never()); }
  acquire_status acquire_until(deadline until) {
    if (try_acquire()) return acquire_status::acquired;
    return acquire_slow(1, until);
  }
  acquire_status acquire_for(deadline in) { return acquire_until(in); }
  // n permits or none. More than max() at a time can never be had: throws std::length_error.
  acquire_status acquire_many(std::size_t n, deadline until = deadline::never()) {
    if (try_acquire_many(n)) return acquire_status::acquired;
    return acquire_slow(n, until);
  }

  // False also while others wait, who came first.
  bool try_acquire() noexcept { return try_acquire_many(1); }
  bool try_acquire_many(std::size_t n) noexcept {
    std::uint32_t s = state_.load(std::memory_order_relaxed);
    while (!(s & waiting) && s / one >= n) {
      // Acquire pairs with the release in release.
      if (state_.compare_exchange_weak(s, s - static_cast<std::uint32_t>(n) * one, std::memory_order_acquire,
                                       std::memory_order_relaxed))
        return true;
    }
    return false;
  }

  // Any G or thread; need not have acquired. Never parks. More than max() permits at a time is a broken
  // program, and aborts.
  void release(std::size_t n = 1) noexcept;

  // May be out of date when it returns.
  std::size_t available() const noexcept { return state_.load(std::memory_order_relaxed) / one; }

 private:
  static constexpr std::uint32_t waiting = 1, one = 2;

  acquire_status acquire_slow(std::size_t n, deadline until);
  void release_slow(std::size_t n) noexcept;

  std::atomic<std::uint32_t> state_;
  ranked_spinlock lock_{lock_rank::channel, "semaphore"};
  csp::wait_queue queue_ LEAT_GUARDED_BY(lock_);
};

}  // namespace leat
