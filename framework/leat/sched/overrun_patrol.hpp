// SPDX-License-Identifier: BSL-1.0
//
// sysmon's watch over guarded Gs (overrun.hpp says what happens to them).
//
// A run is the time from when a G leaves the runtime to when it comes in again. To time one costs the G
// nothing: the patrol holds the M in user code for a moment (retake_gate.hpp), notes the number of entries,
// and lets it go. As long as that number is the same, it is the same run. What it cannot see is a G that uses
// one-to-one channels, which need not come in; so from the first suspicion all channels are told to
// (no_quarantine.hpp, come_in), and the time counts from then.
//
// How long the longest run was (overrun_guard::longest_run) is noted on the way, with the M held: from the
// look that marked it, or from when time counts, to the last look at it. So it is short by a notice at each
// end and by the suspicion, overrun_guard::run_blur together.
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <cstdint>

#include <leat/sched/m.hpp>

namespace leat::sched {

class scheduler;

class overrun_patrol {
 public:
  static constexpr std::int64_t no_wish = INT64_MAX;

  explicit overrun_patrol(scheduler& s) : s_(s) {}

  // Returns when it wants to be called again at the latest.
  std::int64_t look(std::int64_t now) noexcept;
  // Begins to time a run of the M, which the caller holds in user code.
  void begin_run(M& m, std::int64_t now) noexcept;
  // Some G is in a run that may become too long, or is not out yet: time must be kept.
  bool suspects() const noexcept { return suspects_ > 0 || untold_ > 0; }
  // Those at the lowest priority run as others do, until the next look finds that nobody waits for them.
  void lift() noexcept;
  // Withdraws all questions; those that have been answered are settled.
  void end() noexcept;

 private:
  std::int64_t look_at(M& m, std::int64_t now) noexcept;
  std::int64_t mark(M& m, std::int64_t now) noexcept;
  std::int64_t escalate(M& m, std::int64_t now) noexcept;
  void forget(M& m) noexcept;
  void stop_suspecting(run_note& n) noexcept;
  retake_gate::hold hold_run(M& m) noexcept;
  template <class F>
  bool tell(M& m, overrun_news news, std::int64_t now, F f) noexcept;
  std::int64_t raise(M& m, stop_level level, std::int64_t now) noexcept;
  std::int64_t leave_alone(M& m, std::int64_t now) noexcept;
  const char* holder_of_its_lock(M& m) const noexcept;
  void note_length(M& m, std::int64_t now) noexcept;
  static void note_length(overrun_guard& guard, std::int64_t ran) noexcept;

  // overrun_end.cpp: from the fence on
  std::int64_t fence(M& m, std::int64_t now) noexcept;
  void restore_signals_of(const M& m) noexcept;
  std::int64_t resist(run_note& n, std::int64_t now, const char* why) noexcept;
  bool earlier_work_is_over(const M& m) const noexcept;
  void take_away(M& m, retake_gate::hold held, std::int64_t now) noexcept;
  std::int64_t look_at_fenced(M& m, std::int64_t now) noexcept;
  std::int64_t ask(M& m, probe::state question, std::int64_t now) noexcept;
  std::int64_t settle(M& m, probe::state answer, std::int64_t now) noexcept;
  std::int64_t tell_out(M& m, std::int64_t now) noexcept;
  std::int64_t try_later(M& m, std::int64_t now) noexcept;
  void demote(M& m) noexcept;
  void close_question(run_note& n) noexcept;

  // overrun_lift.cpp: locks of those that run at the lowest priority
  std::int64_t lift_if_awaited(std::int64_t now) noexcept;
  static bool is_in_a_hurry() noexcept;
  static void forget_hurry() noexcept;
  bool waits_for_lock(M& m, std::int64_t now, std::int64_t& next) noexcept;
  // What those at the lowest priority get of the CPUs.
  enum class share : unsigned char {
    spare,  // what nobody else wants
    least,  // of ordinary threads
    full,   // as others
  };
  void give(share to) noexcept;
  static void give(const M& held, share to) noexcept;

  scheduler& s_;
  int suspects_ = 0;
  int fenced_ = 0;           // Ms whose note is of a G behind the fence: come_in stays up
  int untold_ = 0;           // of these, not reported yet
  std::uint32_t epoch_ = 0;  // goes up whenever come_in is raised
  std::int64_t last_look_ = 0;
  bool lowest_ = false;  // some M runs at the lowest priority, or did
  share gives_ = share::spare;
  bool ending_ = false;
  bool limit_told_ = false;
  // The last that were quarantined, by the thread they ran on then: it may run others by now, and still be the
  // holder of a mutex. Their Gs live as long as the scheduler.
  struct last_run {
    pid_t tid;
    const G* g;
  };
  static constexpr std::size_t most_runs = 64;
  last_run runs_[most_runs] = {};
  std::size_t runs_noted_ = 0;
};

}  // namespace leat::sched
