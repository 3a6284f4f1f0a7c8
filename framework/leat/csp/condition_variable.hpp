// SPDX-License-Identifier: BSL-1.0
//
// Waits for a condition under a leat::mutex, like std::condition_variable. It may go when all who waited have been
// notified; a wait that a stop or a deadline has ended is over when its call returns.
//
// A stop ends a wait like a spurious wake-up, with the mutex locked again; the forms that take a predicate
// return what it says then, so their result must be looked at. A stop that was insisted on comes out of the
// wait as leat::stopped, also with the mutex locked again, unless this wait was notified.
//
// A waiter is in the queue before it drops the mutex, as a contested wait (wait.hpp): a notification from
// then on claims it, whether it has parked or not. One that is notified and timed out or stopped at the same
// moment was notified: no notification is lost on one who leaves anyway.
#pragma once
#include <atomic>
#include <concepts>
#include <cstddef>
#include <cstdint>

#include <leat/base/clock.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/wait.hpp>

namespace leat {

// std::unique_lock<leat::mutex>, and what is like it.
template <class L>
concept lock_of_mutex = requires(L l) {
  { l.mutex() } -> std::same_as<mutex*>;
  { l.owns_lock() } -> std::same_as<bool>;
};

// What a wait with a deadline returns: becomes, and compares with, std::cv_status.
class cv_result {
 public:
  explicit constexpr cv_result(bool timed_out) noexcept : timed_out_(timed_out) {}
  template <class Status>
    requires requires { Status::timeout, Status::no_timeout; }
  constexpr operator Status() const noexcept {
    return timed_out_ ? Status::timeout : Status::no_timeout;
  }
  template <class Status>
    requires requires { Status::timeout, Status::no_timeout; }
  friend constexpr bool operator==(cv_result r, Status s) noexcept {
    return static_cast<Status>(r) == s;
  }

 private:
  bool timed_out_;
};

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

  void wait(lock_of_mutex auto& lock) { (void)wait_once(held(lock), csp::forever); }
  // False: the caller was asked to stop, and the condition does not hold.
  template <class Predicate>
  [[nodiscard]] bool wait(lock_of_mutex auto& lock, Predicate holds) {
    return wait_while_not(held(lock), csp::forever, holds);
  }

  // After a stop, no_timeout.
  cv_result wait_until(lock_of_mutex auto& lock, deadline until) {
    return cv_result(wait_once(held(lock), csp::until_ns(until)) == ended::timeout);
  }
  cv_result wait_for(lock_of_mutex auto& lock, deadline in) { return wait_until(lock, in); }
  // What the predicate says in the end: true, or too late, or asked to stop.
  template <class Predicate>
  [[nodiscard]] bool wait_until(lock_of_mutex auto& lock, deadline until, Predicate holds) {
    return wait_while_not(held(lock), csp::until_ns(until), holds);
  }
  template <class Predicate>
  [[nodiscard]] bool wait_for(lock_of_mutex auto& lock, deadline in, Predicate holds) {
    return wait_while_not(held(lock), csp::until_ns(in), holds);
  }

 private:
  enum class ended : std::uint8_t { notified, timeout, stopped };

  // Null: it does not hold it.
  static mutex* held(const lock_of_mutex auto& lock) noexcept {
    return lock.owns_lock() ? lock.mutex() : nullptr;
  }
  template <class Predicate>
  bool wait_while_not(mutex* m, std::int64_t until, Predicate& holds) {
    while (!holds()) {
      if (wait_once(m, until) != ended::notified) return holds();
    }
    return true;
  }
  ended wait_once(mutex* held, std::int64_t until);
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
