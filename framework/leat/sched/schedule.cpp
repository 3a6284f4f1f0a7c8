// SPDX-License-Identifier: BSL-1.0
//
// One round of scheduling: where the next G comes from, and where a readied one goes.
#include <sched.h>
#include <algorithm>

#include <leat/base/clock.hpp>
#include <leat/base/cpu.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

constexpr std::uint32_t fairness_round = 61;  // Go's: a prime, so that it does not beat with user loops
constexpr std::uint32_t due_share = 8;        // of so many from the global queue, one is not a late sleeper
constexpr std::uint32_t timer_round = 8;      // reading the clock costs as much as a switch
constexpr std::uint32_t most_quiet_hand_offs = 4095;

// What the switch to it will read first.
void prefetch_stack(const fiber::context& c) noexcept {
  const char* const sp = static_cast<const char*>(c.sp);
  for (int line = 0; line < 4; ++line) __builtin_prefetch(sp + line * 64);
}

std::uint32_t next_random(std::uint32_t& s) noexcept {
  s ^= s << 13;
  s ^= s >> 17;
  s ^= s << 5;
  return s;
}

}  // namespace

M* scheduler::enter_slow(M* m) noexcept {
  if (m->gate.enter_slow() == retake_gate::entry::lost) return m->sched.rejoin(m);
  if (m->yield_asked.load(std::memory_order_relaxed)) {
    m->yield_asked.store(false, std::memory_order_relaxed);
    return m->sched.requeue(m);
  }
  return m;
}

// --- Where a runnable G goes ------------------------------------------------------------------------

void scheduler::push_global(G* g) noexcept {
  {
    lock_guard hold(lock_);
    global_.push_back(g);
    note_global_size_locked();
  }
  wake_if_needed();
}

void scheduler::push_local(M& m, P& p, G* g) noexcept {
  if (p.ring.push(g)) [[likely]] {
    // Alone, this P is the only one and busy: there is nobody to wake.
    if (p.shared.load(std::memory_order_relaxed)) wake_if_needed();
    return;
  }
  // Half of the ring and the new one go to the global queue in one batch.
  g_queue batch;
  const std::uint32_t n = p.ring.spill_half([&](G* x) { batch.push_back(x); });
  if (n == 0 && p.ring.push(g)) return wake_if_needed();  // thieves made room meanwhile
  batch.push_back(g);
  bump(p.count.overflows);
  p.events.add(event_kind::overflowed, g->id, 0, n + 1);
  {
    lock_guard hold(lock_);
    global_.append(std::move(batch));
    note_global_size_locked();
  }
  (void)m;
  wake_if_needed();
}

// A G readied by the running one goes to run_next and is usually run a moment later, when its waker
// parks. Waking another core for it costs thousands of times more than the switch, and would tear a
// talking pair apart; not waking leaves it waiting when the waker goes on computing. So wakes are
// rationed by success: a wake that ended in a theft of run_next makes the next one come at once, one
// that did not doubles the number of hand-offs until the next. sysmon looks after what is left.
void scheduler::hand_off(M& m, P& p, G* g) noexcept {
  G* const old = p.run_next.load(std::memory_order_relaxed);
  p.run_next.store(g, std::memory_order_relaxed);
  if (old) return push_local(m, p, old);
  if (p.quiet_hand_offs > 0) {
    --p.quiet_hand_offs;
    return;
  }
  if (idle_ps_.load(std::memory_order_relaxed) == 0 || searching_.load(std::memory_order_relaxed) != 0)
    return;
  p.hand_off_backoff = std::min(p.hand_off_backoff * 2 + 1, most_quiet_hand_offs);
  p.quiet_hand_offs = p.hand_off_backoff;
  wake_one();
}

void scheduler::ready(M* m, G* g) noexcept {
  g->become(g_status::runnable);
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) return push_global(g);
  bump(p->count.readies);
  p->events.add(event_kind::readied, g->id);
  hand_off(*m, *p, g);
}

void scheduler::submit(M* m, G* g) noexcept {
  g->become(g_status::runnable);
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) {
    foreign_spawned_.fetch_add(1, std::memory_order_relaxed);
    return push_global(g);
  }
  bump(p->count.spawned);
  p->events.add(event_kind::created, g->id);
  push_local(*m, *p, g);
}

// --- Where the next G comes from --------------------------------------------------------------------

// A round that is not quick. True: it must go through g0, for the global queue or for timers.
bool scheduler::round_is_special(P& p) noexcept {
  const std::uint32_t round = p.round += p.stretch;
  p.stretch = p.quick_rounds =
      std::min(timer_round - round % timer_round, fairness_round - round % fairness_round);
  if (round % fairness_round == 0 && global_size_.load(std::memory_order_relaxed) > 0) {
    p.fair_turn = true;
    return true;
  }
  if (round % timer_round != 0) return false;
  if (due_size_.load(std::memory_order_relaxed) > 0) return true;
  const std::int64_t due = p.timers.next();
  return due != timer_heap::no_timer && due <= now_ns();
}

// Steps 1 and 2 of a round as far as they need no g0. Null: let g0 look.
[[gnu::always_inline]] inline G* scheduler::next_local(M& m, P& p) noexcept {
  if (m.locked_g || p.attention.load(std::memory_order_relaxed)) [[unlikely]]
    return nullptr;
  if (--p.quick_rounds == 0 && round_is_special(p)) [[unlikely]]
    return nullptr;
  G* g = p.run_next.load(std::memory_order_relaxed);
  if (g) {
    // It inherits the slice: `turn` stays, and sysmon sees through pairs that live here.
    p.run_next.store(nullptr, std::memory_order_relaxed);
    p.hand_offs.store(p.hand_offs.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  } else {
    g = p.ring.pop();
    if (!g) return nullptr;
    p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  }
  // What needs more than a switch, or fails, is g0's business.
  if (g->wants_own_thread() || (!g->ctx.stack && !give_stack(m, *g))) [[unlikely]] {
    m.picked = g;
    return nullptr;
  }
  return g;
}

G* scheduler::pop_global_locked() noexcept {
  const bool others_turn = ++global_turn_ % due_share == 0 && !global_.empty();
  return due_.empty() || others_turn ? global_.pop_front() : due_.pop_front();
}

G* scheduler::take_global(M& m, P& p, bool one) noexcept {
  if (global_size_.load(std::memory_order_relaxed) == 0) return nullptr;
  G* first = nullptr;
  std::uint32_t n = 0;
  {
    lock_guard hold(lock_);
    const std::size_t len = global_.size() + due_.size();
    if (len == 0) return nullptr;
    std::size_t want = 1;
    if (!one) {
      want = std::min({len / procs() + 1, static_cast<std::size_t>(p.ring.capacity()) / 2, len});
      want = std::max<std::size_t>(want, 1);
    }
    first = pop_global_locked();
    // A G is out of the queue before it is in the ring: there thieves may take it, and its link changes
    // hands. The ring was empty, or one is asked for: there is room.
    for (n = 1; n < want && p.ring.size() < p.ring.capacity(); ++n) (void)p.ring.push(pop_global_locked());
    note_global_size_locked();
  }
  (void)m;
  p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  p.events.add(event_kind::took_global, first->id, 0, n);
  return first;
}

// Readies what is due in the heap of `of`, in the order of the deadlines: into the ring, and what finds no
// room there into due_. While due_ holds some, new ones queue behind them, and the ring is filled from there.
bool scheduler::run_due_timers(M* m, P& of) noexcept {
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  const bool backlog = p && due_size_.load(std::memory_order_relaxed) > 0;
  if (of.timers.next() == timer_heap::no_timer && !backlog) return false;
  const std::int64_t now = now_ns();
  coarse_now_.store(now, std::memory_order_relaxed);
  g_queue no_room;
  bool any = false;
  for (;;) {
    G* due[64];
    const std::size_t n = of.timers.take_due(now, due, std::size(due));
    // They have slept; their Gs and stacks are cold. Fetching all at once takes as long as fetching one.
    for (std::size_t i = 0; i < n; ++i) {
      __builtin_prefetch(&due[i]->status, 1);
      __builtin_prefetch(&due[i]->ctx);
    }
    for (std::size_t i = 0; i < n; ++i) prefetch_stack(due[i]->ctx);
    for (std::size_t i = 0; i < n; ++i) {
      due[i]->become(g_status::runnable);
      if (p) {
        bump(p->count.readies);
        p->events.add(event_kind::readied, due[i]->id);
      }
      if (!p || backlog || !no_room.empty() || !p->ring.push(due[i])) no_room.push_back(due[i]);
    }
    any |= n > 0;
    if (n < std::size(due)) break;
  }
  if (!no_room.empty() || backlog) {
    lock_guard hold(lock_);
    due_.append(std::move(no_room));
    while (p && !due_.empty() && p->ring.size() < p->ring.capacity()) (void)p->ring.push(due_.pop_front());
    note_global_size_locked();
  }
  if (any) wake_if_needed();
  return any;
}

unsigned scheduler::spin_limit() const noexcept {
  if (options_.spinning) return std::min(*options_.spinning, procs());
  const int busy = static_cast<int>(procs()) - idle_ps_.load(std::memory_order_relaxed);
  return static_cast<unsigned>(std::max(1, busy / 2));
}

bool scheduler::try_spin(M& m) noexcept {
  if (m.spinning) return true;
  const int limit = static_cast<int>(spin_limit());
  int now = spinning_.load(std::memory_order_relaxed);
  do {
    if (now >= limit) return false;
  } while (!spinning_.compare_exchange_weak(now, now + 1, std::memory_order_relaxed));
  int most = most_spinning_.load(std::memory_order_relaxed);
  while (now + 1 > most && !most_spinning_.compare_exchange_weak(most, now + 1, std::memory_order_relaxed)) {
  }
  m.spinning = true;
  if (!m.searching) {
    m.searching = true;
    searching_.fetch_add(1, std::memory_order_seq_cst);
  }
  return true;
}

// True: this was the last one that searched.
bool scheduler::stop_searching(M& m) noexcept {
  if (m.spinning) {
    m.spinning = false;
    spinning_.fetch_sub(1, std::memory_order_relaxed);
  }
  if (!m.searching) return false;
  m.searching = false;
  return searching_.fetch_sub(1, std::memory_order_seq_cst) == 1;
}

// Somebody other than `except`'s owner could use another M: queued Gs, or timers to be watched.
bool scheduler::work_visible(const P* except) const noexcept {
  if (global_size_.load(std::memory_order_acquire) > 0)
    return true;  // before the rings; pairs with note_global_size_locked
  bool seen = false;
  each_p([&](const P& p) {
    seen |= !p.ring.empty() || (&p != except && p.timers.next() != timer_heap::no_timer);
  });
  return seen || poller_->pending() > 0;
}

G* scheduler::found_work(M& m, G* g) noexcept {
  if (m.searching) [[unlikely]] {
    if (stop_searching(m)) {
      full_barrier();
      if (work_visible(m.p.load(std::memory_order_relaxed))) wake_one();
    }
  }
  return g;
}

G* scheduler::steal_run_next(P& victim) noexcept {
  const std::uint32_t seen = victim.hand_offs.load(std::memory_order_relaxed);
  // The waker is often still inside the call that woke this M: waiting for it to leave takes microseconds,
  // sleeping and being woken again takes many.
  for (int tries = 0; tries < 50; ++tries) {
    if (!victim.run_next.load(std::memory_order_relaxed)) return nullptr;
    for (int i = 0; i < 24; ++i) cpu_pause();
    // A pair that talks changes the count every few dozen ns; leave it alone.
    M* const owner = victim.m.load(std::memory_order_acquire);
    if (!owner || victim.hand_offs.load(std::memory_order_relaxed) != seen) return nullptr;
    if (owner->gate.in_runtime() || !owner->gate.try_borrow()) {
      ::sched_yield();  // the kernel may have put us on the very core the waker was on
      continue;
    }
    G* g = nullptr;
    if (owner->p.load(std::memory_order_relaxed) == &victim) {
      g = victim.run_next.load(std::memory_order_relaxed);
      victim.run_next.store(nullptr, std::memory_order_relaxed);
      victim.quiet_hand_offs = 0;
      victim.hand_off_backoff = 0;
    }
    owner->gate.give_back();
    return g;
  }
  return nullptr;
}

G* scheduler::steal(M& m, P& thief, int passes) noexcept {
  const unsigned n = all_ps_.load(std::memory_order_acquire);
  if (n < 2) return nullptr;
  for (int pass = 0; pass < passes; ++pass) {
    const bool last = pass == passes - 1;
    const unsigned start = next_random(m.random) % n;
    for (unsigned i = 0; i < n; ++i) {
      P& victim = *ps_[(start + i) % n].load(std::memory_order_acquire);
      if (&victim == &thief || !victim.shared.load(std::memory_order_acquire)) continue;
      if (last && run_due_timers(&m, victim)) {
        if (G* g = next_local(m, thief)) return g;
        if (m.picked) return nullptr;
      }
      const std::uint32_t got = victim.ring.take_half(m.loot.data(), thief.ring.capacity());
      if (got > 0) {
        for (std::uint32_t k = 1; k < got; ++k)
          if (!thief.ring.push(m.loot[k])) push_global(m.loot[k]);
        bump(thief.count.steals);
        bump(thief.count.stolen_gs, got);
        thief.events.add(event_kind::stolen, m.loot[0]->id, 0, got | victim.id << 16);
        thief.turn.store(thief.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return m.loot[0];
      }
      if (!last) continue;
      if (G* g = steal_run_next(victim)) {
        bump(thief.count.steals);
        bump(thief.count.stolen_gs);
        thief.events.add(event_kind::stolen, g->id, 1, 1 | victim.id << 16);
        return g;
      }
    }
  }
  return nullptr;
}

std::int64_t scheduler::earliest_timer() const noexcept {
  std::int64_t least = timer_heap::no_timer;
  each_p([&](const P& p) { least = std::min(least, p.timers.next()); });
  return least;
}

// On g0, holding a P. Null: the P is gone, and the M has to sleep or exit.
G* scheduler::find_runnable(M& m) noexcept {
  bool once_more = false;  // came back from the last look: one pass even if spinning is not allowed
  for (;;) {
    P& p = *m.p.load(std::memory_order_relaxed);
    if (p.attention.load(std::memory_order_relaxed)) [[unlikely]] {
      (void)p.attention.exchange(false, std::memory_order_acq_rel);  // pairs with set_procs
      // Release pairs with steal: the last pop without a CAS is over before the first thief comes.
      if (all_ps_.load(std::memory_order_relaxed) > 1 && !p.shared.load(std::memory_order_relaxed)) {
        p.ring.let_thieves_in();
        p.shared.store(true, std::memory_order_release);
      }
      if (p.retire.load(std::memory_order_acquire) && retire_p(m, p)) return nullptr;
    }
    if (done_.load(std::memory_order_acquire)) {
      stop_searching(m);
      release_p(m);
      return nullptr;
    }
    run_due_timers(&m, p);
    if (m.picked) {
      G* g = m.picked;
      m.picked = nullptr;
      return found_work(m, g);
    }
    if (p.fair_turn) {
      p.fair_turn = false;
      if (G* g = take_global(m, p, true)) return found_work(m, g);
    }
    if (G* g = next_local(m, p)) return found_work(m, g);
    if (m.picked || p.attention.load(std::memory_order_relaxed)) continue;
    if (G* g = take_global(m, p, false)) return found_work(m, g);
    if (poller_->pending() > 0) {
      last_poll_.store(coarse_now(), std::memory_order_relaxed);
      if (poller_->poll() > 0) continue;
    }
    const int passes = try_spin(m) ? 4 : (m.searching || once_more ? 1 : 0);
    once_more = false;
    if (passes > 0)
      if (G* g = steal(m, p, passes)) return found_work(m, g);
    if (m.picked) continue;
    if (!p.ring.empty_for_owner() || p.run_next.load(std::memory_order_relaxed)) continue;

    // Steps a to e of the protocol in scheduler.hpp.
    {
      lock_guard hold(lock_);
      if (global_.empty() && due_.empty() && !p.attention.load(std::memory_order_relaxed)) {
        p.m.store(nullptr, std::memory_order_relaxed);
        m.p.store(nullptr, std::memory_order_relaxed);
        push_idle_p_locked(p);
      }
    }
    if (m.p.load(std::memory_order_relaxed)) continue;
    stop_searching(m);
    full_barrier();
    bool seen = global_size_.load(std::memory_order_acquire) > 0;  // as in work_visible
    each_p([&](const P& other) { seen |= !other.ring.empty(); });
    if (!seen && earliest_timer() > now_ns()) return nullptr;
    P* back = nullptr;
    {
      lock_guard hold(lock_);
      back = pop_idle_p_locked();
    }
    if (!back) return nullptr;
    acquire_p(m, *back);
    m.searching = true;
    searching_.fetch_add(1, std::memory_order_seq_cst);
    once_more = true;
  }
}

// --- Switching --------------------------------------------------------------------------------------

// Leaves the current G for the next one: straight if there is one, else for g0.
[[gnu::always_inline]] inline void scheduler::switch_away(M& m, G& g, fiber::after_fn after,
                                                          void* arg) noexcept {
  P* const p = m.p.load(std::memory_order_relaxed);
  G* const next = p ? next_local(m, *p) : nullptr;
  m.cur.store(next, std::memory_order_relaxed);
  if (next) {
    next->become(g_status::running);
    bump(p->count.switches);
    p->events.add(event_kind::run, next->id);
  }
  fiber::switch_to(m, g.ctx, next ? next->ctx : m.self, after, arg);
}

M* scheduler::park(M* m, wait_reason why, fiber::after_fn after, void* arg) noexcept {
  G& g = *m->cur.load(std::memory_order_relaxed);
  g.reason.store(why, std::memory_order_relaxed);
  g.since.store(coarse_now(), std::memory_order_relaxed);
  g.become(g_status::waiting);
  if (P* p = m->p.load(std::memory_order_relaxed)) {
    bump(p->count.parks);
    p->events.add(event_kind::parked, g.id, static_cast<std::uint8_t>(why));
  }
  switch_away(*m, g, after, arg);
  return static_cast<M*>(g.ctx.on);
}

M* scheduler::yield(M* m) noexcept {
  G& g = *m->cur.load(std::memory_order_relaxed);
  P& p = *m->p.load(std::memory_order_relaxed);
  if (m->locked_g) return requeue(m);
  // Nobody else here: g0 would only find this G again, unless others wait in the global queue.
  if (!p.run_next.load(std::memory_order_relaxed) && p.ring.empty_for_owner()) {
    if (global_size_.load(std::memory_order_relaxed) == 0 && p.timers.next() == timer_heap::no_timer &&
        !p.attention.load(std::memory_order_relaxed)) {
      bump(p.count.switches);
      return m;
    }
    return requeue(m);
  }
  // The G goes to the ring only when its stack has been left; until then no thief may see it. The next
  // one is taken first, so there is room for it.
  g.become(g_status::runnable);
  switch_away(
      *m, g,
      [](void* arg) noexcept {
        auto* const me = static_cast<G*>(arg);
        auto& on = *static_cast<M*>(me->ctx.on);
        P* const q = on.p.load(std::memory_order_relaxed);
        if (!q || !q->ring.push(me)) return on.sched.push_global(me);
        // No barrier: this G was not queued before and is no new work; an M that misses it now finds it
        // later.
        if (on.sched.idle_ps_.load(std::memory_order_relaxed) > 0) [[unlikely]]
          on.sched.wake_if_needed();
      },
      &g);
  return static_cast<M*>(g.ctx.on);
}

// To the tail of the global queue, behind everything that was woken meanwhile.
M* scheduler::requeue(M* m) noexcept {
  G& g = *m->cur.load(std::memory_order_relaxed);
  g.become(g_status::preempted);
  if (P* p = m->p.load(std::memory_order_relaxed)) p->events.add(event_kind::yielded, g.id, 1);
  const auto publish = [](void* arg) noexcept {
    auto* const me = static_cast<G*>(arg);
    auto& on = *static_cast<M*>(me->ctx.on);
    const bool lost_p = !on.p.load(std::memory_order_relaxed);
    me->become(g_status::runnable);
    on.sched.push_global(me);
    if (lost_p) on.sched.without_p_.fetch_sub(1, std::memory_order_seq_cst);
  };
  // Through g0: it looks at the global queue, which a straight switch would not.
  m->cur.store(nullptr, std::memory_order_relaxed);
  fiber::switch_to(*m, g.ctx, m->self, publish, &g);
  return static_cast<M*>(g.ctx.on);
}

}  // namespace leat::sched
