// SPDX-License-Identifier: BSL-1.0
//
// The end of an overrun: a G that is taken away from its thread, or its thread from the others.
#include <algorithm>
#include <utility>

#include <leat/sched/overrun.hpp>
#include <leat/sched/overrun_patrol.hpp>
#include <leat/sched/quarantine.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>

namespace leat::sched {
namespace {

void tell_why(text_buffer& to, const G& g, std::int64_t ran) noexcept {
  to.format("G {} '{}' was quarantined: it had run for {} ms without entering the runtime", g.id, g.name,
            ran / 1'000'000);
}
std::exception_ptr failure_of(const text_buffer& why) {
  return std::make_exception_ptr(quarantined(std::string(why.view())));
}

}  // namespace

// While the thread still runs: after it has been frozen, perhaps with malloc's lock, nothing is allocated
// (quarantine.hpp). False: it has come in.
bool overrun_patrol::prepare_freezing(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  const retake_gate::hold held = hold_run(m);
  if (held == retake_gate::hold::none) return false;
  fixed_text<160> why;
  tell_why(why, *n.who, now - n.since);
  if (P* const p = m.p.load(std::memory_order_relaxed)) {
    p->events.add(event_kind::retaken, n.g);
    bump(p->count.retakes);
    s_.without_p_.fetch_add(1, std::memory_order_relaxed);
    m.yield_asked.store(false, std::memory_order_relaxed);
    m.old_p = p;
    m.p.store(nullptr, std::memory_order_relaxed);
    p->m.store(nullptr, std::memory_order_relaxed);
    m.gate.keep();
    // Also if there is nothing to run: its joiner will be.
    (void)s_.start_m(*p, false, m.last_cpu.load(std::memory_order_relaxed));
  } else {
    m.gate.let_go(held);
  }
  n.failure = failure_of(why);
  return true;
}

// The thread will not come back. Its P has gone to another (prepare_freezing), unless all threads were in
// use.
void overrun_patrol::replace_frozen(M& m) noexcept {
  m.frozen.store(true, std::memory_order_relaxed);
  {
    lock_guard hold(s_.lock_);
    --s_.live_ms_;
  }
  s_.without_p_.fetch_sub(1, std::memory_order_seq_cst);
  if (s_.idle_ps_.load(std::memory_order_seq_cst) > 0 && s_.work_visible(nullptr, true)) s_.wake_if_needed();
}

// The G has ended for everybody else. Its memory, and what it refers to, stay as they are.
void overrun_patrol::bury(M& m, std::int64_t now) noexcept {
  run_note& n = m.note;
  G& g = *n.who;
  overrun_watch& w = *g.watch.load(std::memory_order_relaxed);
  const bool frozen = m.asked.answer == summons::frozen;
  const std::int64_t ran = now - n.since;
  std::copy_n(m.asked.trace, m.asked.frames, w.trace);
  w.frames = m.asked.frames;
  const std::shared_ptr<overrun_guard> told = frozen ? w.guard : std::move(w.guard);
  note_length(*told, ran);
  if (frozen) replace_frozen(m);
  g.ctx.stack->set_label("a quarantined G");
  g.become(g_status::quarantined);
  if (g.extras & g_has_stop_source) leave_stop_source(g);
  g.drop = nullptr;
  s_.quarantined_.fetch_add(1, std::memory_order_relaxed);
  if (frozen) s_.frozen_.fetch_add(1, std::memory_order_relaxed);
  s_.guarded_.fetch_sub(1, std::memory_order_relaxed);
  s_.foreign_finished_.fetch_add(1, std::memory_order_release);  // pairs with live
  if (g.join.load(std::memory_order_relaxed) != join_detached) {
    if (!n.failure) {
      fixed_text<160> why;
      tell_why(why, g, ran);
      n.failure = failure_of(why);
    }
    g.fail(std::move(n.failure));
    s_.wake_joiner(nullptr, g.join.exchange(join_done, std::memory_order_acq_rel));  // as in publish_end
  }
  forget(m);
  told->overran({frozen ? overrun_step::frozen : overrun_step::quarantined,
                 n.g,
                 nanoseconds(ran),
                 {w.trace, w.frames}});
}

}  // namespace leat::sched
