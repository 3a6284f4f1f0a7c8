// SPDX-License-Identifier: BSL-1.0
//
// One round of scheduling: where the next G comes from, and where a readied one goes.
#include <algorithm>

#include <leat/base/clock.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/life.hpp>
#include <leat/sched/next_local.hpp>
#include <leat/sched/pause_point.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>
#include <leat/sched/world.hpp>

namespace leat::sched {

M* scheduler::enter_slow(M* m) noexcept {
  if (m->gate.enter_slow() == retake_gate::entry::lost) return life::rejoin(m);
  if (world* const w = m->sched.simulated()) [[unlikely]] {
    m->gate.arm();
    return w->gives_way(*m) ? round::requeue(m) : m;
  }
  const std::uint64_t asked = m->yield_asked.load(std::memory_order_relaxed);
  if (asked == M::nobody) return m;
  m->yield_asked.store(M::nobody, std::memory_order_relaxed);
  const P* const p = m->p.load(std::memory_order_relaxed);
  const bool is_meant =
      asked == M::anybody || (p && p->turn.load(std::memory_order_relaxed) + std::uint64_t{1} == asked);
  return is_meant ? round::requeue(m) : m;
}

M* scheduler::pass(M* m) noexcept { return m->gate.pass() == retake_gate::entry::lost ? life::rejoin(m) : m; }

// --- Where a runnable G goes ------------------------------------------------------------------------

void round::push_local(scheduler& s, P& p, G* g, idle_set::from as) noexcept {
  if (p.ring.push(g)) [[likely]] {
    // Alone, this P is the only one and busy: there is nobody to wake.
    if (p.shared.load(std::memory_order_relaxed)) s.idle().wake_after_push(p);
    return;
  }
  // Half of the ring and the new one go to the global queue in one batch.
  g_queue batch;
  const std::uint32_t n = p.ring.spill_half([&](G* x) { batch.push_back(x); });
  if (n == 0 && p.ring.push(g)) return s.idle().wake_if_needed();  // thieves made room meanwhile
  batch.push_back(g);
  bump(p.count.overflows);
  p.events.add(event_kind::overflowed, g->id, 0, n + 1);
  s.idle().push_batch(std::move(batch), as);
  s.idle().wake_if_needed();
}

[[gnu::noinline]] void round::assess_theft(P& p) noexcept { p.hand_off.assess(now_ns()); }

namespace {

[[gnu::noinline]] void wake_for_hand_off(scheduler& s, P& p) noexcept {
  if (s.idle().anybody_searches()) return;
  p.hand_off.woke();
  s.idle().wake_one();
}

// A G readied by the running one runs next on the same P; who else is woken for it says policy/hand_off.hpp.
[[gnu::always_inline]] inline void hand_off(scheduler& s, P& p, G* g) noexcept {
  G* const old = p.run_next.load(std::memory_order_relaxed);
  p.run_next.store(g, std::memory_order_relaxed);
  if (old) [[unlikely]]
    return round::push_local(s, p, old, idle_set::from::wakes);
  if (p.hand_off.may_wake() && s.idle().idle_ps() != 0) [[unlikely]]
    wake_for_hand_off(s, p);
}

[[gnu::noinline]] void ready_without_p(scheduler& s, G* g) noexcept {
  M* const here = current_m();
  if (!here || !here->collects) return s.idle().push(g);
  here->polled.push_back(g);
}

}  // namespace

[[gnu::always_inline]] inline void scheduler::ready_here(M* m, G* g) noexcept {
  g->become(g_status::runnable);
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) [[unlikely]]
    return ready_without_p(*this, g);
  // It runs next, as a rule. Its stack is the caller's business, who may know where that is before the G is
  // at hand.
  __builtin_prefetch(g->closure);
  __builtin_prefetch(&g->ctx);
  bump(p->count.readies);
  p->events.add(event_kind::readied, g->id);
  hand_off(*this, *p, g);
}

void scheduler::ready(M* m, G* g) noexcept {
  prefetch_stack(g->ctx);
  ready_here(m, g);
}

void make_ready(m_front* m, G* g) noexcept {
  if (m) [[likely]]
    return m->sched.ready_here(whole(m), g);
  // None: the runtime has ended, and given up the G with it.
  if (scheduler* const s = scheduler::current()) s->ready(nullptr, g);
}

namespace {
// Apart, so that the quick way keeps nothing across a call.
[[gnu::noinline]] void end_wait_slowly_and_make_ready(m_front* m, G* g) noexcept {
  end_wait_of(m, *g);
  make_ready(m, g);
}
}  // namespace

void end_wait_and_make_ready(m_front* m, G* g) noexcept {
  if (!m || !end_wait_at_once(m->gate, *g)) [[unlikely]]
    return end_wait_slowly_and_make_ready(m, g);
  m->sched.ready_here(whole(m), g);
}

void scheduler::submit(M* m, G* g) noexcept {
  g->become(g_status::runnable);
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) {
    if (m) gs_alive_.begin_foreign();
    return idle_.push(g);
  }
  bump(p->count.spawned);
  p->events.add(event_kind::created, g->id);
  round::push_local(*this, *p, g, idle_set::from::spawns);
}

bool scheduler::admit_foreign_g() noexcept {
  lock_guard hold(ending_);
  if (stopping() || done_.load(std::memory_order_relaxed)) return false;
  gs_alive_.begin_foreign();
  return true;
}

// --- Where the next G comes from --------------------------------------------------------------------

bool round::is_special(P& p, scheduler& s) noexcept {
  const round_policy::kind kind = p.round.next(s.idle().queued() > 0);
  if (kind == round_policy::kind::takes_global) {
    p.fair_turn = true;
    return true;
  }
  if (kind != round_policy::kind::looks_at_timers) return false;
  if (s.idle().queued_due() > 0) return true;
  const std::int64_t due = p.timers.next();
  if (due == timer_heap::no_timer) return false;
  if (round_policy::is_far(due, s.coarse_now()) && p.round.trusts_coarse()) return false;
  const std::int64_t now = now_ns();
  coarse_clock.store(now, std::memory_order_relaxed);
  return due <= now;
}

namespace {

G* take_global(M& m, P& p, bool one) noexcept {
  scheduler& s = m.sched;
  if (s.idle().queued() == 0) return nullptr;
  const std::size_t most = m.fetch.most<std::size_t>(one ? 1 : p.ring.capacity() / 2);
  std::uint32_t n = 0;
  G* const first = s.idle().take(p, most, one, s.coarse_now(), n);
  if (!first) return nullptr;
  round::note_fetched(m, p, n);
  p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  p.events.add(event_kind::took_global, first->id, 0, n);
  return first;
}

G* found(M& m, G* g) noexcept {
  m.sched.idle().found_work(m);
  return g;
}

int spin_limit(const scheduler& s) noexcept {
  if (s.options().spinning) return static_cast<int>(std::min(*s.options().spinning, s.procs()));
  const int busy = static_cast<int>(s.procs()) - s.idle().idle_ps();
  return std::max(1, busy / 2);
}

}  // namespace

G* round::find_runnable(M& m) noexcept {
  scheduler& s = m.sched;
  bool once_more = false;  // came back from the last look: one pass even if spinning is not allowed
  for (;;) {
    P& p = *m.p.load(std::memory_order_relaxed);
    if (p.attention.load(std::memory_order_relaxed)) [[unlikely]] {
      (void)p.attention.exchange(false, std::memory_order_acq_rel);  // pairs with set_procs
      // Release pairs with steal: the last pop without a CAS is over before the first thief comes.
      if (s.ps().made() > 1 && !p.shared.load(std::memory_order_relaxed)) {
        p.ring.let_thieves_in();
        p.shared.store(true, std::memory_order_release);
      }
      if (p.retire.load(std::memory_order_acquire) && retire_p(m, p)) return nullptr;
    }
    if (s.is_done()) {
      s.idle().stop_searching(m);
      s.idle().release_p(m);
      return nullptr;
    }
    if (world* const w = s.simulated()) [[unlikely]] {
      m.gate.arm();
      p.attention.store(true, std::memory_order_relaxed);
      if (G* const g = w->next(m, p)) return found(m, g);
      p.attention.store(false, std::memory_order_relaxed);  // nobody can run: as in any runtime
    }
    if (s.idle().queued_due() > 0 || !round_policy::is_far(p.timers.next(), s.coarse_now()))
      run_due_timers(s, &m, p);
    if (m.picked) {
      G* g = m.picked;
      m.picked = nullptr;
      return found(m, g);
    }
    if (p.fair_turn) {
      p.fair_turn = false;
      if (G* g = take_global(m, p, true)) return found(m, g);
    }
    if (G* g = next_local(m, p)) return found(m, g);
    if (m.picked || p.fair_turn || p.attention.load(std::memory_order_relaxed)) continue;
    if (p.ring.empty()) s.idle().end_burst(p);
    if (m.fetch.is_to_assess() && p.ring.empty() && stand_back(m, p)) continue;
    if (G* g = take_global(m, p, false)) return found(m, g);
    if (s.io_expected()) {
      poll(m);
      if (take_polled(m, p)) {
        // All else was looked at just before.
        if (!s.simulated()) [[likely]]
          if (G* const g = next_local(m, p)) return found(m, g);
        continue;
      }
    }
    const int passes = s.idle().try_spin(m, spin_limit(s)) ? 4 : (m.searching || once_more ? 1 : 0);
    once_more = false;
    if (passes > 0)
      if (G* g = steal(m, p, passes)) return found(m, g);
    if (m.picked) continue;
    if (!p.ring.empty() || p.run_next.load(std::memory_order_relaxed)) continue;

    // Steps a to e of the protocol in idle_set.hpp.
    if (!s.idle().give_up_p(m, p)) continue;
    P* const back = s.idle().last_look(m);
    if (!back) return nullptr;
    acquire_p(m, *back);
    once_more = true;
  }
}

// --- Switching --------------------------------------------------------------------------------------

M* scheduler::park(M* m, wait_reason why, fiber::after_fn after, void* arg) noexcept {
  return park_here(m, *m->cur.load(std::memory_order_relaxed), why, after, arg);
}

namespace {

void queue_again(void* arg) noexcept {
  auto* const g = static_cast<G*>(arg);
  auto& on = *static_cast<M*>(g->ctx.on);
  P* const p = on.p.load(std::memory_order_relaxed);
  if (!p || !p->ring.push(g)) on.sched.idle().push(g);
}

void queue_again_and_wake(void* arg) noexcept {
  scheduler& s = static_cast<M*>(static_cast<G*>(arg)->ctx.on)->sched;
  queue_again(arg);
  // No barrier: this G was not queued before and is no new work; an M that misses it now finds it later.
  if (s.idle().idle_ps() > 0) [[unlikely]]
    s.idle().wake_if_needed();
}

}  // namespace

M* scheduler::yield(M* m, bool waking) noexcept {
  G& g = *m->cur.load(std::memory_order_relaxed);
  P& p = *m->p.load(std::memory_order_relaxed);
  if (m->locked_g) return round::requeue(m);
  // Nobody else here: g0 would only find this G again, unless others wait in the global queue.
  if (!p.run_next.load(std::memory_order_relaxed) && p.ring.empty()) {
    if (idle_.queued() == 0 && round_policy::is_far(p.timers.next(), coarse_now()) &&
        !p.attention.load(std::memory_order_relaxed)) {
      bump(p.count.yields);
      return m;
    }
    return round::requeue(m);
  }
  // The G goes to the ring only when its stack has been left; until then no thief may see it. The next
  // one is taken first, so there is room for it.
  g.become(g_status::runnable);
  bump(p.count.yields);
  if (p.hand_off.was_stolen()) [[unlikely]]
    round::assess_theft(p);
  round::switch_away(*m, &p, g, event_kind::none, 0, waking ? queue_again_and_wake : queue_again, &g);
  return static_cast<M*>(g.ctx.on);
}

M* round::requeue(M* m) noexcept {
  G& g = *m->cur.load(std::memory_order_relaxed);
  g.become(g_status::preempted);
  if (P* p = m->p.load(std::memory_order_relaxed)) {
    bump(p->count.yields);
    p->events.add(event_kind::yielded, g.id, 1);
  }
  const auto publish = [](void* arg) noexcept {
    auto* const me = static_cast<G*>(arg);
    auto& on = *static_cast<M*>(me->ctx.on);
    const bool lost_p = !on.p.load(std::memory_order_relaxed);
    me->become(g_status::runnable);
    on.sched.idle().push(me);
    if (lost_p) on.sched.leave_without_p();
  };
  // Through g0: it looks at the global queue, which a straight switch would not.
  m->cur.store(nullptr, std::memory_order_relaxed);
  fiber::switch_to(*m, g.ctx, m->self, publish, &g);
  return static_cast<M*>(g.ctx.on);
}

}  // namespace leat::sched
