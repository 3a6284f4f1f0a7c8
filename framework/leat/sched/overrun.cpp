// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/overrun.hpp>

#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>
#include <algorithm>
#include <ctime>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/fence.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/overrun_patrol.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop_state.hpp>

namespace leat {

const char* to_string(overrun_step s) noexcept {
  constexpr const char* names[] = {"asked to stop", "insisted on", "quarantined", "left alone"};
  return names[static_cast<std::size_t>(s)];
}

overrun_guard::~overrun_guard() { delete runtime_.ready.load(std::memory_order_relaxed); }

void overrun_guard::make_ready() {
  delete runtime_.ready.exchange(new sched::overrun_watch, std::memory_order_acq_rel);
}

std::unique_ptr<sched::overrun_watch> sched::overrun_watch::with(std::shared_ptr<overrun_guard> g) {
  std::unique_ptr<overrun_watch> w(g->for_runtime().ready.exchange(nullptr, std::memory_order_acq_rel));
  if (!w) w = std::make_unique<overrun_watch>();
  w->guard = std::move(g);
  return w;
}

void overrun_guard::want_out() noexcept {
  const std::uint32_t before = runtime_.out.fetch_or(runtime_part::wanted, std::memory_order_relaxed);
  if ((before & runtime_part::wanted) != 0 || before < runtime_part::one_g) return;
  const sched::entered in;
  if (sched::scheduler* const s = sched::scheduler::current()) s->want_out();
}

void sched::throw_stopped(const G& g) {
  overrun_watch* const w = g.watch.load(std::memory_order_relaxed);
  if (w && w->guard->out_wanted() && std::exchange(w->thrown_out, true)) {
    const timespec some_looks{0, 20'000'000};
    ::nanosleep(&some_looks, nullptr);
    pass_gate();
  }
  throw stopped{};
}

namespace sched {
namespace {

constexpr std::int64_t us = 1'000, ms = 1'000'000;

// How soon a run is noticed, and then suspected. Both delay what follows.
std::int64_t notice_after(std::int64_t hang) noexcept { return std::clamp(hang / 16, 50 * us, 5 * ms); }
std::int64_t suspect_after(std::int64_t hang) noexcept { return std::clamp(hang / 16, 50 * us, 10 * ms); }
static_assert(overrun_guard::run_blur.count() == 2 * 5 * ms + 10 * ms);

constexpr std::int64_t longest_gap = 30 * ms;  // between two looks, if all is well
constexpr std::int64_t look_every = 20 * us;
constexpr std::int64_t last_chance = 1 * ms;  // from the insisting to the quarantine
constexpr int most_turns = 200;               // to hold one that passes the gate again and again

// A guess, to be looked at again with the M held: the G may be so new that its memory is not seen yet.
LEAT_UNWATCHED bool seems_guarded(const M& m) noexcept {
  const G* const g = m.cur.load(std::memory_order_relaxed);
  return g && read_unwatched(g->watch);
}

}  // namespace

std::int64_t overrun_patrol::look(std::int64_t now) noexcept {
  if (!safety::overrun || (!s_.quarantine().any_guarded() && suspects_ == 0 && fenced_ == 0)) return no_wish;
  // When this thread did not run (a debugger, a machine that was stopped or is overloaded), the others did
  // not either: that time does not count.
  const std::int64_t gap = now - last_look_;
  const std::int64_t lost = suspects_ > 0 && gap > longest_gap ? gap - longest_gap : 0;
  last_look_ = now;
  std::int64_t next = no_wish;
  s_.threads().each([&](M& m) {
    m.note.since += lost;
    m.note.put_at += lost;
    next = std::min(next, look_at(m, now));
  });
  if (lowest_) next = std::min(next, lift_if_awaited(now));
  if (s_.idle().busy_ps() > 0) next = std::min(next, now + notice_after(s_.quarantine().shortest_hang()));
  if (suspects_ == 0 && fenced_ == 0 && !s_.quarantine().any_wanted_out() && must_come_in())
    come_in.store(0, std::memory_order_relaxed);
  return next;
}

void overrun_patrol::end() noexcept {
  ending_ = true;
  forget_hurry();
  s_.threads().each([&](M& m) {
    // Nobody lifts them any more when another waits for a lock. And a program has ended when each of its
    // threads has, for which each must run, frozen or not.
    if (m.hung.demoted.load(std::memory_order_relaxed))
      (void)lift_from_idle_class(m.tid.load(std::memory_order_relaxed), m.hung.former.nice);
    // An answer takes microseconds; one that never comes keeps nobody here.
    const std::int64_t until = now_ns() + 1'000'000'000;
    while (m.note.question != probe::none && !withdraw_question(m) && now_ns() < until) {
      const probe::state a = read_answer(m);
      if (a == probe::none) continue;  // being answered
      (void)settle(m, a, now_ns());
      break;
    }
    if (m.note.valid && m.note.done == run_note::step::fenced) (void)tell_out(m, now_ns());
    forget(m);
  });
  come_in.store(0, std::memory_order_relaxed);
}

void overrun_patrol::stop_suspecting(run_note& n) noexcept {
  using step = run_note::step;
  if (n.done == step::fenced || n.done == step::told) {
    if (n.done == step::fenced) --untold_;
    --fenced_;
  } else if (n.done != step::given_up) {
    --suspects_;
  }
}

void overrun_patrol::forget(M& m) noexcept {
  run_note& n = m.note;
  close_question(n);
  if (!n.valid) return;
  n.valid = false;
  stop_suspecting(n);
}

std::int64_t overrun_patrol::look_at(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (n.valid && (n.done == run_note::step::fenced || n.done == run_note::step::told))
    return look_at_fenced(m, now);
  if (n.valid && m.gate.entries() != n.entries) forget(m);
  if (n.valid && n.counts && now >= n.next_mark) note_length(m, now);
  if (n.valid) return escalate(m, now);
  return mark(m, now);
}

std::int64_t overrun_patrol::mark(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (!seems_guarded(m) || m.hung.frozen.load(std::memory_order_relaxed)) return no_wish;
  if (now < n.next_mark) return n.next_mark;
  n.next_mark = now + notice_after(s_.quarantine().shortest_hang());
  const retake_gate::hold held = m.gate.try_hold();
  if (held == retake_gate::hold::none) return n.next_mark;  // it is inside, and well
  begin_run(m, now);
  m.gate.let_go(held);
  return n.valid && n.on_request ? escalate(m, now) : n.next_mark;
}

void overrun_patrol::begin_run(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  if (n.valid && n.entries == m.gate.entries()) return;
  G* const g = m.cur.load(std::memory_order_relaxed);
  overrun_watch* const w = g ? g->watch.load(std::memory_order_relaxed) : nullptr;
  if (!w || m.hung.frozen.load(std::memory_order_relaxed)) return;
  // It was seen with come_in raised, which has not fallen since, and has come in between: fence.hpp, 2.
  const bool came_in_since = must_come_in() && n.who == g && n.g == g->id && n.counts && n.epoch == epoch_;
  forget(m);
  n = run_note{};
  n.valid = true;
  ++suspects_;
  n.entries = m.gate.entries();
  n.who = g;
  n.g = g->id;
  n.since = now;
  n.counts = must_come_in();
  n.epoch = epoch_;
  if (n.counts) n.cpu_then = came_in_since ? 0 : cpu_time_of(m.tid.load(std::memory_order_relaxed));
  n.hang = w->guard->hang().count();
  n.grace = w->guard->grace().count();
  n.on_request = w->guard->out_wanted();
  n.next_mark = now + notice_after(n.hang);
  // It came in after it had been asked, and has not ended since.
  const bool insist = w->asked_at != 0 && !w->insisted && now - w->asked_at >= n.grace;
  w->insisted |= insist;
  if (w->asked_at != 0) n.done = w->insisted ? run_note::step::insisted : run_note::step::asked;
  if (!insist) return;
  raise_stop(*g, stop_level::insisted);
  w->guard->overran({overrun_step::insisted, n.g, nanoseconds::zero(), {}});
}

// With the M held its G lives, and the guard with it.
void overrun_patrol::note_length(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  n.next_mark = now + notice_after(n.hang);
  const retake_gate::hold held = m.gate.try_hold();
  if (held == retake_gate::hold::none) return;
  if (m.gate.entries() == n.entries) {
    overrun_guard& guard = *n.who->watch.load(std::memory_order_relaxed)->guard;
    note_length(guard, now - n.since);
    n.on_request |= guard.out_wanted();
  }
  m.gate.let_go(held);
}

void overrun_patrol::note_length(overrun_guard& guard, std::int64_t ran) noexcept {
  if (ran > guard.for_runtime().longest.load(std::memory_order_relaxed))
    guard.for_runtime().longest.store(ran, std::memory_order_relaxed);
}

// Keeps the G of the run in user code for a moment; none: it has come in.
retake_gate::hold overrun_patrol::hold_run(M& m) noexcept {
  const run_note& n = m.note;
  retake_gate::hold held = m.gate.try_hold();
  for (int turns = 0; held == retake_gate::hold::none; ++turns) {
    if (m.gate.entries() != n.entries || turns == most_turns) return held;
    back_off(turns);  // a thief is looking, or it passes: one that came in has counted that
    held = m.gate.try_hold();
  }
  if (m.gate.entries() == n.entries) return held;
  m.gate.let_go(held);
  return retake_gate::hold::none;
}

// Calls f with the G of the run held; if that says so, tells its guard of the step. False: it has come in.
template <class F>
bool overrun_patrol::tell(M& m, overrun_news news, std::int64_t now, F f) noexcept {
  run_note& n = m.note;
  const retake_gate::hold held = hold_run(m);
  if (held == retake_gate::hold::none) return false;
  overrun_watch& w = *n.who->watch.load(std::memory_order_relaxed);
  note_length(*w.guard, now - n.since);
  news.g = n.g;
  news.ran = nanoseconds(now - n.since);
  // While it is held: else it could end, and the news of that come first, as if it had ended by itself.
  if (f(*n.who, w)) w.guard->overran(news);
  m.gate.let_go(held);
  return true;
}

std::int64_t overrun_patrol::escalate(M& m, std::int64_t now) noexcept {
  using step = run_note::step;
  run_note& n = m.note;
  if (n.done == step::given_up) return no_wish;
  if (!n.counts) {
    const std::int64_t wait = n.on_request ? 0 : suspect_after(n.hang);
    if (now - n.since < wait) return n.since + wait;
    if (come_in.exchange(1, std::memory_order_relaxed) == 0) {
      heavy_barrier();
      ++epoch_;
    }
    n.counts = true;
    n.epoch = epoch_;
    n.since = now;
    n.cpu_then = cpu_time_of(m.tid.load(std::memory_order_relaxed));
  }
  if (!n.on_request) {
    std::int64_t due = n.hang;
    if (n.done == step::asked) due = n.hang + n.grace;
    if (n.done == step::insisted) due = n.hang + n.grace + last_chance;
    if (now - n.since < due) return n.since + due;
    if (n.done != step::insisted)
      return raise(m, n.done == step::asked ? stop_level::insisted : stop_level::asked, now);
  }
  if (now < n.next_try) return n.next_try;
  if (s_.quarantine().quarantined() >= s_.options().max_quarantined) return leave_alone(m, now);
  return fence(m, now);
}

// Without a signal, which would end a system call that the G may still come back from: what the kernel tells
// of it must do.
std::int64_t overrun_patrol::raise(M& m, stop_level level, std::int64_t now) noexcept {
  const bool insists = level == stop_level::insisted;
  run_note& n = m.note;
  overrun_news news{insists ? overrun_step::insisted : overrun_step::asked, n.g, {}, {}};
  if (const thread_sight at = look_at_thread(m.tid.load(std::memory_order_relaxed)); at.waits)
    news.call = name_of_call(at.call);
  const bool told = tell(m, news, now, [=](G& g, overrun_watch& w) {
    raise_stop(g, level);
    if (w.asked_at == 0) w.asked_at = now;
    w.insisted |= insists;
    return true;
  });
  if (!told) {
    forget(m);
    return now + look_every;
  }
  n.done = insists ? run_note::step::insisted : run_note::step::asked;
  return escalate(m, now);
}

std::int64_t overrun_patrol::leave_alone(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  overrun_news news{overrun_step::left_alone, n.g, {}, {}};
  news.behind = holder_of_its_lock(m);
  if (!std::exchange(limit_told_, true)) {
    if (news.behind)
      log_error(
          "sched",
          "max_quarantined = {} reached: G {} waits for a mutex that the quarantined '{}' holds, and so may "
          "others. Only a new program frees it: on_limit = \"exit\" lets systemd start one",
          s_.options().max_quarantined, n.g, news.behind);
    else
      log_error(
          "sched",
          "max_quarantined = {} reached: G {} runs on without end, and so will others; raise it, or end the "
          "program",
          s_.options().max_quarantined, n.g);
  }
  const bool stays =
      tell(m, news, now, [](G&, overrun_watch& w) { return !std::exchange(w.left_alone, true); });
  if (!stays) {
    forget(m);
    return now + look_every;
  }
  stop_suspecting(n);
  n.done = run_note::step::given_up;
  return no_wish;
}

// A thread that waits for a POSIX mutex says which one, and the mutex says whose it is. A thread that has left
// the G that locked it is still its holder. Null: nothing is said, or the holder is none of those in quarantine, or
// its thread has left several.
const char* overrun_patrol::holder_of_its_lock(M& m) const noexcept {
  const thread_sight at = look_at_thread(m.tid.load(std::memory_order_relaxed));
  if (!at.waits || at.call != SYS_futex || at.first % alignof(std::int32_t) != 0 || at.first == 0)
    return nullptr;
  // As the C library lays a mutex out: the lock word, a count, the holder's thread. It is mapped, since
  // somebody waits there.
  std::int32_t words[3] = {};
  iovec here{words, sizeof words}, there{reinterpret_cast<void*>(at.first), sizeof words};
  if (::process_vm_readv(::getpid(), &here, 1, &there, 1, 0) != static_cast<ssize_t>(sizeof words))
    return nullptr;
  const pid_t holder = words[2];
  const char* found = nullptr;
  s_.threads().each([&](const M& other) {
    if (&other == &m || other.tid.load(std::memory_order_relaxed) != holder) return;
    const G* const g = other.cur.load(std::memory_order_relaxed);
    if (g && is_fenced(*g)) found = g->name;
  });
  if (found || holder == 0) return found;
  for (std::size_t i = 0; i < std::min(runs_noted_, most_runs); ++i) {
    if (runs_[i].tid != holder) continue;
    if (found) return nullptr;
    found = runs_[i].g->name;
  }
  return found;
}

}  // namespace sched
}  // namespace leat
