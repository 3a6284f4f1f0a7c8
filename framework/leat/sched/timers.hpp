// SPDX-License-Identifier: BSL-1.0
//
// The timers of one P: a heap under a lock, and the earliest deadline beside it as one atomic, so that
// everybody may ask whether something is due without taking the lock.
//
// Anyone may run due timers: the P's owner in its round, a thief, sysmon as a last resort. A timer is
// fired by whoever takes it out of the heap under the lock; cancel takes it out too, so exactly one of
// the two happens. The G is queued after the lock is dropped (round::run_due_timers).
//
// The heap is never moved to another P: a P that set_procs has stopped keeps its timers, and the others
// look at them as they look at everybody's.
//
// A timed wait (csp/wait.hpp) can end in other ways than by its timer. It claims under the lock, and the
// waiter takes its timer out under the same lock before it goes on, so a late timer finds nothing to touch.
//
// A wait with a deadline never fails for want of memory: a timer for which the heap cannot grow stands in a
// plain list beside it, linked through itself, which is searched.
//
// A sleeper must not be readied while it still stands on its stack: its timer is added on the far side of
// the switch (scheduler::arm_timer).
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

#include <leat/base/atom.hpp>
#include <leat/base/list.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/timer.hpp>

namespace leat::sched {

class timer_heap {
 public:
  static constexpr std::int64_t no_timer = std::numeric_limits<std::int64_t>::max();

  // Room for what cancelling leaves behind before it is cleared away (drop_stale), and a few live ones.
  timer_heap() { heap_.reserve(160); }

  std::int64_t next() const noexcept { return next_.load(std::memory_order_seq_cst); }

  ranked_spinlock& lock() noexcept LEAT_RETURN_CAPABILITY(lock_) { return lock_; }
  void add_locked(timer& t) noexcept LEAT_REQUIRES(lock_);
  // False: it has fired already.
  bool remove_locked(timer& t) noexcept LEAT_REQUIRES(lock_);

  // Takes due timers out, up to `most` whose G is to be readied, and stores those Gs.
  std::size_t take_due(std::int64_t now, G** out, std::size_t most) noexcept;

  std::size_t size() noexcept {
    lock_guard hold(lock_);
    return heap_.size() - stale_ + no_room_.size();
  }

 private:
  // An entry holds its deadline, so that the heap is ordered without touching the timers, which are spread
  // over all of memory. Cancelling leaves the entry behind, out of date: its number is no longer the
  // timer's. The one at the top is always live.
  struct entry {
    std::int64_t when;
    timer* t;
    std::uint64_t number;
  };
  bool live(const entry& e) const noexcept LEAT_REQUIRES(lock_) {
    return e.t->armed.load(std::memory_order_relaxed) == e.number;
  }
  void sift_up(std::size_t i) noexcept LEAT_REQUIRES(lock_);
  void sift_down(std::size_t i) noexcept LEAT_REQUIRES(lock_);
  void pop_top() noexcept LEAT_REQUIRES(lock_);
  void drop_stale() noexcept LEAT_REQUIRES(lock_);
  // Of those in the list, or null.
  timer* earliest_without_room() const noexcept LEAT_REQUIRES(lock_);
  void publish() noexcept LEAT_REQUIRES(lock_) {
    std::int64_t least = heap_.empty() ? no_timer : heap_[0].when;
    if (!no_room_.empty()) [[unlikely]]
      if (const std::int64_t when = earliest_without_room()->when; when < least) least = when;
    // seq_cst: an M that goes to sleep reads it after a full barrier (idle_set.hpp).
    next_.store(least, std::memory_order_seq_cst);
  }

  ranked_spinlock lock_{lock_rank::timers, "timers"};
  std::vector<entry> heap_ LEAT_GUARDED_BY(lock_);  // 4-ary, earliest first
  list<timer, &timer::node> no_room_ LEAT_GUARDED_BY(lock_);
  std::size_t stale_ LEAT_GUARDED_BY(lock_) = 0;  // entries of cancelled timers
  // Unique over all heaps: an entry left behind in one must not pass for one of a later wait in another.
  std::uint64_t numbers_ LEAT_GUARDED_BY(lock_) = first_number();
  static std::uint64_t first_number() noexcept;
  atom<std::int64_t> next_{no_timer};
};

}  // namespace leat::sched
