// SPDX-License-Identifier: BSL-1.0
//
// The watch over the scheduler: a thread without a P (the one that called leat::run).
//
// # How long it sleeps between two rounds
//   a P is busy             20 us; after 50 rounds that found nothing to do twice as long each time, up to `lag`;
//                           never past the end of a slice, or what the overrun patrol asks for
//   all idle, but one was   `lag`
//   taken since the last
//   round
//   all idle, and calm      deep: until the next timer is due, and `lag`; a minute at most
// `lag` is half a slice, 10 ms at most, less where a guard has a short `hang`: so much too late it may look
// at a G that computes. While somebody wants to know who uses the CPU (sight.hpp): 4 ms at most, in every case.
//
// # Whose P it retakes
//   a G computes            after its slice; first it is asked to yield, which it does where it next enters the runtime
//   in a declared           20 us after sysmon first sees it there, in its next round; a call with work behind it gave its
//   blocking call           P away before it began (threads.cpp)
// and only if somebody would use that P, which is so if there is work in its ring or in the global queue, or a timer of its
// own that is due soon; or if no other P is idle; or if it is to go (a smaller `procs`). Retaking is `retake` in
// sysmon.cpp, by the gate of retake_gate.hpp; the P goes to another M at once (idle_set::hand_off_p). The G runs on without
// one, counted in population::without_p and timed by the overrun patrol, until it enters the runtime: then it takes an
// idle P or queues (life::rejoin).
//
// # Deep sleep
// With all Ps idle there is nothing to watch, until one of them is taken. If that happens when the next timer
// is due, as in a program that does a little each second, sysmon comes by itself a `lag` later, and nobody
// pays for it. Who takes a P at another time (the network, a plain thread) wakes sysmon, by a system call of
// some 2 us. So that programs that often do a little do not pay that each time, sysmon naps first, and goes
// deep only if no P was taken during a whole nap, or if its last deep sleep went by without a call.
//
//   sysmon                                      taker of an idle P (acquire_p)
//    0 looks: counts the turns of all Ps, then    a busy_ps_ + 1 (S), counts a turn
//      if none is busy, looks for a deadlock      b reads until_ (S); 0: goes to d
//    1 until_ = U (S)                             c U is more than `lag` away: signals
//    2 full barrier                               d runs Gs
//    3 reads busy_ps_ (S), then the turns; goes   e gives the P back: busy_ps_ - 1 (S)
//      to 5 if a P is busy, was busy in 0, or
//      has had a turn since
//    4 sleeps until U, or a signal
//    5 until_ = 0
//
// (S) are seq_cst. Forbidden: a P is busy for longer than `lag`, and sysmon sleeps on. If a comes before 3,
// sysmon sees it and does not sleep. Else 1 comes before b, and the taker reads U or a later value: 0 (sysmon
// is awake), or the U of a later sleep, before which sysmon has read busy_ps_ again. A signal that comes
// before 4 is kept by the event.
//
// Forbidden too: all Ps become idle, and sysmon sleeps without a look (0) since: what they have left behind may be a
// deadlock. A P that was taken after 0 and given back before 3 shows in its turns: a comes before e, which 3 has seen.
// So does a thread without a P that leaves population::without_p: it counts as a turn, and then reads until_, as in b.
//
// A timer that is added during the sleep needs no word: whoever takes a P for it comes by b and c.
// Model: tests/models/sysmon.pml, with the broken variants that must fail. Test: tests/sched/idle_test.cpp.
#pragma once
#include <cstdint>

#include <leat/sched/overrun_patrol.hpp>

namespace leat::sched {

class scheduler;
struct P;

// The calling thread is some scheduler's sysmon.
inline thread_local bool this_is_sysmon = false;
// Before a thread is made, which needs the heap. Who is behind a fence may be inside that, at the lowest priority, and only
// sysmon lifts it: so it must not wait there itself. Nothing on any other thread.
void lift_before_thread() noexcept;

// By how much it may be late.
std::int64_t sysmon_lag(scheduler& s) noexcept;

class sysmon {
 public:
  explicit sysmon(scheduler& s) : s_(s), overruns_(s) {}
  void run() noexcept;  // until the scheduler is done

 private:
  void watch_world() noexcept;
  std::uint64_t turns() const noexcept;  // of all Ps, and of threads that left population::without_p
  bool may_sleep_deeply() noexcept;
  bool sleep_deeply(std::int64_t at_most) noexcept;
  bool retake(P& p, std::int64_t now) noexcept;
  bool look_at_timers(std::int64_t now) noexcept;
  void sample_cpu(std::int64_t now) noexcept;
  void housekeeping(std::int64_t now) noexcept;
  void look_for_waiting_work(std::int64_t now) noexcept;

  scheduler& s_;
  overrun_patrol overruns_;
  std::int64_t slice_ends_ = INT64_MAX;  // of the Gs at work, the earliest
  std::int64_t longest_run_ = 0;         // of the Gs at work, as of this round
  std::int64_t next_trim_ = 0;
  std::int64_t beat_at_ = INT64_MAX;  // when to look at the heartbeat again
  std::int64_t next_trace_ = 0;
  std::int64_t sampled_ = 0;         // when the CPU was; 0: it is not being
  std::uint64_t turns_at_nap_ = 0;   // of all Ps, before the last sleep
  std::uint64_t turns_at_look_ = 0;  // and at the last look, step 0
  bool idle_at_look_ = false;        // no P was busy then
  bool slept_through_ = false;       // the last sleep was deep, and nobody ended it
  std::int64_t stuck_since_ = 0;     // a P has had work and no thread
  bool limit_told_ = false;
};

}  // namespace leat::sched
