// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/settled_lock.hpp>

#include <algorithm>

#include <leat/sched/interrupt.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::csp {
namespace {

constexpr std::uint8_t most_patience = 20, most_patience_with_others = 12;  // binary logarithms

// Without membarrier a light barrier costs what an exchange does. Under TSan there is none, but the protocol
// is to be watched.
bool may_settle() noexcept {
  return fiber::under_tsan || sched::detail::membarrier_works.load(std::memory_order_relaxed);
}

}  // namespace

void settled_lock::settle_if_alone() noexcept {
  const sched::M* const m = sched::current_m();
  if (!m || m->sched.procs() != 1 || !may_settle()) return;
  last_ = m->locks;
  home_.store(as_home(m->locks), std::memory_order_relaxed);
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
  const seat& was = *as_home(home_.load(std::memory_order_relaxed));
  home_.store(nullptr, std::memory_order_relaxed);
  // Who looks is outside the runtime: it must not be stopped for good while it waits here with thin in hand.
  leat::detail::count_mutex(1);
  sched::heavy_barrier();
  for (int turns = 0; was.holds.load(std::memory_order_acquire) == this; ++turns) sched::back_off(turns);
  leat::detail::count_mutex(-1);
  if (by_user) {
    patience_ = std::min(static_cast<std::uint8_t>(patience_ + 4), most_patience);
  } else if (patience_ < most_patience_with_others) {
    ++patience_;
  }
}

}  // namespace leat::csp
