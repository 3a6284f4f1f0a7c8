// SPDX-License-Identifier: BSL-1.0
//
// The watch over the scheduler: a thread without a P (the one that called leat::run).
//
// It sleeps 20 us, after 50 rounds without a finding twice as long each time up to 10 ms, and for good
// when all Ps have been idle for a second; then an M that takes a P wakes it. Staying up for a second
// keeps that wake, a system call, out of programs that do a little now and then.
#pragma once
#include <cstdint>

#include <leat/sched/overrun_patrol.hpp>

namespace leat::sched {

class scheduler;
struct P;

// The calling thread is some scheduler's sysmon.
inline thread_local bool this_is_sysmon = false;

class sysmon {
 public:
  explicit sysmon(scheduler& s) : s_(s), overruns_(s) {}
  void run() noexcept;  // until the scheduler is done

 private:
  bool retake(P& p, std::int64_t now) noexcept;
  bool look_at_timers(std::int64_t now) noexcept;
  void housekeeping(std::int64_t now) noexcept;
  void look_at_thread_limit(std::int64_t now) noexcept;

  scheduler& s_;
  overrun_patrol overruns_;
  std::int64_t slice_ends_ = INT64_MAX;  // of the Gs at work, the earliest
  std::int64_t next_trim_ = 0;
  std::int64_t next_trace_ = 0;
  std::int64_t stuck_since_ = 0;  // a P has had work and no thread
  bool limit_told_ = false;
};

}  // namespace leat::sched
