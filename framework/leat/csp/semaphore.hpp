// SPDX-License-Identifier: BSL-1.0
//
// A counting semaphore. Permits go to those who wait in the order in which they came.
//
// Variables: state_ = permits * one + waiting; queue_, under lock_.
//   waiting  queue_ may hold somebody; the permits are then 0. Set and cleared under lock_
//
//   acquire                                      release(n)
//    1 permits - 1 by CAS, or                     a not waiting: permits + n by CAS, the last touch; or
//    2 takes lock_; the same, or sets waiting     b takes lock_; gives a permit to each of the first n that
//      in the CAS that sees no permit               can be claimed; if the queue is empty then, clears
//    3 parks in the queue, which drops lock_        waiting and adds what is left of n; drops lock_
//                                                 c wakes them
//
// Forbidden: a waiter sleeps beside a permit: 2 sets waiting at zero permits, so every later release comes to
// b, after the waiter has dropped the lock and can be found. Only an empty queue lets permits pile up again.
// Forbidden: release touches a semaphore that the one it released has destroyed: a is its last touch, or the
// unlock in b is. Those who need no waking (party.hpp) take the lock before they go on, the others are woken
// after it.
// A permit that was given is had, even if a stop or the deadline came at the same time.
// Stress: tests/csp/semaphore_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <leat/base/clock.hpp>
#include <leat/csp/party.hpp>

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
    return acquire_slow(until);
  }
  acquire_status acquire_for(deadline in) { return acquire_until(in); }

  bool try_acquire() noexcept {
    std::uint32_t s = state_.load(std::memory_order_relaxed);
    while (s >= one) {
      // Acquire pairs with the release in release.
      if (state_.compare_exchange_weak(s, s - one, std::memory_order_acquire, std::memory_order_relaxed))
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

  acquire_status acquire_slow(deadline until);

  std::atomic<std::uint32_t> state_;
  ranked_spinlock lock_{lock_rank::channel, "semaphore"};
  csp::wait_queue queue_ LEAT_GUARDED_BY(lock_);
};

}  // namespace leat
