// SPDX-License-Identifier: BSL-1.0
//
// What an M fetches for its P from wherever it is: Gs whose time has come, half of another ring, and as a
// last resort another's run_next.
#include <sched.h>
#include <time.h>
#include <algorithm>
#include <cstdint>
#include <iterator>

#include <leat/base/clock.hpp>
#include <leat/base/cpu.hpp>
#include <leat/base/random.hpp>
#include <leat/sched/next_local.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {
namespace {

constexpr std::int64_t tiny_g = 160;        // ns, with what fetching it costs
constexpr std::uint32_t worth_judging = 8;  // Gs
constexpr std::int64_t shortest_nap = 100'000, longest_nap = 800'000;

std::uint64_t deeds_of(const P& p) noexcept {
  const auto get = [](const std::atomic<std::uint64_t>& c) { return c.load(std::memory_order_relaxed); };
  return get(p.count.spawned) + get(p.count.readies) + get(p.count.parks) + get(p.count.yields);
}

// What running a G for the first time touches.
[[gnu::always_inline]] inline void prefetch_g(const G& g) noexcept {
  __builtin_prefetch(&g, 1);
  __builtin_prefetch(g.closure, 1);
  __builtin_prefetch(&g.ctx, 1);
}

}  // namespace

// Readies what is due in the heap of `of`, in the order of the deadlines: into the ring, and what finds no
// room there into the global queue. While that holds some, new ones queue behind them, and the ring is filled
// from there.
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
    global_.append_due(std::move(no_room));
    while (p && global_.size_due() > 0 && p->ring.size() < p->ring.capacity())
      (void)p->ring.push(global_.pop_due());
    note_global_size_locked();
  }
  if (any) wake_if_needed();
  return any;
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
      victim.stolen_at = now_ns();
    }
    owner->gate.give_back();
    return g;
  }
  return nullptr;
}

void scheduler::note_fetched(M& m, const P& p, std::uint32_t many) noexcept {
  if (many < worth_judging) return;
  m.fetched.many = many;
  m.fetched.on = &p;
  m.fetched.at = now_ns();
  m.fetched.deeds = deeds_of(p);
}

// Gs that end at once, and neither start nor wake others, are better left to the P that makes them: passing
// them, their stacks and the ring from core to core takes longer than running them. So an M that was through
// with what it fetched in no time sleeps a little before it fetches again, and then fetches little, to see
// whether that has changed. To everybody else it is an M that runs something short. True: look again.
bool scheduler::stand_back(M& m, P& p) noexcept {
  fetched_gs& f = m.fetched;
  const bool barren = f.on == &p && deeds_of(p) <= f.deeds + 1 && now_ns() - f.at < tiny_g * f.many;
  f.many = 0;
  if (!barren) f.naps = 0;
  if (!barren) return false;
  int others = napping_.load(std::memory_order_relaxed);
  do {
    if (others + 1 >= busy_ps_.load(std::memory_order_relaxed)) return false;
  } while (!napping_.compare_exchange_weak(others, others + 1, std::memory_order_relaxed));
  const std::int64_t nap =
      std::min(std::min(shortest_nap << std::min(f.naps, 8u), longest_nap), p.timers.next() - now_ns());
  ++f.naps;
  const timespec t{0, std::max<std::int64_t>(nap, 0)};
  (void)::clock_nanosleep(CLOCK_MONOTONIC, 0, &t, nullptr);
  napping_.fetch_sub(1, std::memory_order_relaxed);
  return true;
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
      const std::uint32_t got = victim.ring.take_half(
          m.loot.data(),
          m.fetched.naps > 0 ? std::min(worth_judging, thief.ring.capacity()) : thief.ring.capacity());
      if (got > 0) {
        // The victim has just written them. Fetched all at once they come in the time of a few.
        for (std::uint32_t k = 0; k < got; ++k) prefetch_g(*m.loot[k]);
        for (std::uint32_t k = 1; k < got; ++k)
          if (!thief.ring.push(m.loot[k])) push_global(m.loot[k]);
        bump(thief.count.steals);
        bump(thief.count.stolen_gs, got);
        note_fetched(m, thief, got);
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

}  // namespace leat::sched
