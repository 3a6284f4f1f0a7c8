// SPDX-License-Identifier: BSL-1.0
//
// The end of an overrun: the G is fenced and has ended for everybody else; then its thread is settled.
// Nothing here allocates, frees, or takes a lock that is not Leat's own: whatever the G stands in may hold
// all others. One exception: if no M rests that could take its P, start_m makes a thread, which needs the heap
// (lift_before_thread in sysmon.hpp).
#include <sys/syscall.h>
#include <algorithm>
#include <atomic>
#include <cerrno>
#include <utility>

#include <leat/base/cpu.hpp>
#include <leat/base/log.hpp>
#include <leat/sched/fence.hpp>
#include <leat/sched/life.hpp>
#include <leat/sched/overrun.hpp>
#include <leat/sched/overrun_patrol.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop_state.hpp>

namespace leat::sched {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000, second = 1'000'000'000;
constexpr std::int64_t look_every = 20 * us;
constexpr std::int64_t where_within = 40 * ms;  // else the news come without a trace
// Of CPU time: what it was doing then is over, even if that was to move a value of some megabytes.
constexpr std::int64_t move_takes = 2 * ms;
constexpr std::int64_t page_within = 10 * second;  // from swap, or from a server far away
// For a place where it can be left, some microseconds apart. A loop around snprintf is in code of its own for
// a quarter of a percent of the time.
constexpr unsigned most_looks = 15'000;
constexpr unsigned later_looks = 2'000;           // when it has been searched for before
constexpr unsigned most_looks_by_asking = 2'000;  // tens of microseconds apart
constexpr std::int64_t answer_within = 10 * second;
constexpr std::int64_t silent_for_long = 50 * ms, longest_look = 200 * ms;
// The M that has got the P tries at once; on a busy machine it first has to get a CPU.
constexpr std::int64_t word_of_spare_within = 200 * ms;
constexpr std::int64_t shortest_pause = 50 * ms, longest_pause = 60 * second;

}  // namespace

// --- The fence: steps 2 to 7 ------------------------------------------------------------------------

// Step 2. What the G was doing outside the runtime when come_in was raised.
bool overrun_patrol::earlier_work_is_over(const M& m) const noexcept {
  const run_note& n = m.note;
  const pid_t tid = m.tid.load(std::memory_order_relaxed);
  const std::int64_t cpu = cpu_time_of(tid);
  if (cpu >= 0 && n.cpu_then >= 0 && cpu >= n.cpu_then + move_takes) return true;
  const thread_sight at = look_at_thread(tid);
  if (at.waits) return true;
  if (at.faults) return n.tries_since != 0 && last_look_ - n.tries_since > page_within;
  // Without a clock for threads, or a /proc to look into (there is none, or no descriptor is left for it):
  // whoever is given no time in so long sits in a call.
  return (cpu < 0 || n.cpu_then < 0 || !at.known) && last_look_ - n.since > 100 * ms;
}

// It cannot be fenced yet, perhaps never: it is tried more and more seldom.
std::int64_t overrun_patrol::resist(run_note& n, std::int64_t now, const char* why) noexcept {
  if (n.tries_since == 0) n.tries_since = now;
  const std::int64_t resisted = now - n.tries_since;
  if (resisted > second && !std::exchange(n.told, true))
    log_error("sched", "G {} is not quarantined yet: {}", n.g, why);
  return n.next_try = now + std::clamp(resisted / 8, ms, longest_look);
}

// system() waits for its child in wait4, with SIGINT and SIGQUIT ignored. On a slow machine it may come there
// only after the fence.
void overrun_patrol::restore_signals_of(const M& m) noexcept {
  if (look_at_thread(m.tid.load(std::memory_order_relaxed)).call == SYS_wait4) restore_signals();
}

namespace {

// One that loops over such operations is amid one nearly always; held, it stops before the next. What it did then
// comes before whatever follows here: by the barrier of the hold, or by another one.
bool comes_to_an_end(const atom<std::uint8_t>& count) noexcept {
  int turns = 0;
  while (count.load(std::memory_order_acquire) != 0) {  // pairs with count_no_quarantine
    if (++turns == 100) return false;
    cpu_pause();
  }
  if (turns > 0) heavy_barrier();
  return true;
}

}  // namespace

std::int64_t overrun_patrol::fence(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (!earlier_work_is_over(m)) return resist(n, now, "its thread gets no CPU time");
  const retake_gate::hold held = hold_run(m);  // 3
  if (held == retake_gate::hold::none) {
    forget(m);
    return now + look_every;
  }
  if (!comes_to_an_end(n.who->no_quarantine)) {  // 4
    m.gate.let_go(held);
    return resist(n, now, "it hangs in Leat's own code, or amid the move of a value, with what others need");
  }
  take_away(m, held, now);
  ++fenced_;
  ++untold_;
  --suspects_;
  n.done = run_note::step::fenced;
  n.next_try = 0;
  n.told = false;
  restore_signals_of(m);
  return ask(m, probe::where, now);
}

// Steps 5 and 6.
void overrun_patrol::take_away(M& m, retake_gate::hold held, std::int64_t now) noexcept {
  run_note& n = m.note;
  G& g = *n.who;
  overrun_watch& w = *g.watch.load(std::memory_order_relaxed);
  w.ran = now - n.since;
  note_length(*w.guard, w.ran);
  g.ctx.stack->set_label("a quarantined G");
  fiber::note_kept(g.ctx.stack->sanitizer_note());
  g.become(g_status::quarantined);
  g.drop = nullptr;
  runs_[runs_noted_++ % most_runs] = {m.tid.load(std::memory_order_relaxed), &g};
  s_.quarantine().out_settled(*w.guard);
  m.hung.apart.store(true, std::memory_order_relaxed);
  m.yield_asked.store(M::nobody, std::memory_order_relaxed);
  s_.threads().set_apart();
  s_.quarantine().fence();
  // Before an M is woken: what it does first is to look at these (keep_spare).
  s_.threads().note_spare(true);
  s_.threads().want_spare();
  P* const p = m.p.load(std::memory_order_relaxed);
  bool goes_on = true;
  if (p) {
    p->events.add(event_kind::retaken, n.g);
    bump(p->count.retakes);
    s_.gs_alive().add_without_p();
    m.old_p = p;
    m.p.store(nullptr, std::memory_order_relaxed);
    p->m.store(nullptr, std::memory_order_relaxed);
    m.gate.keep();
    // Also if there is nothing to run: its joiner will be.
    goes_on = s_.idle().start_m(*p, false, m.rest.last_cpu.load(std::memory_order_relaxed));
  } else {
    m.gate.let_go(held);
  }
  // A thread is gone. One that rests and one more that takes the P of the next that hangs are enough; else word
  // of whether another can be had comes from an M that tries (keep_spare), and one is woken for it, or made:
  // where the only thread there was hangs, its P is idle, and the joiner needs one anyway.
  const bool has_spare = s_.idle().idle_ms() >= 2;
  if (P* const idle = has_spare ? nullptr : s_.idle().take_p())
    goes_on = s_.idle().start_m(*idle, false, m.rest.last_cpu.load(std::memory_order_relaxed));
  // Refused by the system. Those that there are may all compute for longer than word from them is waited for. At
  // max_threads there is no word, as in keep_spare: it is the program's own limit.
  if (!goes_on && !s_.threads().is_full()) s_.threads().note_spare(false);
  n.spare_until = has_spare ? now : now + word_of_spare_within;
}

// Step 7. The G has ended for everybody else. Its memory, and what it refers to, stay as they are.
std::int64_t overrun_patrol::tell_out(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  G& g = *n.who;
  overrun_watch& w = *g.watch.load(std::memory_order_relaxed);
  n.done = run_note::step::told;
  --untold_;
  std::copy_n(m.asked.trace, m.asked.frames, w.trace);
  w.frames.store(m.asked.frames, std::memory_order_release);  // pairs with dump
  if (g.more.stop_with) g.more.stop_with->remove(g);
  s_.quarantine().remove_guarded();
  s_.gs_alive().end_foreign();  // pairs with live
  const bool last = s_.threads().spare_refused();
  if (g.join.load(std::memory_order_relaxed) != join_detached)
    life::wake_joiner(s_, nullptr,
                      g.join.exchange(join_done, std::memory_order_acq_rel));  // as in publish_end
  overrun_news news{overrun_step::quarantined, n.g, nanoseconds(w.ran), {w.trace, m.asked.frames}};
  news.last_thread = last;
  w.guard->overran(news);
  // Until now, all others waiting for it was no deadlock.
  s_.gs_alive().remove_without_p();
  if (ending_) return now;
  // The first search for a place comes at once; if it is in vain, the thread runs on at the lowest priority.
  n.pause = shortest_pause;
  if (w.fate.load(std::memory_order_relaxed) == thread_fate::back) {
    forget(m);
    return now + look_every;
  }
  return ask(m, probe::settle, now);
}

// --- The thread -------------------------------------------------------------------------------------

std::int64_t overrun_patrol::look_at_fenced(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  // Back by itself, when it came in. Its M may run others by now: the note ends here.
  const bool back =
      !m.hung.frozen.load(std::memory_order_relaxed) &&
      n.who->watch.load(std::memory_order_relaxed)->fate.load(std::memory_order_relaxed) == thread_fate::back;
  if (n.question != probe::none) {
    const probe::state a = read_answer(m);
    if (a != probe::none) return settle(m, a, now);
    if (const unsigned looks = m.asked.looks.load(std::memory_order_relaxed); looks != n.looks) {
      n.looks = looks;
      n.put_at = now;
    }
    const bool where = n.question == probe::where;
    const std::int64_t silent = now - n.put_at;
    if ((back || silent >= (where ? where_within : answer_within)) && withdraw_question(m)) {
      close_question(n);
      return where || back ? now : try_later(m, now);
    }
    // It has signals blocked, or gets no CPU time.
    if (!where && silent >= silent_for_long && !n.demoted) demote(m);
    return now + (silent < 2 * ms ? look_every : std::clamp(silent / 8, ms, longest_look));
  }
  if (n.done == run_note::step::fenced) {
    // Word of a spare thread is waited for, but not for ever: whoever would bring it may hang as well.
    if (!s_.threads().wants_spare() || now >= n.spare_until || back) return tell_out(m, now);
    return now + ms / 2;
  }
  if (back) {
    forget(m);
    return now + look_every;
  }
  if (now < n.next_try) return n.next_try;
  return ask(m, probe::settle, now);
}

namespace {

// Once per program: it is the same with the next.
void tell_refusal(int error) noexcept {
  static std::atomic<bool> told{false};
  if (error == ESRCH || told.exchange(true, std::memory_order_relaxed)) return;
  if (error == EAGAIN)
    log_error(
        "sched",
        "no more signals are queued (LimitSIGPENDING= of its unit, ulimit -i): threads of quarantined Gs are "
        "asked later where they stand");
  else
    log_error(
        "sched",
        "tgkill is refused (SystemCallFilter= of its unit, seccomp): threads of quarantined Gs are not asked "
        "where they stand, and none is stopped");
}

}  // namespace

std::int64_t overrun_patrol::ask(M& m, probe::state question, std::int64_t now) noexcept {
  run_note& n = m.note;
  m.asked.entries = n.entries;
  if (!std::exchange(n.goes_on, false)) {
    m.asked.looks.store(0, std::memory_order_relaxed);
    m.asked.still = 0;
    m.asked.most_looks = n.demoted ? later_looks : most_looks;
  }
  n.put_at = now;
  n.question = question;
  n.looks = m.asked.looks.load(std::memory_order_relaxed);
  if (question == probe::where) m.asked.frames = 0;
  const put p = put_question(m, question);
  if (p == put::done) return now + look_every;
  if (p == put::refused) tell_refusal(errno);
  close_question(n);
  if (question == probe::where) return now;  // told without a trace
  if (p == put::refused && !m.asked.no_place) n.goes_on = true;
  return try_later(m, now);
}

std::int64_t overrun_patrol::settle(M& m, probe::state answer, std::int64_t now) noexcept {
  run_note& n = m.note;
  const probe::state question = n.question;
  close_question(n);
  if (answer == probe::frozen) {
    m.hung.frozen.store(true, std::memory_order_relaxed);
    n.who->watch.load(std::memory_order_relaxed)->fate.store(thread_fate::frozen, std::memory_order_relaxed);
    s_.quarantine().freeze();
    restore_signals();  // where it stood is covered by where it stands now
  }
  if (question == probe::where) return now;  // the news go out with the next look
  if (answer == probe::left || answer == probe::frozen || answer == probe::entered) {
    // It is just coming in, or has come in.
    if (answer == probe::entered && m.gate.entries() == n.entries) return try_later(m, now);
    forget(m);
    return now + look_every;
  }
  if (m.asked.timer < 0 && !m.asked.no_place) {
    // One that stands still is given more and more time to move, as with a timer.
    n.goes_on = true;
    m.asked.most_looks = std::min(m.asked.most_looks, most_looks_by_asking);
    return n.next_try = now + (look_every << std::min(m.asked.still, 8u));
  }
  return try_later(m, now);
}

std::int64_t overrun_patrol::try_later(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (!n.demoted) demote(m);
  restore_signals_of(m);
  n.next_try = now + n.pause;
  n.pause = std::min(n.pause * 2, longest_pause);
  return n.next_try;
}

// With the M held, so that a thread that comes back knows it.
void overrun_patrol::demote(M& m) noexcept {
  run_note& n = m.note;
  if (ending_) return;
  const retake_gate::hold held = hold_run(m);
  if (held == retake_gate::hold::none) return;
  n.demoted = lowest_ = true;
  const pid_t tid = m.tid.load(std::memory_order_relaxed);
  m.hung.former = class_of(tid);
  m.hung.demoted.store(make_idle_class(tid), std::memory_order_relaxed);
  if (gives_ != share::spare) give(m, gives_);
  m.gate.let_go(held);
}

void overrun_patrol::close_question(run_note& n) noexcept { n.question = probe::none; }

}  // namespace leat::sched
