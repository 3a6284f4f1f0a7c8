// SPDX-License-Identifier: BSL-1.0
//
// The quick part of a round of scheduling, inlined into every switch. For the scheduler's own sources.
#pragma once
#include <leat/sched/scheduler.hpp>

namespace leat::sched {

// What a switch to it will read first: saved registers and the innermost frames.
inline void prefetch_stack(const fiber::context& c) noexcept {
  const char* const sp = static_cast<const char*>(c.sp);
  for (int line = 0; line < 6; ++line) __builtin_prefetch(sp + line * 64);
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

}  // namespace leat::sched
