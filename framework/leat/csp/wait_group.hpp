// SPDX-License-Identifier: BSL-1.0
//
// Counts what is under way, and waits until it is none.
//
// Variables: state_ = count * one + waiting + settled; queue_, under lock_.
//   waiting  queue_ may hold somebody. Set under lock_ while the count is not zero; cleared under lock_
//   settled  the count came to zero with the lock held; cleared under lock_
//
//   done                                         wait
//    1 count - 1 by CAS, unless that makes zero   a state_ is 0: returns
//      with waiting set; then                     b takes lock_; the count is zero: clears settled, returns;
//    2 takes lock_; the same CAS, which also        else sets waiting, in the CAS that sees the count
//      clears waiting and sets settled; claims    c parks in the queue, which drops lock_
//      all of the queue, drops lock_
//    3 wakes them
//
// Forbidden: a waiter sleeps at zero: b sets waiting while the count is not zero, so whoever makes it zero
// goes through 2, after the waiter has dropped the lock and can be found.
// Forbidden: done touches a group that a waiter has returned from, and perhaps destroyed. Those of the queue
// are woken after the last touch; one who comes later finds settled and passes lock_ behind 2.
// Stress: tests/csp/wait_group_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

#include <leat/base/clock.hpp>
#include <leat/csp/wait.hpp>

namespace leat {

enum class wait_status : std::uint8_t { done, stopped, timeout };

class wait_group {
 public:
  explicit wait_group(std::size_t count = 0) { add(count); }
  wait_group(const wait_group&) = delete;
  wait_group& operator=(const wait_group&) = delete;

  // Before what it counts is started: one who waits at zero does not wait.
  // Throws std::length_error beyond what a size_t less two bits can count.
  void add(std::size_t n = 1);
  // Never throws and never parks. More of them than were added is a broken program, and aborts.
  void done() noexcept {
    // Acquire: what the others did before their done() is seen by who makes it zero. Release pairs with the
    // acquire in wait_until and the other calls of done.
    std::size_t s = state_.load(std::memory_order_relaxed);
    do {
      if (s < one || (s & ~std::size_t{settled}) == (one | waiting)) [[unlikely]]
        return done_slow();
    } while (!state_.compare_exchange_weak(s, s - one, std::memory_order_acq_rel, std::memory_order_relaxed));
  }
  // How many are under way; may be out of date when it returns.
  std::size_t count() const noexcept { return state_.load(std::memory_order_relaxed) / one; }

  // Until the count is zero. `stopped`: the caller was asked to stop, and it was not zero yet; throws
  // leat::stopped instead when that was insisted on. A zero is seen whatever was asked.
  wait_status wait() { return wait_until(deadline::never()); }
  wait_status wait_until(deadline until) {
    if (state_.load(std::memory_order_acquire) == 0) return wait_status::done;  // pairs with done
    return wait_slow(until, csp::stops::end_it);
  }
  wait_status wait_for(deadline in) { return wait_until(in); }

 private:
  friend class task_group;
  static constexpr std::size_t waiting = 1, settled = 2, one = 4;

  void done_slow() noexcept;
  wait_status wait_slow(deadline until, csp::stops on_stop);

  std::atomic<std::size_t> state_{0};
  ranked_spinlock lock_{lock_rank::channel, "wait_group"};
  csp::wait_queue queue_ LEAT_GUARDED_BY(lock_);
};

}  // namespace leat
