// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/settled_lock.hpp>

#include <algorithm>

#include <leat/sched/interrupt.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::csp {
namespace {

// Binary logarithms. The first is that of a lock that settled when it was made; the one who comes to it makes
// it the usual one.
constexpr std::uint8_t first_patience = 4, step = 4, most_patience = 20, most_patience_with_others = 12;
constexpr std::uint32_t wary_for = 64;

// Without membarrier a light barrier costs what an exchange does. Under TSan there is none, but the protocol
// is to be watched.
bool may_settle() noexcept {
  return fiber::under_tsan || sched::detail::membarrier_works.load(std::memory_order_relaxed);
}

}  // namespace

void settled_lock::settle_if_alone() noexcept {
  const sched::M* const m = sched::current_m();
  // A G with a P, and no thread of its own, will most likely use it here.
  if (!m || m->sched.procs() != 1 || m->locked_g || !m->cur.load(std::memory_order_relaxed) ||
      !m->p.load(std::memory_order_relaxed) || !may_settle())
    return;
  seat& mine = *m->locks;
  if (const std::uint32_t n = mine.wary.load(std::memory_order_relaxed)) {
    mine.wary.store(n - 1, std::memory_order_relaxed);
    return;
  }
  patience_ = first_patience;
  last_ = &mine;
  home_.store(as_home(&mine), std::memory_order_relaxed);
}

seat* settled_lock::as_home(seat* s) const noexcept {
  return thin_.is_checked() ? reinterpret_cast<seat*>(reinterpret_cast<std::uintptr_t>(s) ^ 1) : s;
}

bool settled_lock::lock_at_home_checked(seat* mine) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!mine || !take_home(mine, as_home(mine))) return false;
  by_ = right::home_checked;
  thin_.note_taken();
  return true;
}

void settled_lock::unlock_slowly() noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (by_ == right::home_checked) {
    thin_.note_left();
    last_->holds.store(nullptr, std::memory_order_release);
  } else {
    thin_.unlock();
  }
}

void settled_lock::lock_thin(seat* mine, manner how) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (thin_.is_checked() && lock_at_home_checked(how == manner::look ? seat_here() : mine)) return;
  if (how == manner::standing_back) {
    thin_.lock_standing_back();
  } else {
    thin_.lock();
  }
  if (home_.load(std::memory_order_relaxed)) [[unlikely]]
    revoke(mine != nullptr);
  by_ = right::thin;
  if (how == manner::look) return;
  if (mine != last_) {
    last_ = mine;
    in_a_row_ = 0;
  } else if (++in_a_row_ >= 1u << patience_ && mine && may_settle()) [[unlikely]] {
    in_a_row_ = 0;
    home_.store(as_home(mine), std::memory_order_relaxed);
  }
}

// Steps b to d, with thin held.
[[gnu::noinline]] void settled_lock::revoke(bool by_user) noexcept {
  seat& was = *as_home(home_.load(std::memory_order_relaxed));
  home_.store(nullptr, std::memory_order_relaxed);
  // Who looks is outside the runtime: it must not be stopped for good while it waits here with thin in hand.
  leat::detail::count_mutex(1);
  sched::heavy_barrier();
  for (int turns = 0; was.holds.load(std::memory_order_acquire) == this; ++turns) sched::back_off(turns);
  leat::detail::count_mutex(-1);
  if (patience_ == first_patience) {
    was.wary.store(wary_for, std::memory_order_relaxed);
    patience_ = usual_patience;
  } else if (by_user) {
    patience_ = std::min(static_cast<std::uint8_t>(patience_ + step), most_patience);
  } else if (patience_ < most_patience_with_others) {
    ++patience_;
  }
}

}  // namespace leat::csp
