// SPDX-License-Identifier: BSL-1.0
//
// The quick part of a round of scheduling, inlined into every switch. For the scheduler's own sources, and
// for what parks most.
#pragma once
#include <leat/fiber/switch.hpp>
#include <leat/sched/life.hpp>
#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {

// What a switch to it will read first: saved registers and the innermost frames. Always inlined: GCC takes a
// function that only prefetches for one without effect, and drops the call.
[[gnu::always_inline]] inline void prefetch_stack(const fiber::context& c) noexcept {
  const char* const sp = static_cast<const char*>(c.sp);
#pragma GCC unroll 10
  for (int line = 0; line < 10; ++line) __builtin_prefetch(sp + line * 64);
}

// run_next, then the P's own ring, as far as that needs no g0. Null: let g0 look.
[[gnu::always_inline]] inline G* round::next_local(M& m, P& p) noexcept {
  if (m.locked_g || p.attention.load(std::memory_order_relaxed)) [[unlikely]]
    return nullptr;
  if (!p.round.is_quick() && is_special(p, m.sched)) [[unlikely]]
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
  if (g->wants_own_thread() || (!g->ctx.stack && !life::give_stack(m, *g))) [[unlikely]] {
    m.picked = g;
    return nullptr;
  }
  return g;
}

// Leaves the current G for the next one, straight if there is one, else for g0, and tells why unless
// that is none.
[[gnu::always_inline]] inline void round::switch_away(M& m, P* p, G& g, event_kind why, std::uint8_t detail,
                                                      fiber::after_fn after, void* arg) noexcept {
  G* const next = p ? next_local(m, *p) : nullptr;
  m.cur.store(next, std::memory_order_relaxed);
  if (next) [[likely]] {
    next->become(g_status::running);
    if (why == event_kind::none) {
      p->events.add(event_kind::run, next->id);
    } else {
      p->events.add_two(why, g.id, detail, event_kind::run, next->id);
    }
  } else if (p && why != event_kind::none) {
    p->events.add(why, g.id, detail);
  }
  fiber::switch_here(m, g.ctx, next ? next->ctx : m.self, after, arg);
}

// scheduler::park. Its caller must not use thread_locals (fiber/switch.hpp).
[[gnu::always_inline]] inline M* scheduler::park_here(M* m, G& g, wait_reason why, fiber::after_fn after,
                                                      void* arg) noexcept {
  g.reason.store(why, std::memory_order_relaxed);
  g.since.store(coarse_now(), std::memory_order_relaxed);
  g.become(g_status::waiting);
  P* const p = m->p.load(std::memory_order_relaxed);
  if (p) [[likely]] {
    bump(p->count.parks);
    if (p->hand_off.was_stolen()) [[unlikely]]
      round::assess_theft(*p);
  }
  round::switch_away(*m, p, g, event_kind::parked, static_cast<std::uint8_t>(why), after, arg);
  return static_cast<M*>(g.ctx.on);
}

}  // namespace leat::sched
