// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/biased_lock.hpp>

#include <leat/sched/interrupt.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::csp {
namespace {

constexpr std::uint32_t wary_for = 64;  // locks that the M makes

// Without membarrier a light barrier costs what an exchange does. Under TSan there is none, but the protocol
// is to be watched.
bool may_bias() noexcept {
  return fiber::under_tsan || sched::detail::membarrier_works.load(std::memory_order_relaxed);
}

}  // namespace

void biased_lock::bias_if_alone() noexcept {
  const sched::M* const m = sched::current_m();
  // A G with a P, and no thread of its own, will most likely use it here.
  if (!m || m->sched.procs() != 1 || m->locked_g || !m->cur.load(std::memory_order_relaxed) ||
      !m->p.load(std::memory_order_relaxed) || !may_bias())
    return;
  seat& mine = *m->locks;
  if (const std::uint32_t n = mine.wary.load(std::memory_order_relaxed)) {
    mine.wary.store(n - 1, std::memory_order_relaxed);
    return;
  }
  policy_.was_biased_when_made();
  last_ = &mine;
  bias_.store(as_bias(&mine), std::memory_order_relaxed);
}

seat* biased_lock::as_bias(seat* s) const noexcept {
  return thin_.is_checked() ? reinterpret_cast<seat*>(reinterpret_cast<std::uintptr_t>(s) ^ 1) : s;
}

bool biased_lock::lock_by_bias_checked(seat* mine) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!mine || !take_by_bias(mine, as_bias(mine))) return false;
  by_ = right::bias_checked;
  thin_.note_taken();
  return true;
}

void biased_lock::unlock_slowly() noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (by_ == right::bias_checked) {
    thin_.note_left();
    last_->holds.store(nullptr, std::memory_order_release);
  } else {
    thin_.unlock();
  }
}

void biased_lock::lock_thin(seat* mine, manner how) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (thin_.is_checked() && lock_by_bias_checked(how == manner::look ? seat_here() : mine)) return;
  if (how == manner::standing_back) {
    thin_.lock_standing_back();
  } else {
    thin_.lock();
  }
  if (bias_.load(std::memory_order_relaxed)) [[unlikely]]
    revoke(mine != nullptr);
  by_ = right::thin;
  if (how == manner::look) return;
  const bool same = mine == last_;
  last_ = mine;
  if (policy_.is_due(same) && mine && may_bias()) [[unlikely]] {
    policy_.was_biased();
    bias_.store(as_bias(mine), std::memory_order_relaxed);
  }
}

// Steps b to d, with thin held.
[[gnu::noinline]] void biased_lock::revoke(bool by_user) noexcept {
  seat& was = *as_bias(bias_.load(std::memory_order_relaxed));
  bias_.store(nullptr, std::memory_order_relaxed);
  // Who looks is outside the runtime: it must not be stopped for good while it waits here with thin in hand.
  leat::detail::count_mutex(1);
  sched::heavy_barrier();
  for (int turns = 0; was.holds.load(std::memory_order_acquire) == this; ++turns) sched::back_off(turns);
  leat::detail::count_mutex(-1);
  if (policy_.is_biased_since_made()) was.wary.store(wary_for, std::memory_order_relaxed);
  policy_.was_revoked(by_user);
}

}  // namespace leat::csp
