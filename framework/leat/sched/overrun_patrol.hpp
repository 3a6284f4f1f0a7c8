// SPDX-License-Identifier: BSL-1.0
//
// sysmon's watch over guarded Gs (overrun.hpp says what happens to them).
//
// A run is the time from when a G leaves the runtime to when it comes in again. To time one costs the G
// nothing: the patrol holds the M in user code for a moment (retake_gate.hpp), notes the number of entries,
// and lets it go. As long as that number is the same, it is the same run. What it cannot see is a G that uses
// one-to-one channels, which need not come in; so from the first suspicion all channels are told to
// (entered.hpp, come_in), and the time counts from then.
//
// How long the longest run was (overrun_guard::longest_run) is noted on the way, with the M held: from the
// look that marked it, or from when time counts, to the last look at it. So it is short by a notice at each
// end and by the suspicion, overrun_guard::run_blur together.
#pragma once
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
  std::shared_ptr<overrun_guard> begin_run(M& m, std::int64_t now) noexcept;
  // Some G is in a run that may become too long: time must be kept.
  bool suspects() const noexcept { return suspects_ > 0; }
  // Withdraws all questions; those that have been answered are settled.
  void end() noexcept;

 private:
  std::int64_t look_at(M& m, std::int64_t now) noexcept;
  std::int64_t mark(M& m, std::int64_t now) noexcept;
  std::int64_t escalate(M& m, std::int64_t now) noexcept;
  std::int64_t ask(M& m, summons::state question, std::int64_t now) noexcept;
  std::int64_t settle(M& m, summons::state answer, std::int64_t now) noexcept;
  void close_question(run_note& n) noexcept;
  void forget(M& m) noexcept;
  retake_gate::hold hold_run(M& m) noexcept;
  bool prepare_freezing(M& m, std::int64_t now) noexcept;
  template <class F>
  bool tell(M& m, overrun_step step, std::int64_t now, F f) noexcept;
  bool raise(M& m, stop_level level, std::int64_t now) noexcept;
  void note_length(M& m, std::int64_t now) noexcept;
  static void note_length(overrun_guard& guard, std::int64_t ran) noexcept;
  void bury(M& m, std::int64_t now) noexcept;
  void replace_frozen(M& m) noexcept;
  void give_up(M& m, const char* why) noexcept;

  scheduler& s_;
  int suspects_ = 0;
  unsigned asked_to_go_ = 0;  // questions that may end in a quarantine
  std::int64_t last_look_ = 0;
  bool limit_told_ = false;
};

}  // namespace leat::sched
