// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/sysmon.hpp>

#include <unistd.h>
#include <algorithm>
#include <ctime>

#include <leat/base/clock.hpp>
#include <leat/base/log.hpp>
#include <leat/base/log_aside.hpp>
#include <leat/base/log_output.hpp>
#include <leat/sched/heartbeat.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/report.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/world_watch.hpp>

namespace leat::sched {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000, second = 1'000'000'000;
constexpr std::int64_t shortest_nap = 20 * us, longest_nap = 10 * ms;
constexpr int quick_rounds = 50;
constexpr std::int64_t long_run = ms / 2;  // for which another M is to watch the network meanwhile
constexpr std::int64_t cpu_sample = 4 * ms;
constexpr std::int64_t poll_every = 10 * ms;
constexpr std::int64_t trim_every = 60 * second;
constexpr unsigned trim_rounds = 5;  // stacks unused for five minutes

// 0: there is no such thread any more. The clock's number is made as the kernel has it in its interface: a pthread_t,
// which pthread_getcpuclockid wants, may be that of a thread that is gone.
std::int64_t cpu_of_thread(pid_t tid) noexcept {
  constexpr clockid_t per_thread = 4, scheduled = 2;
  const clockid_t clock = static_cast<clockid_t>(~static_cast<unsigned>(tid) << 3) | per_thread | scheduled;
  timespec used{};
  if (tid == 0 || ::clock_gettime(clock, &used) != 0) return 0;
  return static_cast<std::int64_t>(used.tv_sec) * second + used.tv_nsec;
}

}  // namespace

// Later than it should it may look at a G that computes. A G may begin its slice just after a round.
std::int64_t sysmon_lag(scheduler& s) noexcept {
  std::int64_t lag = std::clamp(s.options().slice.count() / 2, shortest_nap, longest_nap);
  if (s.quarantine().any_guarded())  // as the patrol notices runs (overrun.cpp)
    lag = std::min(lag, std::max(s.quarantine().shortest_hang() / 16, 50 * us));
  return lag;
}

// In a simulated world time is not its own, and nobody is retaken: only what no G can do for itself is left.
void sysmon::watch_world() noexcept {
  constexpr std::int64_t look_every = 100 * ms;
  constexpr std::int64_t patience = world_watch::patience / second;
  world_watch watch(real_now_ns());
  while (!s_.is_done()) {
    (void)s_.for_sysmon().wait(real_now_ns() + look_every);
    if (s_.for_sysmon().take_dump()) dump_aside(s_);
    const bool busy = s_.idle().busy_ps() != 0;
    if (!busy) look_for_deadlock(s_);
    std::uint32_t turns = 0;
    s_.ps().each([&](const P& p) { turns += p.turn.load(std::memory_order_relaxed); });
    switch (watch.look(real_now_ns(), busy, turns, now_ns())) {
      case world_watch::sight::fine: continue;
      case world_watch::sight::computes:
        log_warning("sched", "simulation: a G has computed for {} s of real time; its stack:", patience);
        break;
      case world_watch::sight::stands_still:
        log_warning(
            "sched",
            "simulation: Gs have run for {} s of real time, and the world's time stands still: does one "
            "give way in a loop until some time has passed? All of them:",
            patience);
        break;
    }
    dump_aside(s_);
  }
}

namespace {

thread_local overrun_patrol* patrol_here = nullptr;

// In a simulated world each line comes in its place, however long that takes.
bool must_not_wait_for_sink() noexcept {
  if (leat::detail::world_time.load(std::memory_order_relaxed) != 0) return false;
  if (this_is_sysmon) return true;
  const G* const g = current_g();
  return g && (g->extras & g_watches) != 0;
}

}  // namespace

void lift_before_thread() noexcept {
  if (patrol_here) patrol_here->lift();
}

void sysmon::run() noexcept {
  this_is_sysmon = true;
  leat::detail::must_not_wait_for_sink.store(must_not_wait_for_sink, std::memory_order_relaxed);
  if (s_.simulated()) {
    watch_world();
    this_is_sysmon = false;
    return;
  }
  patrol_here = &overruns_;
  std::int64_t now = now_ns();
  std::int64_t nap = shortest_nap;
  std::int64_t overruns_at = overrun_patrol::no_wish;
  int quiet = 0;
  next_trim_ = now + trim_every;
  next_trace_ =
      s_.options().trace.count() > 0 ? to_ns(saturating_add(from_ns(now), s_.options().trace)) : INT64_MAX;
  while (!s_.is_done()) {
    const std::int64_t lag = sysmon_lag(s_);
    const bool samples = now < s_.for_sysmon().watches_cpu_until();
    if (!samples && may_sleep_deeply()) {
      slept_through_ = sleep_deeply(
          std::min({overruns_at, beat_at_, leat::detail::log_is_stalled() ? now + 100 * ms : INT64_MAX}));
      nap = shortest_nap;
      quiet = 0;
    } else {
      slept_through_ = false;
      const bool all_idle = s_.idle().busy_ps() == 0;
      (void)s_.for_sysmon().wait(std::min(
          {now + (all_idle ? lag : nap), overruns_at, slice_ends_, samples ? now + cpu_sample : INT64_MAX}));
    }
    const std::int64_t last_round = now;
    now = now_ns();
    coarse_clock.store(now, std::memory_order_relaxed);
    if (s_.for_sysmon().take_dump()) dump_aside(s_);
    if (samples)
      sample_cpu(now);
    else
      sampled_ = 0;
    overruns_at = overruns_.look(now);
    beat_at_ = s_.for_sysmon().look_at_beat([now](heartbeat& b) { return b.look(now); }, INT64_MAX);
    turns_at_look_ = turns();  // 0
    idle_at_look_ = s_.idle().busy_ps() == 0;
    if (idle_at_look_) look_for_deadlock(s_);
    bool found = false;
    slice_ends_ = INT64_MAX;
    longest_run_ = 0;
    s_.ps().each([&](P& p) { found |= retake(p, now); });
    s_.idle().watch_the_rest(longest_run_ >= long_run);
    found |= look_at_timers(now);
    // Gs that wait for I/O count as waiting until they run: no deadlock is seen while they are on their way.
    // Polls are dated by the coarse clock, so those since the last round bear the time of that round.
    const std::int64_t polled = s_.polls().last();
    if (s_.io_expected() && polled < last_round && now - polled > poll_every) {
      const std::size_t before = s_.idle().queued();
      s_.polls().poll(now);
      found |= s_.idle().queued() > before;
    }
    housekeeping(now);
    quiet = found ? 0 : quiet + 1;
    if (found) {
      nap = shortest_nap;
    } else if (quiet > quick_rounds) {
      nap = std::min(nap * 2, lag);
    }
  }
  overruns_.end();
  patrol_here = nullptr;
  this_is_sysmon = false;
}

// Counts the CPU time of a thread to the G that is found on it, all of it since the last time that one was. So who
// runs for a third of the time is found in a third of the rounds, with three rounds' worth; the sums are exact, also
// beside other busy programs, and who blocks undeclared uses nothing. In a declared blocking call it is the caller's.
void sysmon::sample_cpu(std::int64_t now) noexcept {
  const bool first = sampled_ == 0;
  if (now - sampled_ < cpu_sample / 2) return;  // each thread is a call of the kernel
  sampled_ = now;
  s_.threads().each([first](M& m) {
    const std::int64_t used = cpu_of_thread(m.tid.load(std::memory_order_relaxed));
    const std::int64_t since = used - m.cpu_counted;
    if (first || since < 0) m.cpu_counted = used;  // nobody watched; another thread has taken its place
    G* g = m.cur.load(std::memory_order_relaxed);
    if (!g) g = m.caller.load(std::memory_order_relaxed);
    if (!g || first || since < us || m.hung.apart.load(std::memory_order_relaxed)) return;
    // Its memory stays; what another G has begun to use meanwhile is a sample gone astray.
    g->cpu.store(g->cpu.load(std::memory_order_relaxed) + static_cast<std::uint32_t>(since / us),
                 std::memory_order_relaxed);
    m.cpu_counted = used - since % us;
  });
}

std::uint64_t sysmon::turns() const noexcept {
  std::uint64_t sum = s_.gs_alive().left_without_p();
  s_.ps().each([&](const P& p) { sum += p.turn.load(std::memory_order_relaxed); });
  return sum;
}

// All Ps are idle, and it is calm (sysmon.hpp).
bool sysmon::may_sleep_deeply() noexcept {
  const bool calm = slept_through_ || turns_at_look_ == turns_at_nap_;
  turns_at_nap_ = turns_at_look_;
  // Work that waits for a thread has to be looked after while all Ps are idle.
  return calm && idle_at_look_ && stuck_since_ == 0 && !overruns_.suspects() &&
         !s_.quarantine().any_wanted_out();
}

// True: nobody ended it.
bool sysmon::sleep_deeply(std::int64_t at_most) noexcept {
  const std::int64_t timer = s_.ps().earliest_timer();
  const std::int64_t lag = sysmon_lag(s_);
  const std::int64_t looks_at = timer < timer_heap::no_timer - lag ? timer + lag : timer_heap::no_timer;
  const std::int64_t until = std::min({looks_at, next_trim_, next_trace_, at_most});
  s_.for_sysmon().announce_sleep(until);  // 1
  full_barrier();                         // 2
  bool called = true;
  if (s_.idle().busy_ps(std::memory_order_seq_cst) == 0 && turns() == turns_at_look_)  // 3
    called = s_.for_sysmon().wait(until);                                              // 4
  s_.for_sysmon().end_sleep();                                                         // 5
  return !called;
}

// A G that has had its slice, or sits in a declared blocking call for longer than the shortest nap, loses its P.
bool sysmon::retake(P& p, std::int64_t now) noexcept {
  if (M* m = p.m.load(std::memory_order_acquire)) s_.idle().undo_nudge(*m);
  const p_status status = p.status.load(std::memory_order_relaxed);
  if (status != p_status::running && status != p_status::syscall) return false;
  const std::uint32_t turn = p.turn.load(std::memory_order_relaxed);
  if (turn != p.seen_turn) {
    p.seen_turn = turn;
    p.seen_at = now;
    return false;
  }
  const bool queued = !p.ring.seen().empty() || p.run_next.load(std::memory_order_relaxed);
  const std::int64_t ran = now - p.seen_at;
  longest_run_ = std::max(longest_run_, ran);
  const std::int64_t limit = status == p_status::syscall ? shortest_nap : s_.options().slice.count();
  M* const m = p.m.load(std::memory_order_acquire);  // pairs with acquire_p
  if (!m) return false;
  // A G that computes goes on doing so there: not the place for the M that is to run the others.
  const int busy_cpu =
      status == p_status::running ? m->rest.last_cpu.load(std::memory_order_relaxed) : idle_set::no_cpu;
  if (ran < limit) {
    if (status == p_status::running) slice_ends_ = std::min(slice_ends_, p.seen_at + limit);
    if (queued && s_.idle().idle_ps() > 0) s_.idle().wake_if_needed(busy_cpu);
    return false;
  }
  // In user code: one that stands back, or searches, is to wake in time.
  if (status == p_status::running && !m->gate.in_runtime() && m->cur.load(std::memory_order_relaxed) &&
      !m->rest.unhurried.load(std::memory_order_relaxed)) {
    (void)set_promptness(m->tid.load(std::memory_order_relaxed), promptness::unhurried);
    m->rest.unhurried.store(true, std::memory_order_relaxed);
  }
  // Nobody would use the P: leave it where it is.
  const bool wanted = queued || s_.idle().queued() > 0 || s_.idle().idle_ps() == 0 ||
                      p.retire.load(std::memory_order_relaxed);
  if (!wanted && round_policy::is_far(p.timers.next(), now)) return false;
  if (status == p_status::running) m->yield_asked.store(turn + std::uint64_t{1}, std::memory_order_relaxed);
  if (!m->gate.try_borrow()) {
    p.seen_at = now;  // it was in the runtime, or came in: if it is the same turn, it yields there
    return true;
  }
  if (m->p.load(std::memory_order_relaxed) != &p || p.turn.load(std::memory_order_relaxed) != turn) {
    m->gate.give_back();
    return false;  // the question was for another G
  }
  m->yield_asked.store(M::nobody, std::memory_order_relaxed);
  const G* g = m->cur.load(std::memory_order_relaxed);
  if (!g) g = m->caller.load(std::memory_order_relaxed);
  p.events.add(event_kind::retaken, g ? g->id : 0);
  bump(p.count.retakes);
  if (p.status.load(std::memory_order_relaxed) != p_status::syscall)
    s_.gs_alive().add_without_p();  // a declared call is counted already
  m->old_p = &p;
  m->p.store(nullptr, std::memory_order_relaxed);
  p.m.store(nullptr, std::memory_order_relaxed);
  // From now on no P shows that its G runs.
  overruns_.begin_run(*m, now);
  m->gate.keep();
  s_.idle().hand_off_p(p, busy_cpu);
  return true;
}

// Timers of Ps whose owners compute, when no other M would come to look.
bool sysmon::look_at_timers(std::int64_t now) noexcept {
  bool found = false;
  s_.ps().each([&](P& p) {
    if (p.timers.next() > now - 100 * us) return;
    // Taken out of the heap and not yet queued, the Gs are seen by nobody: no deadlock meanwhile.
    s_.gs_alive().add_without_p();
    found |= round::run_due_timers(s_, nullptr, p);
    s_.gs_alive().remove_without_p();
  });
  return found;
}

// Where no further thread is to be had, an M that is about to sleep usually takes the P a moment later. When
// that does not happen: by now there may be one to be had (one that ends hands its P on while it still counts), or else
// it is reported.
void sysmon::look_for_waiting_work(std::int64_t now) noexcept {
  const bool at_limit = s_.threads().full_since() != 0;
  if (!at_limit && !s_.threads().starter().ever_refused()) return;
  bool stuck = s_.idle().idle_ps() > 0 && s_.idle().queued() > 0;
  s_.ps().each([&](const P& p) {
    stuck |= p.status.load(std::memory_order_relaxed) == p_status::idle && !p.ring.seen().empty();
  });
  if (!stuck) stuck_since_ = 0;
  if (!stuck) return;
  if (stuck_since_ == 0) stuck_since_ = now;
  if (s_.threads().starter().ever_refused() || !s_.threads().is_full()) s_.idle().wake_if_needed();
  if (limit_told_ || !at_limit || now - stuck_since_ < 50 * ms) return;
  limit_told_ = true;
  log_warning(
      "sched",
      "max_threads = {} reached: a P with work waits until a thread is free; raise max_threads, or find out "
      "what blocks (SIGQUIT shows all Gs)",
      s_.options().max_threads);
}

void sysmon::housekeeping(std::int64_t now) noexcept {
  if (leat::detail::log_is_stalled()) leat::detail::empty_log();
  look_for_waiting_work(now);
  if (now >= next_trim_) {
    next_trim_ = now + trim_every;
    (void)fiber::stack_pool::process_wide().trim(trim_rounds);
  }
  if (now >= next_trace_) {
    next_trace_ = to_ns(saturating_add(from_ns(now), s_.options().trace));
    fixed_text<900> line;
    append_trace(line, s_);
    log_info("sched", "{}", line.view());
  }
}

}  // namespace leat::sched
