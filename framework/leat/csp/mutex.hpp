// SPDX-License-Identifier: BSL-1.0
//
// A lock that parks the G, never the thread; a plain thread may use it too, and blocks. Works with
// std::scoped_lock, std::unique_lock and leat::condition_variable.
//
// Who comes while the lock is free gets it, whoever waits: handing it to a parked G each time would make
// every critical section as long as a switch. Only one who has waited for `patience` gets it handed over.
//
// Those who wait stand in a table that all mutexes share, in the bucket of the mutex's address. So unlock can
// be a store, and may look for waiters after it: the table is there even when the next holder has destroyed
// the mutex meanwhile. (With one word for all, unlock is a second read-modify-write: 16 instead of 11 ns.)
// Between the store and the look is a barrier, as dear as a read-modify-write. But a bucket may be calm: then
// unlock makes none, and the first who waits makes it for all, with a system call. It becomes calm again when
// nobody waits there, after so many unlocks that this call is a small part of what they cost.
//
// Variables:
//   locked_             by anyone; unlock reads it first, and aborts if nobody holds the mutex. Right after the
//                       CAS that costs 2 ns (AArch64); a word of its own, which the holder writes, costs 4
//   starving_           a waiter has lost its patience; written under the bucket's lock, read by the holder
//   careful_unlocks_    the holder's: how many there were, modulo 256
//   waiters_, woken_    how many stand in the bucket; one of them is on its way, no other need be woken.
//                       Under the bucket's lock, by those inside lock, or when one of those is found there
//   needy, per bucket   the sum of waiters_ of all its mutexes without woken_, and a bit: with care. One
//                       word, written under the bucket's lock; all zero: calm. With care at first, and for
//                       ever where there is no membarrier(2)
//
//   lock                                         unlock
//    1 locked_ 0 -> 1 by CAS, or                  a starving_: takes the bucket's lock, claims the first that
//    2 takes the bucket's lock; needy is calm:      waits for this mutex and leaves locked_ to it; done
//      with care, heavy barrier. Is a waiter:     b locked_ = 0; not the mutex's any more
//      waiters_ and needy + 1; was it woken:      c light barrier
//      woken_ = false, needy + waiters_           d needy is all zero: done
//    3 full barrier                               e full barrier
//    4 as 1; else parks, which drops the          f needy counts nobody: done, but for h
//      bucket's lock                              g takes the bucket's lock; nobody there waits for this
//    5 was it handed the lock, done; else           address, or woken_: done; claims the first, woken_ =
//      from 2, in front of the others               true, needy - waiters_; drops the lock, wakes it
//                                                 h now and then takes the bucket's lock; counts needy still
//                                                   nobody: calm
//
// Forbidden: everybody sleeps at a free lock. The unlocker goes through e: by 2-3-4 against b-e-f, the waiter
// sees the lock free or the unlocker sees it in needy, and finds it once it has parked. The unlocker is done
// at d: then it has read needy before that was last made careful, and the heavy barrier that followed has
// made its b visible to the waiter's 4. (With care before anybody is counted: else all unlocks of the bucket
// would wait for its lock while the system call lasts.) A waiter that is not in needy has one ahead that is
// on its way, which passes through 2 itself. Forbidden: g touches a mutex that is gone: it touches it only
// when somebody is found who waits for it. Forbidden: waiting for ever beside a stream of newcomers: one that
// was woken and came too late goes to the front, sets starving_ once it has lost its patience, and the next
// unlock that sees it is a.
//
// A plain thread that shares a mutex with Gs holds a leat::keep_alive: else, when all Gs wait for what it
// holds, that is reported as a deadlock.
//
// A stop does not end lock(), which must not fail, nor does an insisted one. Model: tests/models/mutex.pml.
// Stress: tests/csp/mutex_test.cpp, tests/csp/mutex_calm_test.cpp.
#pragma once
#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <leat/base/chrono.hpp>

#include <leat/base/annotations.hpp>
#include <leat/base/clock.hpp>
#include <leat/csp/wait.hpp>
#include <leat/sched/barrier.hpp>

namespace leat {

namespace csp {

// Tells the calling G, or plain thread, from all others that live.
const void* caller_id() noexcept;

struct alignas(64) needy_count {
  static constexpr std::uint32_t careful = 1, one = 2;
  std::atomic<std::uint32_t> n{careful};
};
inline constexpr std::size_t mutex_buckets = 128;
inline constinit std::array<needy_count, mutex_buckets> mutex_needy{};

inline std::size_t mutex_bucket(const void* address) noexcept {
  const auto x = static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(address) >> 3);
  return (x * 0x9E37'79B1u) >> 25;
}

}  // namespace csp

class LEAT_CAPABILITY("mutex") mutex {
 public:
  static constexpr nanoseconds patience = std::chrono::milliseconds(1);

  constexpr mutex() noexcept = default;
  ~mutex() {
    LEAT_DCHECK(locked_.load(std::memory_order_relaxed) == 0, "a mutex died while it was held", "mutex",
                static_cast<const void*>(this));
  }
  mutex(const mutex&) = delete;
  mutex& operator=(const mutex&) = delete;

  // Not recursive. Debug builds abort when the caller holds it already.
  void lock() noexcept LEAT_ACQUIRE() {
    if (detail::locks_watched.load(std::memory_order_relaxed)) [[unlikely]]
      before_lock();
    if (!try_once()) [[unlikely]]
      lock_slow();
    if (detail::lock_order_checked) [[unlikely]]
      note_mine();
  }

  bool try_lock() noexcept LEAT_TRY_ACQUIRE(true) {
    if (detail::locks_watched.load(std::memory_order_relaxed)) [[unlikely]]
      may_give_way();
    if (!try_once()) return false;
    if (detail::lock_order_checked) [[unlikely]]
      note_mine();
    return true;
  }

  // False: too late, or the caller was asked to stop while it waited. Throws leat::stopped instead of false
  // when that was insisted on.
  bool try_lock_until(deadline until) LEAT_TRY_ACQUIRE(true) {
    if (try_lock()) return true;
    return try_lock_slow(until);
  }
  bool try_lock_for(deadline in) LEAT_TRY_ACQUIRE(true) { return try_lock_until(in); }

  // Whoever holds it. Aborts when nobody does, debug builds also when the caller does not. Never throws or
  // parks, and does not enter the runtime unless somebody must be woken. The next holder may destroy the
  // mutex before it has returned.
  void unlock() noexcept LEAT_RELEASE() {
    if (locked_.load(std::memory_order_relaxed) == 0) [[unlikely]]
      was_not_locked();
    if (detail::lock_order_checked) [[unlikely]]
      check_mine_and_forget();
    const sched::no_quarantine unbroken;
    if (starving_.load(std::memory_order_relaxed)) [[unlikely]] {
      if (hand_over()) return;
    }
    std::atomic<std::uint32_t>& needy = csp::mutex_needy[csp::mutex_bucket(this)].n;
    const bool time_for_calm = needy.load(std::memory_order_relaxed) != 0 && ++careful_unlocks_ == 0;
    locked_.store(0, std::memory_order_release);          // pairs with the acquire in try_once
    std::atomic_signal_fence(std::memory_order_seq_cst);  // pairs with become_careful
    if (needy.load(std::memory_order_relaxed) != 0) [[unlikely]]
      look_for_waiters(this, time_for_calm);
  }

 private:
  struct bucket;
  struct record;

  bool try_once() noexcept {
    std::uint8_t free = 0;
    // Acquire pairs with the release in unlock.
    return locked_.compare_exchange_strong(free, 1, std::memory_order_acquire, std::memory_order_relaxed);
  }
  bool spin() noexcept;
  void lock_slow() noexcept;
  csp::ending lock_or_wait(sched::entered& in, std::int64_t until, csp::stops on_stop) noexcept;
  bool try_lock_slow(deadline until);
  bool hand_over() noexcept;
  // Not member functions: the mutex may be gone.
  static void look_for_waiters(mutex* address, bool time_for_calm) noexcept;
  static void wake_next(mutex* address) noexcept;
  static void become_careful(const mutex* address) noexcept;
  static csp::waiter* claim_for(mutex* address, bucket& b, bool& wake_it) noexcept;

  [[noreturn]] void was_not_locked() const noexcept;
  void before_lock() const noexcept;
  static void may_give_way() noexcept;  // in a simulated world
  void note_mine() noexcept;
  void check_mine_and_forget() noexcept;

  std::atomic<std::uint8_t> locked_{0};
  std::atomic<bool> starving_{false};
  bool woken_ = false;
  std::uint8_t careful_unlocks_ = 0;
  std::uint32_t waiters_ = 0;
  std::atomic<const void*> owner_{nullptr};  // G or thread, in debug builds; written by the holder
};

}  // namespace leat
