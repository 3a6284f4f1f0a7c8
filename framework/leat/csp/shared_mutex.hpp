// SPDX-License-Identifier: BSL-1.0
//
// One writer or many readers. Parks the G, never the thread; a plain thread may use it too, and blocks. Works
// with std::unique_lock and std::shared_lock.
//
// First come, first served: whoever comes while somebody waits, waits behind him, and the lock is handed to
// the first in the queue, with all readers that stand next to each other at once. So neither side starves the
// other. A reader that locks again while it holds the lock may wait behind a writer that waits for it: shared
// locks are not recursive either.
//
// Variables: state_ = readers * one + writer + waiting; queue_, under lock_.
//   waiting  queue_ may hold somebody. Set under lock_ while the lock is held; cleared under lock_ by a
//            holder
//
//   lock, lock_shared                            unlock, unlock_shared
//    1 nobody holds it (or, to read: only         a not waiting, or other readers stay: gives up its hold by
//      readers), and nobody waits: by CAS; or       CAS, the last touch; or
//    2 takes lock_; the same, or sets waiting     b takes lock_; claims the next holders and writes their
//      in the CAS that sees a holder                hold in place of its own; nobody there: clears waiting;
//    3 parks in the queue, which drops lock_;       drops lock_
//      when it is claimed, it holds               c nobody there: from a
//    4 gave up: takes lock_; readers who stand    d wakes them
//      in front now may join readers that hold
//
// Forbidden: everybody sleeps at a free lock: 2 sets waiting while it is held, so the last holder comes to b,
// and the lock is never free while waiting is set. Forbidden: a reader sleeps behind a writer that has given
// up, beside readers that hold: 4. Forbidden: a touch after another may have destroyed it: a, d.
//
// A stop does not end lock or lock_shared, which must not fail. Stress: tests/csp/shared_mutex_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>
#include <leat/base/chrono.hpp>

#include <leat/base/annotations.hpp>
#include <leat/base/clock.hpp>
#include <leat/csp/wait.hpp>

namespace leat {

class LEAT_CAPABILITY("shared_mutex") shared_mutex {
 public:
  shared_mutex() noexcept = default;
  ~shared_mutex();
  shared_mutex(const shared_mutex&) = delete;
  shared_mutex& operator=(const shared_mutex&) = delete;

  void lock() noexcept LEAT_ACQUIRE();
  bool try_lock() noexcept LEAT_TRY_ACQUIRE(true);
  // False: too late, or the caller was asked to stop while it waited. Throws leat::stopped instead of false
  // when that was insisted on.
  bool try_lock_until(deadline until) LEAT_TRY_ACQUIRE(true);
  bool try_lock_for(deadline in) LEAT_TRY_ACQUIRE(true) { return try_lock_until(in); }
  // Aborts when no writer holds it; unlock_shared, when no reader does.
  void unlock() noexcept LEAT_RELEASE();

  void lock_shared() noexcept LEAT_THREAD_ANNOTATION(acquire_shared_capability());
  bool try_lock_shared() noexcept LEAT_THREAD_ANNOTATION(try_acquire_shared_capability(true));
  bool try_lock_shared_until(deadline until) LEAT_THREAD_ANNOTATION(try_acquire_shared_capability(true));
  bool try_lock_shared_for(deadline in) LEAT_THREAD_ANNOTATION(try_acquire_shared_capability(true)) {
    return try_lock_shared_until(in);
  }
  void unlock_shared() noexcept LEAT_THREAD_ANNOTATION(release_shared_capability());

 private:
  static constexpr std::uint32_t writer = 1, waiting = 2, one = 4;
  enum class as : std::uint8_t { writer, reader };
  static as role_of(const csp::waiter& w) noexcept { return *static_cast<const as*>(w.slot); }

  csp::ending enter_or_wait(as role, std::int64_t until, csp::stops on_stop) noexcept;
  bool try_until(as role, deadline until);
  std::uint32_t claim_next_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  std::uint32_t claim_readers_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  bool claim_front_locked(csp::waiter_list& woken) noexcept LEAT_REQUIRES(lock_);
  void let_readers_join() noexcept;
  std::uint32_t waiting_bit_locked() const noexcept LEAT_REQUIRES(lock_) {
    return queue_.empty() ? 0 : waiting;
  }

  void check_not_mine() const noexcept;
  void note_mine() noexcept;
  void check_mine_and_forget() noexcept;

  std::atomic<std::uint32_t> state_{0};
  ranked_spinlock lock_{lock_rank::channel, "shared_mutex"};
  csp::wait_queue queue_ LEAT_GUARDED_BY(lock_);
  std::atomic<const void*> owner_{nullptr};  // the writer, in debug builds; written by the writer
};

}  // namespace leat
