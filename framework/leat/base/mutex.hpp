// SPDX-License-Identifier: BSL-1.0
// Locks with a rank. Whether the order is checked is decided by the build of the library (a debug
// build, or LEAT_DEBUG_CHECKS), never by its users: a lock noted in one file and released in another
// must be seen by both or by none. For the same reason the layout never depends on it.
#pragma once
#include <pthread.h>

#include <atomic>
#include <cstdint>

#include <leat/base/annotations.hpp>
#include <leat/base/check.hpp>
#include <leat/base/cpu.hpp>

namespace leat {

// The lock order. A thread may only lock a higher rank than any it holds; what stands first here is
// taken first. Two locks of one rank are never held together, unless one came by try_lock.
#define LEAT_LOCK_RANKS(X) \
  X(user)                  \
  X(host)                  \
  X(registry)              \
  X(net)                   \
  X(task_group)            \
  X(channel)               \
  X(timers)                \
  X(scheduler)             \
  X(thread_list)           \
  X(stacks)                \
  X(trace)                 \
  X(log)

enum class lock_rank : std::uint8_t {
#define LEAT_RANK_NAME(name) name,
  LEAT_LOCK_RANKS(LEAT_RANK_NAME)
#undef LEAT_RANK_NAME
};

const char* to_string(lock_rank rank) noexcept;

namespace detail {

extern const bool lock_order_checked;
// That, or a simulated world runs, in which who locks may have to give way first.
extern std::atomic<bool> locks_watched;

// How many ranked_mutexes, and other things that others wait for, the calling thread holds: while it is not
// zero, the thread must not be stopped for good. Async-signal-safe.
void count_mutex(int by) noexcept;
int mutexes_held() noexcept;

struct lock_info {
  const char* name;
  lock_rank rank;
};

// Aborts when this thread may not wait for the lock. Called before the wait, so that a deadlock is
// reported instead of met.
void check_lock_order(const void* lock, lock_info info) noexcept;
void note_locked(const void* lock, lock_info info) noexcept;
void note_unlocked(const void* lock, lock_info info) noexcept;
void check_locks_held(const void* allowed, const char* where) noexcept;

// A spinlock's word was found taken: waits, and takes it.
void lock_slow(std::atomic<std::uint32_t>& word) noexcept;
void lock_slow_standing_back(std::atomic<std::uint32_t>& word) noexcept;

}  // namespace detail

// Before a switch to another stack: a lock would be released by another thread than took it.
// Empty in builds without debug checks.
inline void check_no_locks_held([[maybe_unused]] const char* where) noexcept {
#if LEAT_DEBUG_CHECKS_ON
  detail::check_locks_held(nullptr, where);
#endif
}

// The same, but one lock may be held: the one that the other side of the switch drops on this thread.
inline void check_only_lock_held([[maybe_unused]] const void* lock,
                                 [[maybe_unused]] const char* where) noexcept {
#if LEAT_DEBUG_CHECKS_ON
  detail::check_locks_held(lock, where);
#endif
}

// Blocks the thread. Satisfies Lockable, so std::condition_variable_any waits on it.
class LEAT_CAPABILITY("mutex") ranked_mutex {
 public:
  // The name is kept by pointer: a literal.
  constexpr ranked_mutex(lock_rank rank, const char* name) noexcept : info_{name, rank} {}
  ranked_mutex(const ranked_mutex&) = delete;
  ranked_mutex& operator=(const ranked_mutex&) = delete;

  void lock() LEAT_ACQUIRE() {
    if (detail::lock_order_checked) [[unlikely]]
      detail::check_lock_order(this, info_);
    detail::count_mutex(1);
    (void)::pthread_mutex_lock(&mutex_);
    if (detail::lock_order_checked) [[unlikely]]
      detail::note_locked(this, info_);
  }

  // Cannot deadlock, so it may take any rank.
  bool try_lock() LEAT_TRY_ACQUIRE(true) {
    detail::count_mutex(1);
    if (::pthread_mutex_trylock(&mutex_) != 0) {
      detail::count_mutex(-1);
      return false;
    }
    if (detail::lock_order_checked) [[unlikely]]
      detail::note_locked(this, info_);
    return true;
  }

  void unlock() LEAT_RELEASE() {
    if (detail::lock_order_checked) [[unlikely]]
      detail::note_unlocked(this, info_);
    (void)::pthread_mutex_unlock(&mutex_);
    detail::count_mutex(-1);
  }

  lock_rank rank() const noexcept { return info_.rank; }
  const char* name() const noexcept { return info_.name; }

 private:
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  detail::lock_info info_;
};

// For sections of a few dozen instructions that call nothing. A holder that the kernel put aside
// makes the others yield, not burn their slice. Lock is the class that is made of it, and has info().
template <class Lock>
class LEAT_CAPABILITY("spinlock") basic_spinlock {
 public:
  basic_spinlock(const basic_spinlock&) = delete;
  basic_spinlock& operator=(const basic_spinlock&) = delete;

  void lock() noexcept LEAT_ACQUIRE() {
    check();
    // Acquire pairs with the release in unlock.
    if (word_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
      detail::lock_slow(word_);
    note_locked();
  }

  // The same, for a lock that many take in quick succession: one who finds it taken stands back for some
  // microseconds. Meanwhile its holder, and what the lock guards, stay in one core's cache; taking turns
  // would move them to and fro with each section. Not fair.
  void lock_standing_back() noexcept LEAT_ACQUIRE() {
    check();
    if (word_.exchange(1, std::memory_order_acquire) != 0) [[unlikely]]
      detail::lock_slow_standing_back(word_);
    note_locked();
  }

  // Cannot deadlock, so it may take any rank.
  bool try_lock() noexcept LEAT_TRY_ACQUIRE(true) {
    if (word_.load(std::memory_order_relaxed) != 0) return false;
    // Acquire pairs with the release in unlock.
    if (word_.exchange(1, std::memory_order_acquire) != 0) return false;
    note_locked();
    return true;
  }

  void unlock() noexcept LEAT_RELEASE() {
    note_left();
    // Release pairs with the acquire in lock, detail::lock_slow and try_lock.
    word_.store(0, std::memory_order_release);
  }

  // For a lock that is held by another right (csp/biased_lock.hpp): the same checks.
  void note_taken() noexcept {
    check();
    note_locked();
  }
  void note_left() noexcept {
    if (checked_) [[unlikely]]
      detail::note_unlocked(this, info());
  }

  lock_rank rank() const noexcept { return info().rank; }
  const char* name() const noexcept { return info().name; }
  bool is_checked() const noexcept { return checked_; }

 protected:
  basic_spinlock() noexcept : checked_(detail::lock_order_checked) {}

 private:
  detail::lock_info info() const noexcept { return static_cast<const Lock*>(this)->info(); }
  void check() const noexcept {
    if (checked_) [[unlikely]]
      detail::check_lock_order(this, info());
  }
  void note_locked() const noexcept {
    if (checked_) [[unlikely]]
      detail::note_locked(this, info());
  }

  std::atomic<std::uint32_t> word_{0};
  const bool checked_;  // a copy, in the line that is touched anyway
};

class LEAT_CAPABILITY("spinlock") ranked_spinlock final : public basic_spinlock<ranked_spinlock> {
 public:
  // The name is kept by pointer: a literal.
  ranked_spinlock(lock_rank rank, const char* name) noexcept : rank_(rank), name_(name) {}
  detail::lock_info info() const noexcept { return {name_, rank_}; }

 private:
  const lock_rank rank_;
  const char* const name_;
};

template <class Mutex>
class [[nodiscard]] LEAT_SCOPED_CAPABILITY lock_guard {
 public:
  explicit lock_guard(Mutex& mutex) LEAT_ACQUIRE(mutex) : mutex_(mutex) { mutex_.lock(); }
  ~lock_guard() LEAT_RELEASE() { mutex_.unlock(); }
  lock_guard(const lock_guard&) = delete;
  lock_guard& operator=(const lock_guard&) = delete;

 private:
  Mutex& mutex_;
};

}  // namespace leat
