// SPDX-License-Identifier: BSL-1.0
//
// Is another M woken for a G that the running one has readied?
//
// Such a G goes to run_next; one that was there before goes to the ring, and an M is woken for it as for any other
// (idle_set::wake_after_push). The one in run_next is usually run a moment later, when its waker parks. Waking another
// core for it costs as much as a thousand switches, and would tear a talking pair apart; not waking leaves it waiting
// when the waker goes on computing. So wakes are rationed by success: one that ended in a theft of run_next, after
// which the waker went on for longer than a wake takes, makes the next one come at once; any other doubles the
// number of hand-offs until the next. sysmon looks after what is left.
//
// For the rows pingpong, wake_busy and chan_buf at two Ps. Belongs to the owner of a P.
#pragma once
#include <cstdint>

namespace leat::sched {

class hand_off_policy {
 public:
  static constexpr std::uint32_t most_quiet = 4095;       // hand-offs
  static constexpr std::int64_t cost_of_a_wake = 15'000;  // ns

  // A G went to run_next. True: somebody may be woken for it.
  bool may_wake() noexcept {
    if (quiet_ == 0) return true;
    --quiet_;
    return false;
  }
  // Somebody was.
  void woke() noexcept {
    backoff_ = backoff_ < most_quiet ? backoff_ * 2 + 1 : most_quiet;
    quiet_ = backoff_;
  }

  // run_next was stolen. By the thief, which has borrowed the P.
  void stolen(std::int64_t now) noexcept { stolen_at_ = now; }
  // The owner's G is about to give way: is there a theft to be assessed?
  bool was_stolen() const noexcept { return stolen_at_ != 0; }
  void assess(std::int64_t now) noexcept {
    if (now - stolen_at_ > cost_of_a_wake) quiet_ = backoff_ = 0;
    stolen_at_ = 0;
  }

 private:
  std::uint32_t quiet_ = 0;    // so many more wake nobody
  std::uint32_t backoff_ = 0;  // what quiet_ began as
  std::int64_t stolen_at_ = 0;
};

}  // namespace leat::sched
