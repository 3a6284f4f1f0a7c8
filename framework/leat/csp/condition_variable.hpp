// SPDX-License-Identifier: BSL-1.0
//
// Waits for a condition under a leat::mutex, like std::condition_variable. Must outlive the calls of wait.
//
// A stop ends a wait like a spurious wake-up, with the mutex locked again; the forms that take a predicate
// return what it says then, so their result must be looked at. A stop that was insisted on comes out of the
// wait as leat::stopped, also with the mutex locked again, unless this wait was notified.
//
// A waiter is in the queue before it drops the mutex, as a contested party (party.hpp): a notification from
// then on claims it, whether it has parked or not. One that is notified and timed out or stopped at the same
// moment was notified: no notification is lost on one who leaves anyway.
#pragma once
#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <mutex>

#include <leat/base/clock.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/party.hpp>

namespace leat {

class condition_variable {
 public:
  condition_variable() noexcept = default;
  condition_variable(const condition_variable&) = delete;
  condition_variable& operator=(const condition_variable&) = delete;

  // With or without the mutex held, but after a change that was made under it. Never park.
  void notify_one() noexcept {
    if (waiting_.load(std::memory_order_relaxed)) notify_one_slow();
  }
  void notify_all() noexcept {
    if (waiting_.load(std::memory_order_relaxed)) notify_all_slow();
  }

  void wait(std::unique_lock<mutex>& lock) { (void)wait_once(lock, csp::forever); }
  // False: the caller was asked to stop, and the condition does not hold.
  template <class Predicate>
  [[nodiscard]] bool wait(std::unique_lock<mutex>& lock, Predicate holds) {
    return wait_while_not(lock, csp::forever, holds);
  }

  // After a stop, no_timeout.
  std::cv_status wait_until(std::unique_lock<mutex>& lock, deadline until) {
    return wait_once(lock, csp::until_ns(until)) == ended::timeout ? std::cv_status::timeout
                                                                   : std::cv_status::no_timeout;
  }
  std::cv_status wait_for(std::unique_lock<mutex>& lock, deadline in) { return wait_until(lock, in); }
  // What the predicate says in the end: true, or too late, or asked to stop.
  template <class Predicate>
  [[nodiscard]] bool wait_until(std::unique_lock<mutex>& lock, deadline until, Predicate holds) {
    return wait_while_not(lock, csp::until_ns(until), holds);
  }
  template <class Predicate>
  [[nodiscard]] bool wait_for(std::unique_lock<mutex>& lock, deadline in, Predicate holds) {
    return wait_while_not(lock, csp::until_ns(in), holds);
  }

 private:
  enum class ended : std::uint8_t { notified, timeout, stopped };

  template <class Predicate>
  bool wait_while_not(std::unique_lock<mutex>& lock, std::int64_t until, Predicate& holds) {
    while (!holds()) {
      if (wait_once(lock, until) != ended::notified) return holds();
    }
    return true;
  }
  ended wait_once(std::unique_lock<mutex>& lock, std::int64_t until);
  void notify_one_slow() noexcept;
  void notify_all_slow() noexcept;
  void note_waiting_locked() noexcept LEAT_REQUIRES(lock_) {
    waiting_.store(!queue_.empty(), std::memory_order_relaxed);
  }

  // Written under lock_. Read without any order: the user's mutex, under which the waiter came and the
  // condition was changed, makes a notifier see every waiter that saw the condition unchanged.
  std::atomic<bool> waiting_{false};
  ranked_spinlock lock_{lock_rank::channel, "condition_variable"};
  csp::wait_queue queue_ LEAT_GUARDED_BY(lock_);
};

}  // namespace leat
