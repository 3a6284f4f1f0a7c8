// SPDX-License-Identifier: BSL-1.0
//
// What an M fetches for its P from wherever it is: Gs whose time has come, half of another ring, and as a
// last resort another's run_next.
#include <sched.h>
#include <time.h>
#include <cstdint>
#include <iterator>

#include <leat/base/clock.hpp>
#include <leat/base/cpu.hpp>
#include <leat/base/random.hpp>
#include <leat/sched/next_local.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

std::uint64_t activity_of(const P& p) noexcept {
  const auto get = [](const atom<std::uint64_t>& c) { return c.load(std::memory_order_relaxed); };
  return get(p.count.spawned) + get(p.count.readies) + get(p.count.parks) + get(p.count.yields);
}

// What running a G for the first time touches.
[[gnu::always_inline]] inline void prefetch_g(const G& g) noexcept {
  __builtin_prefetch(&g, 1);
  __builtin_prefetch(g.closure, 1);
  __builtin_prefetch(&g.ctx, 1);
}

}  // namespace

// In the order of the deadlines: into the ring of m's P, and what finds no
// room there into the global queue. While that holds some, new ones queue behind them, and the ring is filled
// from there.
bool round::run_due_timers(scheduler& s, M* m, P& of) noexcept {
  P* const p = m ? m->p.load(std::memory_order_relaxed) : nullptr;
  const bool backlog = p && s.idle().queued_due() > 0;
  const std::int64_t next = of.timers.next();
  if (next == timer_heap::no_timer && !backlog) return false;
  const std::int64_t now = now_ns();
  coarse_clock.store(now, std::memory_order_relaxed);
  if (next > now && !backlog) return false;
  g_queue no_room;
  bool any = false;
  for (;;) {
    G* due[64];  // of a long list so many at a time: half a KiB of the stack
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
    s.idle().push_due(std::move(no_room), p);
  }
  if (any) s.idle().wake_if_needed();
  return any;
}

namespace {

// Some 20 to 60 us in all, what a wake-up takes where the cores have gone to sleep.
constexpr int thief_tries = 50, thief_pauses = 24;

G* steal_run_next(P& victim) noexcept {
  const std::uint32_t seen = victim.hand_offs.load(std::memory_order_relaxed);
  // The waker is often still inside the call that woke this M: waiting for it to leave takes microseconds,
  // sleeping and being woken again takes many.
  for (int tries = 0; tries < thief_tries; ++tries) {
    if (!victim.run_next.load(std::memory_order_relaxed)) return nullptr;
    for (int i = 0; i < thief_pauses; ++i) cpu_pause();
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
      if (g) {
        victim.run_next.store(nullptr, std::memory_order_relaxed);
        victim.hand_off.stolen(now_ns());
      }
    }
    owner->gate.give_back();
    return g;
  }
  return nullptr;
}

}  // namespace

void round::note_fetched(M& m, const P& p, std::uint32_t many) noexcept {
  if (fetch_policy::is_worth_assessing(many)) m.fetch.fetched(many, &p, activity_of(p), now_ns());
}

bool round::stand_back(M& m, P& p) noexcept {
  scheduler& s = m.sched;
  if (!m.fetch.assess(&p, activity_of(p), now_ns()) || !s.idle().begin_nap()) return false;
  const timespec t{0, m.fetch.nap(p.timers.next() - now_ns())};
  (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
  s.idle().end_nap();
  return true;
}

G* round::steal(M& m, P& thief, int passes) noexcept {
  scheduler& s = m.sched;
  const unsigned n = s.ps().made();
  if (n < 2) return nullptr;
  for (int pass = 0; pass < passes; ++pass) {
    const bool last = pass == passes - 1;
    const unsigned start = next_random(m.random) % n;
    for (unsigned i = 0; i < n; ++i) {
      P& of_another = s.ps()[(start + i) % n];
      const P& victim = of_another;  // of whose ring it can only take
      if (&victim == &thief || !victim.shared.load(std::memory_order_acquire)) continue;
      if (last && run_due_timers(s, &m, of_another)) {
        if (G* g = next_local(m, thief)) return g;
        if (m.picked) return nullptr;
      }
      const std::uint32_t got =
          victim.ring.for_thieves().take_half(m.loot.data(), m.fetch.most(thief.ring.capacity()));
      if (got > 0) {
        // The victim has just written them. Fetched all at once they come in the time of a few.
        for (std::uint32_t k = 0; k < got; ++k) prefetch_g(*m.loot[k]);
        for (std::uint32_t k = 1; k < got; ++k)
          if (!thief.ring.push(m.loot[k])) s.idle().push(m.loot[k]);
        bump(thief.count.steals);
        bump(thief.count.stolen_gs, got);
        note_fetched(m, thief, got);
        thief.events.add(event_kind::stolen, m.loot[0]->id, 0, got | victim.id << 16);
        thief.turn.store(thief.turn.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
        return m.loot[0];
      }
      if (!last || !victim.run_next.load(std::memory_order_relaxed)) continue;
      if (!m.run_next_theft.may_take(now_ns())) continue;
      if (G* g = steal_run_next(of_another)) {
        m.run_next_theft.took(now_ns());
        bump(thief.count.steals);
        bump(thief.count.stolen_gs);
        thief.events.add(event_kind::stolen, g->id, 1, 1 | victim.id << 16);
        return g;
      }
    }
  }
  return nullptr;
}

}  // namespace leat::sched
