// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/overrun.hpp>

#include <algorithm>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/overrun_patrol.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop_state.hpp>

namespace leat {

const char* to_string(overrun_step s) noexcept {
  constexpr const char* names[] = {"asked to stop", "insisted on", "quarantined", "frozen", "left alone"};
  return names[static_cast<std::size_t>(s)];
}

namespace sched {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000, second = 1'000'000'000;

// How soon a run is noticed, and then suspected. Both delay what follows.
std::int64_t notice_after(std::int64_t hang) noexcept { return std::clamp(hang / 16, 50 * us, 5 * ms); }
std::int64_t suspect_after(std::int64_t hang) noexcept { return std::clamp(hang / 16, 50 * us, 10 * ms); }
static_assert(overrun_guard::run_blur.count() == 2 * 5 * ms + 10 * ms);

constexpr std::int64_t longest_gap = 30 * ms;  // between two looks, if all is well
constexpr std::int64_t look_every = 20 * us;
constexpr std::int64_t where_within = 10 * ms;  // else the news come without a trace
constexpr std::int64_t last_chance = 1 * ms;    // from the insisting to the quarantine
// For a place where it can be left, some microseconds apart. A loop around snprintf is in code of its own for
// a quarter of a percent of the time; to be frozen in between, perhaps with malloc's lock, would harm others.
constexpr unsigned most_looks = 15'000;
constexpr unsigned most_looks_by_asking = 2'000;     // tens of microseconds apart
constexpr std::int64_t answer_within = 10 * second;  // it gets no CPU, or blocks the signal

// A guess, to be looked at again with the M held: the G may be so new that its memory is not seen yet.
LEAT_UNWATCHED bool seems_guarded(const M& m) noexcept {
  const G* const g = m.cur.load(std::memory_order_relaxed);
  return g && read_unwatched(g->watch);
}

}  // namespace

std::int64_t overrun_patrol::look(std::int64_t now) noexcept {
  if (!safety::overrun || (s_.guarded_.load(std::memory_order_relaxed) == 0 && suspects_ == 0))
    return no_wish;
  // When this thread did not run (a debugger, a machine that was stopped or is overloaded), the others did
  // not either: that time does not count.
  const std::int64_t gap = now - last_look_;
  const std::int64_t lost = suspects_ > 0 && gap > longest_gap ? gap - longest_gap : 0;
  last_look_ = now;
  std::int64_t next = no_wish;
  s_.each_m([&](M& m) {
    m.note.since += lost;
    m.note.put_at += lost;
    next = std::min(next, look_at(m, now));
  });
  if (s_.busy_ps_.load(std::memory_order_relaxed) > 0)
    next = std::min(next, now + notice_after(s_.shortest_hang_.load(std::memory_order_relaxed)));
  if (suspects_ == 0 && must_come_in()) come_in.store(0, std::memory_order_relaxed);
  return next;
}

void overrun_patrol::end() noexcept {
  s_.each_m([&](M& m) {
    while (m.note.question != summons::none && !withdraw_question(m)) {
      const summons::state a = read_answer(m);
      if (a == summons::none) continue;  // being answered
      if (a == summons::left || a == summons::frozen) bury(m, now_ns());
      break;
    }
    forget(m);
  });
  come_in.store(0, std::memory_order_relaxed);
}

void overrun_patrol::close_question(run_note& n) noexcept {
  if (n.question == summons::none) return;
  if (n.question != summons::where) --asked_to_go_;
  n.question = summons::none;
  s_.without_p_.fetch_sub(1, std::memory_order_seq_cst);
}

void overrun_patrol::forget(M& m) noexcept {
  run_note& n = m.note;
  close_question(n);
  if (!n.valid) return;
  n.valid = false;
  if (n.done != run_note::step::given_up) --suspects_;
}

std::int64_t overrun_patrol::look_at(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (n.question != summons::none) {
    const summons::state a = read_answer(m);
    if (a != summons::none) return settle(m, a, now);
    if (n.question == summons::where) {
      if (now - n.put_at < where_within) return now + look_every;
      return withdraw_question(m) ? settle(m, summons::seen, now) : now + look_every;
    }
    if (const unsigned looks = m.asked.looks.load(std::memory_order_relaxed); looks != n.looks) {
      n.looks = looks;
      n.put_at = now;
    }
    if (now - n.put_at > answer_within && !n.told) {
      n.told = true;
      log_error("sched", "G {} hangs and is not quarantined: its thread gets no time, or blocks signal {}",
                n.g, quarantine_signal());
    }
    return now + (now - n.put_at < 2 * ms ? look_every : ms);
  }
  if (n.valid && m.gate.entries() != n.entries) forget(m);
  if (n.valid && n.counts && now >= n.next_mark) note_length(m, now);
  if (n.valid) return escalate(m, now);
  return mark(m, now);
}

std::int64_t overrun_patrol::mark(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (!seems_guarded(m) || m.frozen.load(std::memory_order_relaxed)) return no_wish;
  if (now < n.next_mark) return n.next_mark;
  n.next_mark = now + notice_after(s_.shortest_hang_.load(std::memory_order_relaxed));
  const retake_gate::hold held = m.gate.try_hold();
  if (held == retake_gate::hold::none) return n.next_mark;  // it is inside, and well
  const std::shared_ptr<overrun_guard> told = begin_run(m, now);
  m.gate.let_go(held);
  if (told) told->overran({overrun_step::insisted, n.g, nanoseconds::zero(), {}});
  return n.next_mark;
}

// Begins to time a run, with the M held. Not null: the G has just been insisted on, which is to be told when
// the M has been let go.
std::shared_ptr<overrun_guard> overrun_patrol::begin_run(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (n.valid && n.entries == m.gate.entries()) return nullptr;
  G* const g = m.cur.load(std::memory_order_relaxed);
  overrun_watch* const w = g ? g->watch.load(std::memory_order_relaxed) : nullptr;
  if (!w || n.question != summons::none) return nullptr;
  forget(m);
  n = run_note{};
  n.valid = true;
  ++suspects_;
  n.entries = m.gate.entries();
  n.who = g;
  n.g = g->id;
  n.since = now;
  n.counts = must_come_in();
  n.hang = w->guard->hang().count();
  n.grace = w->guard->grace().count();
  n.next_mark = now + notice_after(n.hang);
  // It came in after it had been asked, and has not ended since.
  const bool insist = w->asked_at != 0 && !w->insisted && now - w->asked_at >= n.grace;
  w->insisted |= insist;
  if (w->asked_at != 0) n.done = w->insisted ? run_note::step::insisted : run_note::step::asked;
  if (!insist) return nullptr;
  raise_stop(*g, stop_level::insisted);
  return w->guard;
}

// With the M held its G lives, and the guard with it.
void overrun_patrol::note_length(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  n.next_mark = now + notice_after(n.hang);
  const retake_gate::hold held = m.gate.try_hold();
  if (held == retake_gate::hold::none) return;
  if (m.gate.entries() == n.entries)
    note_length(*n.who->watch.load(std::memory_order_relaxed)->guard, now - n.since);
  m.gate.let_go(held);
}

void overrun_patrol::note_length(overrun_guard& guard, std::int64_t ran) noexcept {
  if (ran > guard.longest_.load(std::memory_order_relaxed))
    guard.longest_.store(ran, std::memory_order_relaxed);
}

// Keeps the G of the run in user code for a moment; none: it has come in.
retake_gate::hold overrun_patrol::hold_run(M& m) noexcept {
  const run_note& n = m.note;
  retake_gate::hold held = m.gate.try_hold();
  for (int turns = 0; held == retake_gate::hold::none; ++turns) {
    if (m.gate.in_runtime() || m.gate.entries() != n.entries) return held;
    back_off(turns);  // a thief is looking
    held = m.gate.try_hold();
  }
  if (m.gate.entries() == n.entries) return held;
  m.gate.let_go(held);
  return retake_gate::hold::none;
}

// Calls f with the G of the run held; if that says so, tells its guard of the step. False: it has come in.
template <class F>
bool overrun_patrol::tell(M& m, overrun_step step, std::int64_t now, F f) noexcept {
  run_note& n = m.note;
  const retake_gate::hold held = hold_run(m);
  if (held == retake_gate::hold::none) return false;
  overrun_watch& w = *n.who->watch.load(std::memory_order_relaxed);
  note_length(*w.guard, now - n.since);
  std::shared_ptr<overrun_guard> told;
  if (f(*n.who, w)) told = w.guard;
  // While it is held: else it could end, and the news of that come first, as if it had ended by itself.
  if (told) told->overran({step, n.g, nanoseconds(now - n.since), {m.asked.trace, m.asked.frames}});
  m.gate.let_go(held);
  return true;
}

std::int64_t overrun_patrol::escalate(M& m, std::int64_t now) noexcept {
  using step = run_note::step;
  run_note& n = m.note;
  if (n.done == step::given_up) return no_wish;
  if (!n.counts) {
    if (now - n.since < suspect_after(n.hang)) return n.since + suspect_after(n.hang);
    if (come_in.exchange(1, std::memory_order_relaxed) == 0) heavy_barrier();
    n.counts = true;
    n.since = now;
  }
  const std::int64_t ran = now - n.since;
  std::int64_t due = n.hang;
  if (n.done == step::asked) due = n.hang + n.grace;
  if (n.done == step::insisted) due = n.hang + n.grace + last_chance;
  if (ran < due) return n.since + due;
  if (n.done != step::insisted) return ask(m, summons::where, now);
  if (now < n.next_try) return n.next_try;
  const unsigned most = s_.options_.max_quarantined;
  const unsigned so_far = s_.quarantined_.load(std::memory_order_relaxed);
  if (so_far < most && so_far + asked_to_go_ >= most) return now + ms;  // those that are asked may come in
  if (so_far >= most) {
    if (!limit_told_)
      log_error(
          "sched",
          "max_quarantined = {} reached: G {} runs on without end, and so will others; raise it, or end the "
          "program",
          s_.options_.max_quarantined, n.g);
    limit_told_ = true;
    n.done = step::given_up;
    --suspects_;
    const bool stays = tell(m, overrun_step::left_alone, now,
                            [](G&, overrun_watch& w) { return !std::exchange(w.left_alone, true); });
    if (!stays) forget(m);
    return no_wish;
  }
  if (n.looks_since == 0) n.looks_since = now;
  const bool only_freeze = m.locked_g != nullptr || !can_leave();
  if (!only_freeze && !n.no_way_out) return ask(m, summons::leave, now);
  if (!n.failure && !prepare_freezing(m, now)) {
    forget(m);
    return now + look_every;
  }
  return ask(m, summons::freeze, now);
}

std::int64_t overrun_patrol::ask(M& m, summons::state question, std::int64_t now) noexcept {
  run_note& n = m.note;
  m.asked.entries = n.entries;
  m.asked.cpu_then = n.cpu_then;
  if (!std::exchange(n.goes_on, false)) {
    m.asked.looks.store(0, std::memory_order_relaxed);
    m.asked.looks_in_own_code = m.asked.still = 0;
    m.asked.most_looks = n.no_way_out ? most_looks / 4 : most_looks;  // it has been looked at before
  }
  n.put_at = now;
  n.question = question;
  n.looks = m.asked.looks.load(std::memory_order_relaxed);
  if (question != summons::where) ++asked_to_go_;
  m.asked.frames = 0;
  m.asked.cpu = -1;
  s_.without_p_.fetch_add(1, std::memory_order_seq_cst);
  const put p = put_question(m, question);
  if (p == put::done) return now + look_every;
  if (question == summons::where) return settle(m, summons::seen, now);
  if (p == put::no_signal) {
    give_up(m, "no real-time signal is free to ask its thread");
    return no_wish;
  }
  close_question(n);
  n.goes_on = true;
  if (now - n.looks_since > second && !std::exchange(n.told, true))
    log_error("sched", "G {} hangs and is not quarantined: the kernel takes no more signals (ulimit -i)",
              n.g);
  return n.next_try = now + ms;
}

std::int64_t overrun_patrol::settle(M& m, summons::state answer, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (answer == summons::left || answer == summons::frozen) {
    bury(m, now);
    return now + look_every;
  }
  close_question(n);
  if (n.cpu_then < 0) n.cpu_then = m.asked.cpu;
  if (answer == summons::seen) {
    const bool insist = n.done == run_note::step::asked;
    if (raise(m, insist ? stop_level::insisted : stop_level::asked, now)) {
      n.done = insist ? run_note::step::insisted : run_note::step::asked;
      return escalate(m, now);
    }
  } else if (answer == summons::unclean || answer == summons::locked) {
    if (answer == summons::unclean) {
      n.no_way_out |= m.asked.no_place;
      n.goes_on = !m.asked.no_place;
      if (n.goes_on) m.asked.most_looks = most_looks_by_asking;
      // One that stands still is given more and more time to move, as with a timer.
      return n.next_try = now + (n.goes_on ? look_every << std::min(m.asked.still, 8u) : 0);
    }
    n.next_try = now + ms;
    if (now - n.looks_since < second || n.told) return n.next_try;
    n.told = true;
    log_error("sched", "G {} is not quarantined: it hangs in Leat's own code, with a lock that others need",
              n.g);
    return n.next_try;
  }
  forget(m);  // it came in
  return now + look_every;
}

bool overrun_patrol::raise(M& m, stop_level level, std::int64_t now) noexcept {
  const bool insists = level == stop_level::insisted;
  return tell(m, insists ? overrun_step::insisted : overrun_step::asked, now, [=](G& g, overrun_watch& w) {
    raise_stop(g, level);
    if (w.asked_at == 0) w.asked_at = now;
    w.insisted |= insists;
    return true;
  });
}

void overrun_patrol::give_up(M& m, const char* why) noexcept {
  run_note& n = m.note;
  close_question(n);
  n.done = run_note::step::given_up;
  --suspects_;
  log_error("sched", "G {} runs on without end, it cannot be quarantined: {}", n.g, why);
}

}  // namespace sched
}  // namespace leat
