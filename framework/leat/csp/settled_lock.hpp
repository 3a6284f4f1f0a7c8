// SPDX-License-Identifier: BSL-1.0
//
// A spinlock that settles at the M that alone uses it, which then takes it without a read-modify-write.
//
// Most channels are used for long by Gs of one M. An exchange costs as much there as all else in a section
// (8 ns); a store that others can find when they come, next to nothing.
//
// Variables: thin (an ordinary spinlock); home (the seat at which the lock has settled, or null); per seat:
// holds (the lock that its M holds by that right; one at a time: a second one is locked thin). `by` is the
// holder's note how it holds the lock, `last` whose section was the last: written with home or under thin,
// and while the lock is settled it is the home.
//
//   the M whose seat is home                     anybody else, or that M when it finds no home
//    1 home is mine?                               a locks thin
//    2 holds = this (release)                      b home is not null: home = null   (a revocation)
//    3 light barrier                               c heavy barrier
//    4 home is still mine: it has it; by = home    d waits until that seat's holds is not this (acquire)
//      else holds = null (release), goes to a      e has it; by = thin, last = its own seat
//    5 unlocks: last's holds = null (release)      f has long been the only one: home = its own seat
//                                                  g unlocks thin
//
// home is written under thin, or by the lock's maker before others know of it: b makes it null, f and the
// maker the writer's own seat.
//
// Forbidden: two holders. One by home and one by thin: by 2-3-4 against b-c-d, either 4 reads null, or d
// reads this and waits for 5. Two by thin: thin. Two by home: the home is one seat, the seat one M's.
//
// Forbidden: 4 reads its seat although it was revoked and settled there again meanwhile (ABA): only the M
// itself settles at its seat, and it is busy with 1 to 4.
//
// Forbidden: the newcomer does not see what the last holder wrote. Every write of holds is a release, the
// one that takes the next lock too: d may read that instead of null. By way of thin: g and a.
//
// Forbidden: d looks at a seat that is no more: seats are never freed (sched/seat.hpp). A seat that has
// changed hands is right as well: the next M takes over what has settled there, and its holds is as good.
//
// 2 may come long after d when the M stood still after 1; it is undone in 4, and nobody else writes that
// seat.
//
// Where there is one P it settles at its maker's M as soon as it is made, before anybody else knows of it:
// most channels have no other user there, and many do not live for long. When that was wrong (a thread of its
// own answered), the M's next locks do not, for a while.
//
// How soon it settles otherwise: after `patience` sections of one M in a row, which is multiplied with each
// revocation, as that costs a system call (some microseconds); less so when the one who came only looked, or
// is no M.
//
// Model: tests/models/settled.pml. Stress: tests/csp/settled_lock_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/base/atom.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/barrier.hpp>
#include <leat/sched/entered.hpp>

namespace leat::csp {

using sched::seat;

// The seat of the calling M, null on any other thread. It depends on the thread alone, so that it is good
// outside the runtime too, until the G parks.
inline seat* seat_of(const sched::entrance& in) noexcept { return in.m ? in.m->locks : nullptr; }
inline seat* seat_here() noexcept {
  sched::M* const m = sched::current_m();
  return m ? m->locks : nullptr;
}

class LEAT_CAPABILITY("spinlock") settled_lock {
 public:
  explicit settled_lock(lock_rank rank = lock_rank::channel) noexcept : thin_(rank) {}

  // `mine` is the caller's seat.
  void lock(seat* mine) noexcept LEAT_ACQUIRE() {
    if (!lock_at_home(mine)) lock_thin(mine, manner::plain);
  }
  void lock() noexcept LEAT_ACQUIRE() { lock(seat_here()); }
  // As ranked_spinlock::lock_standing_back.
  [[gnu::always_inline]] void lock_standing_back(seat* mine) noexcept LEAT_ACQUIRE() {
    if (!lock_at_home(mine)) lock_thin(mine, manner::standing_back);
  }
  // For one who only looks at what is there: it fetches the lock, but does not keep it from settling again.
  void lock_to_look() noexcept LEAT_ACQUIRE() {
    if (!lock_at_home(seat_here())) lock_thin(nullptr, manner::look);
  }
  [[gnu::always_inline]] void unlock() noexcept LEAT_RELEASE() LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (by_ == right::home) [[likely]]
      last_->holds.store(nullptr, std::memory_order_release);
    else
      unlock_slowly();
  }

  // For its maker, before others know of it.
  void settle_if_alone() noexcept;

  // For tests: out of date when it returns, unless the caller alone uses the lock.
  bool has_settled() const noexcept { return home_.load(std::memory_order_relaxed) != nullptr; }
  const void* address() const noexcept { return &thin_; }  // as debug checks know it

 private:
  // Steps 1 to 4, but for `by`; `named` is the caller's seat as home has it.
  [[gnu::always_inline]] bool take_home(seat* mine, const seat* named) noexcept {
    if (home_.load(std::memory_order_relaxed) != named) return false;
    // What a user's move constructor does under another channel's lock must not let go of that one.
    if (mine->holds.load(std::memory_order_relaxed)) [[unlikely]]
      return false;
    mine->holds.store(this, std::memory_order_release);
    light_barrier();
    if (home_.load(std::memory_order_relaxed) != named) [[unlikely]] {
      mine->holds.store(nullptr, std::memory_order_release);
      return false;
    }
    return true;
  }
  [[gnu::always_inline]] bool lock_at_home(seat* mine) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (!mine || !take_home(mine, mine)) return false;
    by_ = right::home;
    return true;
  }
  enum class manner : std::uint8_t { plain, standing_back, look };
  // What has settled has a membarrier on the other side (may_settle).
  static void light_barrier() noexcept {
    if constexpr (fiber::under_tsan)
      sched::full_barrier();
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  // Builds with debug checks: home names a seat by an address that is none, so that the quick ways above
  // never fit and need not ask, and these do the same with the checks.
  seat* as_home(seat* s) const noexcept;
  bool lock_at_home_checked(seat* mine) noexcept;
  void unlock_slowly() noexcept LEAT_RELEASE();
  void lock_thin(seat* mine, manner how) noexcept LEAT_ACQUIRE();
  void revoke(bool by_user) noexcept;

  // Without a name of its own, of which there would be one in every channel.
  struct thin_lock final : basic_spinlock<thin_lock> {
    explicit thin_lock(lock_rank r) noexcept : its_rank(r) {}
    leat::detail::lock_info info() const noexcept { return {"channel", its_rank}; }
    const lock_rank its_rank;
  };
  static constexpr std::uint8_t usual_patience = 8;
  // home_checked: with debug checks.
  enum class right : std::uint8_t { thin, home, home_checked };

  thin_lock thin_;
  atom<seat*> home_{nullptr};  // as_home of it
  seat* last_ = nullptr;
  std::uint32_t in_a_row_ = 0;              // under thin: sections of `last`
  std::uint8_t patience_ = usual_patience;  // its binary logarithm
  right by_ = right::thin;
};

class [[nodiscard]] LEAT_SCOPED_CAPABILITY look_guard {
 public:
  explicit look_guard(settled_lock& l) noexcept LEAT_ACQUIRE(l) : lock_(l) { lock_.lock_to_look(); }
  ~look_guard() LEAT_RELEASE() { lock_.unlock(); }
  look_guard(const look_guard&) = delete;
  look_guard& operator=(const look_guard&) = delete;

 private:
  settled_lock& lock_;
};

}  // namespace leat::csp
