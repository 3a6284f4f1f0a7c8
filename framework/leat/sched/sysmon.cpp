// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/sysmon.hpp>

#include <unistd.h>
#include <algorithm>

#include <leat/base/clock.hpp>
#include <leat/base/log.hpp>
#include <leat/sched/promptness.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000, second = 1'000'000'000;
constexpr std::int64_t shortest_nap = 20 * us, longest_nap = 10 * ms;
constexpr int quick_rounds = 50;
constexpr std::int64_t poll_every = 10 * ms;
constexpr std::int64_t trim_every = 60 * second;
constexpr unsigned trim_rounds = 5;  // stacks unused for five minutes

}  // namespace

void sysmon::run() noexcept {
  this_is_sysmon = true;
  std::int64_t now = now_ns();
  // A G may begin its slice just after a round: a nap is what it can have on top of it.
  const std::int64_t longest = std::clamp(s_.options_.slice.count() / 2, shortest_nap, longest_nap);
  std::int64_t nap = shortest_nap;
  std::int64_t idle_since = 0;
  std::int64_t overruns_at = overrun_patrol::no_wish;
  int quiet = 0;
  next_trim_ = now + trim_every;
  next_trace_ = now + s_.options_.trace.count();
  while (!s_.done_.load(std::memory_order_acquire)) {
    const bool all_idle = s_.busy_ps_.load(std::memory_order_seq_cst) == 0;
    if (!all_idle) idle_since = 0;
    if (all_idle && idle_since == 0) idle_since = now;
    if (all_idle && now - idle_since > second && s_.options_.trace.count() == 0 && !overruns_.suspects()) {
      // Deep sleep. A P is counted as busy before acquire_p reads the flag: one of us sees the other.
      s_.sysmon_deep_.store(true, std::memory_order_seq_cst);
      full_barrier();
      if (s_.busy_ps_.load(std::memory_order_seq_cst) == 0 && !s_.done_.load(std::memory_order_acquire))
        (void)s_.sysmon_event_.wait(std::min(next_trim_, s_.earliest_timer()));
      s_.sysmon_deep_.store(false, std::memory_order_relaxed);
      nap = shortest_nap;
      quiet = 0;
      idle_since = 0;
    } else {
      (void)s_.sysmon_event_.wait(std::min({now + (all_idle ? longest : nap), overruns_at, slice_ends_}));
    }
    const std::int64_t last_round = now;
    now = now_ns();
    s_.coarse_now_.store(now, std::memory_order_relaxed);
    if (s_.dump_asked_.exchange(false, std::memory_order_relaxed))
      s_.dump(STDERR_FILENO, scheduler::dump_by::sysmon);
    overruns_at = overruns_.look(now);
    if (s_.busy_ps_.load(std::memory_order_relaxed) == 0) s_.look_for_deadlock();
    bool found = false;
    slice_ends_ = INT64_MAX;
    s_.each_p([&](P& p) { found |= retake(p, now); });
    found |= look_at_timers(now);
    // Gs that wait for I/O count as waiting until they run: no deadlock is seen while they are on their way.
    // Polls are dated by the coarse clock, so those since the last round bear the time of that round.
    const std::int64_t polled = s_.last_poll_.load(std::memory_order_relaxed);
    if (s_.io_expected() && polled < last_round && now - polled > poll_every) {
      s_.last_poll_.store(now, std::memory_order_relaxed);
      const std::size_t before = s_.global_size_.load(std::memory_order_relaxed);
      s_.network().poll();
      found |= s_.global_size_.load(std::memory_order_relaxed) > before;
    }
    housekeeping(now);
    quiet = found ? 0 : quiet + 1;
    if (found) {
      nap = shortest_nap;
    } else if (quiet > quick_rounds) {
      nap = std::min(nap * 2, longest);
    }
  }
  overruns_.end();
  this_is_sysmon = false;
}

// A G that has had its slice, or sits in a declared blocking call for longer than a tick, loses its P.
bool sysmon::retake(P& p, std::int64_t now) noexcept {
  if (M* m = p.m.load(std::memory_order_acquire)) s_.undo_nudge(*m);
  const p_status status = p.status.load(std::memory_order_relaxed);
  if (status != p_status::running && status != p_status::syscall) return false;
  const std::uint32_t turn = p.turn.load(std::memory_order_relaxed);
  if (turn != p.seen_turn) {
    p.seen_turn = turn;
    p.seen_at = now;
    return false;
  }
  const bool queued = !p.ring.empty() || p.run_next.load(std::memory_order_relaxed);
  const std::int64_t ran = now - p.seen_at;
  const std::int64_t limit = status == p_status::syscall ? shortest_nap : s_.options_.slice.count();
  M* const m = p.m.load(std::memory_order_acquire);  // pairs with acquire_p
  if (!m) return false;
  // Its G computes there and goes on doing so: not the place for the M that is to run the others.
  const int busy_cpu = m->last_cpu.load(std::memory_order_relaxed);
  if (ran < limit) {
    if (status == p_status::running) slice_ends_ = std::min(slice_ends_, p.seen_at + limit);
    if (queued && s_.idle_ps_.load(std::memory_order_relaxed) > 0) s_.wake_if_needed(busy_cpu);
    return false;
  }
  // In user code: one that stands back, or searches, is to wake in time.
  if (status == p_status::running && !m->gate.in_runtime() && m->cur.load(std::memory_order_relaxed) &&
      !m->unhurried.load(std::memory_order_relaxed)) {
    (void)set_promptness(m->tid.load(std::memory_order_relaxed), promptness::unhurried);
    m->unhurried.store(true, std::memory_order_relaxed);
  }
  // Nobody would use the P: leave it where it is.
  const bool wanted = queued || s_.global_size_.load(std::memory_order_relaxed) > 0 ||
                      s_.idle_ps_.load(std::memory_order_relaxed) == 0 ||
                      p.retire.load(std::memory_order_relaxed);
  if (!wanted && p.timers.next() == timer_heap::no_timer) return false;
  if (status == p_status::running) m->yield_asked.store(true, std::memory_order_relaxed);
  if (!m->gate.try_borrow()) {
    p.seen_at = now;  // it was in the runtime, or came in: it yields there
    return true;
  }
  if (m->p.load(std::memory_order_relaxed) != &p || p.turn.load(std::memory_order_relaxed) != turn) {
    m->gate.give_back();
    return false;
  }
  m->yield_asked.store(false, std::memory_order_relaxed);
  const G* g = m->cur.load(std::memory_order_relaxed);
  if (!g) g = m->caller.load(std::memory_order_relaxed);
  p.events.add(event_kind::retaken, g ? g->id : 0);
  bump(p.count.retakes);
  if (p.status.load(std::memory_order_relaxed) != p_status::syscall)
    s_.without_p_.fetch_add(1, std::memory_order_relaxed);  // a declared call is counted already
  m->old_p = &p;
  m->p.store(nullptr, std::memory_order_relaxed);
  p.m.store(nullptr, std::memory_order_relaxed);
  // From now on no P shows that its G runs.
  const std::shared_ptr<overrun_guard> told = overruns_.begin_run(*m, now);
  m->gate.keep();
  s_.hand_off_p(p, busy_cpu);
  if (told) told->overran({overrun_step::insisted, m->note.g, nanoseconds::zero(), {}});
  return true;
}

// Timers of Ps whose owners compute, when no other M would come to look.
bool sysmon::look_at_timers(std::int64_t now) noexcept {
  bool found = false;
  s_.each_p([&](P& p) {
    if (p.timers.next() > now - 100 * us) return;
    // Taken out of the heap and not yet queued, the Gs are seen by nobody: no deadlock meanwhile.
    s_.without_p_.fetch_add(1, std::memory_order_seq_cst);
    found |= s_.run_due_timers(nullptr, p);
    s_.without_p_.fetch_sub(1, std::memory_order_seq_cst);
  });
  return found;
}

// At the limit an M that is about to sleep usually takes the P a moment later. Told when that does not
// happen.
void sysmon::look_at_thread_limit(std::int64_t now) noexcept {
  if (limit_told_ || s_.thread_limit_hit_.load(std::memory_order_relaxed) == 0) return;
  bool stuck =
      s_.idle_ps_.load(std::memory_order_relaxed) > 0 && s_.global_size_.load(std::memory_order_relaxed) > 0;
  s_.each_p([&](const P& p) {
    stuck |= p.status.load(std::memory_order_relaxed) == p_status::idle && !p.ring.empty();
  });
  if (!stuck) stuck_since_ = 0;
  if (stuck && stuck_since_ == 0) stuck_since_ = now;
  if (!stuck || now - stuck_since_ < 50 * ms) return;
  limit_told_ = true;
  log_warning(
      "sched",
      "max_threads = {} reached: a P with work waits until a thread is free; raise max_threads, or find out "
      "what blocks (SIGQUIT shows all Gs)",
      s_.options_.max_threads);
}

void sysmon::housekeeping(std::int64_t now) noexcept {
  look_at_thread_limit(now);
  if (now >= next_trim_) {
    next_trim_ = now + trim_every;
    (void)fiber::stack_pool::process_wide().trim(trim_rounds);
  }
  if (s_.options_.trace.count() > 0 && now >= next_trace_) {
    next_trace_ = now + s_.options_.trace.count();
    try {
      log_info("sched", "{}", s_.trace_line());
    } catch (const std::bad_alloc&) {
      // A line less.
    }
  }
}

}  // namespace leat::sched
