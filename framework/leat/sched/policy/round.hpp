// SPDX-License-Identifier: BSL-1.0
//
// When does a P look beyond its own ring?
//
// Every 61st round (Go's number: a prime, so that it does not fall into step with loops of the program) takes
// one G from the global queue first, so that what waits there is not starved by a ring that never runs dry.
// Every 8th looks whether a timer is due: reading the clock costs as much as a switch. The rounds between are
// only counted down.
//
// A P with nothing in its ring looks at its timers in each round. Most wait for a while: for these the coarse clock is
// good enough, which sysmon keeps while anything runs; and as sysmon may be late, every 16th of these looks reads
// the clock for them, too.
//
// For all rows: without the count each switch would look at two queues and the clock. The coarse clock is for what
// a timer somewhere in the program adds to tcp_echo: 313 instructions of 3270 at first, 15 of 3120 now.
// Belongs to the owner of a P.
#pragma once
#include <cstdint>

namespace leat::sched {

class round_policy {
 public:
  static constexpr std::uint32_t fairness = 61, timer = 8;
  static constexpr std::int64_t far = 20'000'000;  // ns; sysmon looks at the clock twice in that time
  static constexpr std::uint32_t trust = 16;       // of so many looks the last is by the clock itself

  // True: this one is quick.
  bool is_quick() noexcept { return --quick_ != 0; }

  enum class kind : std::uint8_t { plain, looks_at_timers, takes_global };
  // What one that is not quick is for. takes_global: g0 looks at the timers on the way.
  kind next(bool global_waits) noexcept {
    round_ += stretch_;
    const std::uint32_t to_timer = timer - round_ % timer, to_fairness = fairness - round_ % fairness;
    stretch_ = quick_ = to_timer < to_fairness ? to_timer : to_fairness;
    if (round_ % fairness == 0 && global_waits) return kind::takes_global;
    return round_ % timer == 0 ? kind::looks_at_timers : kind::plain;
  }
  // A timer that is due at `when` is far off by the coarse clock. Neither is negative (sched/timers.cpp).
  static bool is_far(std::int64_t when, std::int64_t coarse) noexcept { return when - coarse > far; }
  // At a look for a timer that is far: the coarse clock is good enough.
  bool trusts_coarse() const noexcept { return round_ % (timer * trust) != 0; }

 private:
  std::uint32_t quick_ = 1;
  std::uint32_t round_ = 0;    // as of the last that was not quick
  std::uint32_t stretch_ = 1;  // what quick_ began as
};

}  // namespace leat::sched
