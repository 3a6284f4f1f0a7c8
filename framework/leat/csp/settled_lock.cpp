// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/settled_lock.hpp>

#include <algorithm>

#include <leat/sched/interrupt.hpp>

namespace leat::csp {
namespace {

constexpr std::uint32_t most_patience = 1u << 20, most_patience_with_others = 4096;

// Without membarrier a light barrier costs what an exchange does. Under TSan there is none, but the protocol
// is to be watched.
bool may_settle() noexcept {
  return fiber::under_tsan || sched::detail::membarrier_works.load(std::memory_order_relaxed);
}

}  // namespace

void settled_lock::lock_thin(seat* mine, manner how) noexcept {
  if (how == manner::standing_back) {
    thin_.lock_standing_back();
  } else {
    thin_.lock();
  }
  if (home_.load(std::memory_order_relaxed)) [[unlikely]]
    revoke(mine != nullptr);
  by_ = nullptr;
  if (how == manner::look) return;
  if (mine != last_) {
    last_ = mine;
    in_a_row_ = 0;
  } else if (++in_a_row_ >= patience_ && mine && may_settle()) [[unlikely]] {
    in_a_row_ = 0;
    home_.store(mine, std::memory_order_relaxed);
  }
}

// Steps b to d, with thin held.
[[gnu::noinline]] void settled_lock::revoke(bool by_user) noexcept {
  const seat& was = *home_.load(std::memory_order_relaxed);
  home_.store(nullptr, std::memory_order_relaxed);
  // Who looks is outside the runtime: it must not be stopped for good while it waits here with thin in hand.
  leat::detail::count_mutex(1);
  sched::heavy_barrier();
  for (int turns = 0; was.holds.load(std::memory_order_acquire) == this; ++turns) sched::back_off(turns);
  leat::detail::count_mutex(-1);
  if (by_user) {
    patience_ = std::min(patience_ * 16, most_patience);
  } else if (patience_ < most_patience_with_others) {
    patience_ *= 2;
  }
}

}  // namespace leat::csp
