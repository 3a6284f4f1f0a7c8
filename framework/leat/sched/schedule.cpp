// SPDX-License-Identifier: BSL-1.0
//
// One round of scheduling: where the next G comes from, and where a readied one goes.
#include <algorithm>

#include <leat/base/clock.hpp>
#include <leat/sched/next_local.hpp>
#include <leat/sched/pause_point.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

constexpr std::uint32_t fairness_round = 61;  // Go's: a prime, so that it does not beat with user loops
constexpr std::uint32_t timer_round = 8;      // reading the clock costs as much as a switch
constexpr std::size_t little = 8;             // see stand_back
constexpr std::uint32_t most_quiet_hand_offs = 4095;

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
    global_.push(g);
    note_global_size_locked();
  }
  wake_if_needed();
}

void scheduler::push_local(P& p, G* g, queued_as as) noexcept {
  if (p.ring.push(g)) [[likely]] {
    // Alone, this P is the only one and busy: there is nobody to wake.
    if (p.shared.load(std::memory_order_relaxed)) wake_after_push(p);
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
    if (as == queued_as::spawned) {
      global_.spill(std::move(batch));
    } else {
      global_.append(std::move(batch));
    }
    note_global_size_locked();
  }
  wake_if_needed();
}

// A G readied by the running one goes to run_next and is usually run a moment later, when its waker
// parks. Waking another core for it costs thousands of times more than the switch, and would tear a
// talking pair apart; not waking leaves it waiting when the waker goes on computing. So wakes are
// rationed by success: one that ended in a theft of run_next, after which the waker went on for longer than
// a wake takes, makes the next one come at once (judge_theft); any other doubles the number of hand-offs
// until the next. sysmon looks after what is left.
[[gnu::always_inline]] inline void scheduler::hand_off(P& p, G* g) noexcept {
  G* const old = p.run_next.load(std::memory_order_relaxed);
  p.run_next.store(g, std::memory_order_relaxed);
  if (old) [[unlikely]]
    return push_local(p, old, queued_as::woken);
  if (p.quiet_hand_offs > 0) {
    --p.quiet_hand_offs;
    return;
  }
  if (idle_ps_.load(std::memory_order_relaxed) != 0) [[unlikely]]
    wake_for_hand_off(p);
}

[[gnu::noinline]] void scheduler::wake_for_hand_off(P& p) noexcept {
  if (searching_.load(std::memory_order_relaxed) != 0) return;
  p.hand_off_backoff = std::min(p.hand_off_backoff * 2 + 1, most_quiet_hand_offs);
  p.quiet_hand_offs = p.hand_off_backoff;
  wake_one();
}

// The owner's current G is about to give way: was it worth waking somebody for the one it had readied?
[[gnu::noinline]] void scheduler::judge_theft(P& p) noexcept {
  constexpr std::int64_t cost_of_a_wake = 15'000;
  if (now_ns() - p.stolen_at > cost_of_a_wake) {
    p.quiet_hand_offs = 0;
    p.hand_off_backoff = 0;
  }
  p.stolen_at = 0;
}

[[gnu::noinline]] void scheduler::ready_without_p(G* g) noexcept {
  M* const here = current_m();
  if (!here || !here->collects) return push_global(g);
  here->polled.push_back(g);
}

[[gnu::always_inline]] inline void scheduler::ready_here(M* m, G* g) noexcept {
  g->become(g_status::runnable);
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) [[unlikely]]
    return ready_without_p(g);
  // It runs next, as a rule. Its stack is the caller's business, who may know where that is before the G is
  // at hand.
  __builtin_prefetch(g->closure);
  __builtin_prefetch(&g->ctx);
  bump(p->count.readies);
  p->events.add(event_kind::readied, g->id);
  hand_off(*p, g);
}

void scheduler::ready(M* m, G* g) noexcept {
  prefetch_stack(g->ctx);
  ready_here(m, g);
}

void make_ready(M* m, G* g) noexcept {
  if (m) [[likely]]
    return m->sched.ready_here(m, g);
  // None: the runtime has ended, and given up the G with it.
  if (scheduler* const s = scheduler::current()) s->ready(nullptr, g);
}

void scheduler::submit(M* m, G* g) noexcept {
  g->become(g_status::runnable);
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  if (!p) {
    if (m) foreign_spawned_.fetch_add(1, std::memory_order_relaxed);
    return push_global(g);
  }
  bump(p->count.spawned);
  p->events.add(event_kind::created, g->id);
  push_local(*p, g, queued_as::spawned);
}

bool scheduler::admit_foreign_g() noexcept {
  lock_guard hold(lock_);
  if (stopping() || done_.load(std::memory_order_relaxed)) return false;
  foreign_spawned_.fetch_add(1, std::memory_order_relaxed);
  return true;
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

G* scheduler::take_global(M& m, P& p, bool one) noexcept {
  if (global_size_.load(std::memory_order_relaxed) == 0) return nullptr;
  G* first = nullptr;
  std::uint32_t n = 0;
  {
    lock_guard hold(lock_);
    const std::size_t len = global_.size();
    if (len == 0) return nullptr;
    std::size_t want = 1;
    if (!one) {
      want = std::min({len / procs() + 1, static_cast<std::size_t>(p.ring.capacity()) / 2, len});
      if (m.fetched.naps > 0) want = std::min(want, little);
      want = std::max<std::size_t>(want, 1);
    }
    first = one ? global_.pop_fairly(coarse_now()) : global_.pop();
    // A G is out of the queue before it is in the ring: there thieves may take it, and its link changes
    // hands. The ring is empty as a rule; after a round for timers it need not be.
    for (n = 1; n < want && p.ring.size() < p.ring.capacity(); ++n) (void)p.ring.push(global_.pop());
    note_global_size_locked();
  }
  note_fetched(m, p, n);
  p.turn.store(p.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  p.events.add(event_kind::took_global, first->id, 0, n);
  return first;
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

// Somebody other than `except`'s owner could use another M: queued Gs, timers to be watched, with `io` also
// the network.
bool scheduler::work_visible(const P* except, bool io) const noexcept {
  if (global_size_.load(std::memory_order_acquire) > 0)
    return true;  // before the rings; pairs with note_global_size_locked
  bool seen = false;
  each_p([&](const P& p) {
    seen |= !p.ring.empty() || (&p != except && p.timers.next() != timer_heap::no_timer);
  });
  return seen || (io && io_expected());
}

G* scheduler::found_work(M& m, G* g) noexcept {
  if (m.searching) [[unlikely]] {
    if (stop_searching(m)) {
      barrier_before_look();
      P* const p = m.p.load(std::memory_order_relaxed);
      if (work_visible(p, p->shares_polled())) wake_one();
    }
  }
  return g;
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
    if (m.picked || p.fair_turn || p.attention.load(std::memory_order_relaxed)) continue;
    if (p.ring.empty_for_owner()) end_burst(p);
    if (m.fetched.many != 0 && p.ring.empty_for_owner() && stand_back(m, p)) continue;
    if (G* g = take_global(m, p, false)) return found_work(m, g);
    if (io_expected()) {
      poll(m);
      if (take_polled(m, p)) continue;
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
      if (global_.empty() && !p.attention.load(std::memory_order_relaxed)) {
        p.m.store(nullptr, std::memory_order_relaxed);
        m.p.store(nullptr, std::memory_order_relaxed);
        push_idle_p_locked(p);
      }
    }
    if (m.p.load(std::memory_order_relaxed)) continue;
    pause_point(pause_place::before_uncounting);
    stop_searching(m);
    barrier_before_look();
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

M* scheduler::park(M* m, wait_reason why, fiber::after_fn after, void* arg) noexcept {
  return park_here(m, *m->cur.load(std::memory_order_relaxed), why, after, arg);
}

void scheduler::queue_again(void* arg) noexcept {
  auto* const g = static_cast<G*>(arg);
  auto& on = *static_cast<M*>(g->ctx.on);
  P* const p = on.p.load(std::memory_order_relaxed);
  if (!p || !p->ring.push(g)) on.sched.push_global(g);
}

void scheduler::queue_again_and_wake(void* arg) noexcept {
  scheduler& s = static_cast<M*>(static_cast<G*>(arg)->ctx.on)->sched;
  queue_again(arg);
  // No barrier: this G was not queued before and is no new work; an M that misses it now finds it later.
  if (s.idle_ps_.load(std::memory_order_relaxed) > 0) [[unlikely]]
    s.wake_if_needed();
}

M* scheduler::yield(M* m, bool waking) noexcept {
  G& g = *m->cur.load(std::memory_order_relaxed);
  P& p = *m->p.load(std::memory_order_relaxed);
  if (m->locked_g) return requeue(m);
  // Nobody else here: g0 would only find this G again, unless others wait in the global queue.
  if (!p.run_next.load(std::memory_order_relaxed) && p.ring.empty_for_owner()) {
    if (global_size_.load(std::memory_order_relaxed) == 0 && p.timers.next() == timer_heap::no_timer &&
        !p.attention.load(std::memory_order_relaxed)) {
      bump(p.count.yields);
      return m;
    }
    return requeue(m);
  }
  // The G goes to the ring only when its stack has been left; until then no thief may see it. The next
  // one is taken first, so there is room for it.
  g.become(g_status::runnable);
  bump(p.count.yields);
  if (p.stolen_at != 0) [[unlikely]]
    judge_theft(p);
  switch_away(*m, &p, g, event_kind::none, 0, waking ? queue_again_and_wake : queue_again, &g);
  return static_cast<M*>(g.ctx.on);
}

// To the tail of the global queue, behind everything that was woken meanwhile.
M* scheduler::requeue(M* m) noexcept {
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
    on.sched.push_global(me);
    if (lost_p) on.sched.without_p_.fetch_sub(1, std::memory_order_seq_cst);
  };
  // Through g0: it looks at the global queue, which a straight switch would not.
  m->cur.store(nullptr, std::memory_order_relaxed);
  fiber::switch_to(*m, g.ctx, m->self, publish, &g);
  return static_cast<M*>(g.ctx.on);
}

}  // namespace leat::sched
