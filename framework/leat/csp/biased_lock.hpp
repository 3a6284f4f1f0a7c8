// SPDX-License-Identifier: BSL-1.0
//
// A biased lock: a spinlock that the M that alone uses it takes without a read-modify-write.
//
// Most channels are used for long by Gs of one M. An exchange costs as much there as all else in a section
// (8 ns); a store that others can find when they come, next to nothing.
//
// The idea is that of Java's lock reservation (Kawachiya, Koseki, Onodera 2002) and biased locking (Russell, Detlefs
// 2006): a lock belongs to the thread that it is biased to until another one comes and revokes that. There a revocation
// stops the owner; here both sides meet in an asymmetric Dekker (Dice, Huang, Yang 2001; Vasudevan, Namjoshi, Edwards
// 2010 compare such locks): the owner stores and looks, whoever revokes makes the barrier for both, by membarrier. An
// owner holds at most one lock by bias at a time, and says which at a place of its own, its seat, instead of in the
// lock: so a lock has room for nothing but the name of its owner.
//
// Variables: thin (an ordinary spinlock); bias (the seat that the lock is biased to, or null); per seat: holds (the
// lock that its M holds by bias; one at a time: a second one is locked thin). by: how the
// holder holds it. last: the seat of the last holder, lookers apart. Both are written by the holder; while the lock is
// biased, last is the seat that it is biased to.
//
//   the M to whose seat it is biased             anybody else, or that M when it finds no bias
//    1 bias is mine?                               a locks thin
//    2 holds = this (release)                      b bias is not null: bias = null   (a revocation)
//    3 light barrier                               c heavy barrier
//    4 bias is still mine: it has it; by = bias    d waits until that seat's holds is not this (acquire)
//      else holds = null (release), goes to a      e has it; by = thin, last = its own seat
//    5 unlocks: last's holds = null (release)      f has long been the only one: bias = its own seat
//                                                  g unlocks thin
//
// bias is written under thin, or by the lock's maker before others know of it: b makes it null, f and the
// maker the writer's own seat.
//
// Forbidden: two holders. One by bias and one by thin: by 2-3-4 against b-c-d, either 4 reads null, or d
// reads this and waits for 5. Two by thin: thin. Two by bias: it names one seat, the seat is one M's.
//
// Forbidden: 4 reads its seat although the bias was revoked and given back meanwhile (ABA): only the M
// itself biases a lock to its seat, and it is busy with 1 to 4.
//
// Forbidden: the newcomer does not see what the last holder wrote. Every write of holds is a release, the
// one that takes the next lock too: d may read that instead of null. By way of thin: g and a.
//
// Forbidden: d looks at a seat that is no more: seats are never freed (sched/seat.hpp). A seat that has
// changed hands is right as well: the next M takes over what is biased to it, and its holds is as good.
//
// 2 may come long after d when the M stood still after 1; it is undone in 4, and nobody else writes that
// seat.
//
// Where there is one P a lock is biased to its maker's M as soon as it is made, before anybody else knows of it:
// most channels have no other user there, and many do not live for long. When that was wrong (a thread of its
// own answered), the M's next locks are not, for a while. When else: csp/policy/bias.hpp.
//
// Model: tests/models/biased.pml. Stress: tests/csp/biased_lock_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/base/atom.hpp>
#include <leat/base/mutex.hpp>
#include <leat/csp/policy/bias.hpp>
#include <leat/sched/barrier.hpp>
#include <leat/sched/entered.hpp>

namespace leat::csp {

using sched::seat;

// The seat of the calling M, null on any other thread. It depends on the thread alone, so that it is good
// outside the runtime too, until the G parks.
inline seat* seat_of(const sched::entrance& in) noexcept { return in.m ? in.m->locks : nullptr; }
inline seat* seat_here() noexcept {
  sched::m_front* const m = sched::current_front();
  return m ? m->locks : nullptr;
}

class LEAT_CAPABILITY("spinlock") biased_lock {
 public:
  explicit biased_lock(lock_rank rank = lock_rank::channel) noexcept : thin_(rank) {}

  // `mine` is the caller's seat.
  void lock(seat* mine) noexcept LEAT_ACQUIRE() {
    if (!lock_by_bias(mine)) lock_thin(mine, manner::plain);
  }
  void lock() noexcept LEAT_ACQUIRE() { lock(seat_here()); }
  // As ranked_spinlock::lock_standing_back.
  [[gnu::always_inline]] void lock_standing_back(seat* mine) noexcept LEAT_ACQUIRE() {
    if (!lock_by_bias(mine)) lock_thin(mine, manner::standing_back);
  }
  // For one who only looks at what is there: it revokes, but does not keep the lock from being biased again.
  void lock_to_look() noexcept LEAT_ACQUIRE() {
    if (!lock_by_bias(seat_here())) lock_thin(nullptr, manner::look);
  }
  [[gnu::always_inline]] void unlock() noexcept LEAT_RELEASE() LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (by_ == right::bias) [[likely]]
      last_->holds.store(nullptr, std::memory_order_release);
    else
      unlock_slowly();
  }

  // For its maker, before others know of it.
  void bias_if_alone() noexcept;

  // For tests: out of date when it returns, unless the caller alone uses the lock.
  bool is_biased() const noexcept { return bias_.load(std::memory_order_relaxed) != nullptr; }
  const void* address() const noexcept { return &thin_; }  // as debug checks know it

 private:
  // Steps 1 to 4, but for `by`; `named` is the caller's seat as bias has it.
  [[gnu::always_inline]] bool take_by_bias(seat* mine, const seat* named) noexcept {
    if (bias_.load(std::memory_order_relaxed) != named) return false;
    // What a user's move constructor does under another channel's lock must not let go of that one.
    if (mine->holds.load(std::memory_order_relaxed)) [[unlikely]]
      return false;
    mine->holds.store(this, std::memory_order_release);
    light_barrier();
    if (bias_.load(std::memory_order_relaxed) != named) [[unlikely]] {
      mine->holds.store(nullptr, std::memory_order_release);
      return false;
    }
    return true;
  }
  [[gnu::always_inline]] bool lock_by_bias(seat* mine) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    if (!mine || !take_by_bias(mine, mine)) return false;
    by_ = right::bias;
    return true;
  }
  enum class manner : std::uint8_t { plain, standing_back, look };
  // What is biased has a membarrier on the other side (may_bias).
  static void light_barrier() noexcept {
    if constexpr (fiber::under_tsan)
      sched::full_barrier();
    else
      std::atomic_signal_fence(std::memory_order_seq_cst);
  }
  // Builds with debug checks: bias names a seat by an address that is none, so that the quick ways above
  // never fit and need not ask, and these do the same with the checks.
  seat* as_bias(seat* s) const noexcept;
  bool lock_by_bias_checked(seat* mine) noexcept;
  void unlock_slowly() noexcept LEAT_RELEASE();
  void lock_thin(seat* mine, manner how) noexcept LEAT_ACQUIRE();
  void revoke(bool by_user) noexcept;

  // Without a name of its own, of which there would be one in every channel.
  struct thin_lock final : basic_spinlock<thin_lock> {
    explicit thin_lock(lock_rank r) noexcept : its_rank(r) {}
    leat::detail::lock_info info() const noexcept { return {"channel", its_rank}; }
    const lock_rank its_rank;
  };
  // bias_checked: with debug checks.
  enum class right : std::uint8_t { thin, bias, bias_checked };

  thin_lock thin_;
  atom<seat*> bias_{nullptr};  // as_bias of it
  seat* last_ = nullptr;
  [[no_unique_address]] bias_policy policy_;  // under thin
  right by_ = right::thin;
};

class [[nodiscard]] LEAT_SCOPED_CAPABILITY look_guard {
 public:
  explicit look_guard(biased_lock& l) noexcept LEAT_ACQUIRE(l) : lock_(l) { lock_.lock_to_look(); }
  ~look_guard() LEAT_RELEASE() { lock_.unlock(); }
  look_guard(const look_guard&) = delete;
  look_guard& operator=(const look_guard&) = delete;

 private:
  biased_lock& lock_;
};

}  // namespace leat::csp
