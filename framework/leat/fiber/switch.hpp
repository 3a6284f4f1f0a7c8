// SPDX-License-Identifier: BSL-1.0
//
// switch_to (fiber.hpp) for whoever switches so often that the call counts: inlined where the jump is. Its
// caller must not use thread_locals, not even errno: their addresses could be kept across it.
#pragma once
#include <cstring>

#include <leat/base/check.hpp>
#include <leat/fiber/fiber.hpp>
#include <leat/fiber/jump.hpp>
#include <leat/fiber/stack.hpp>

namespace leat::fiber {
namespace detail {

inline note& note_of(thread& on, context& c) noexcept {
  return c.stack ? c.stack->sanitizer_note() : on.self_note;
}

// Steps 1 and 2; returns with what the far side's switch sends when `from` is switched to again.
[[gnu::always_inline]] inline arrival leave(thread& on, context& from, context& to, bool finishing) noexcept {
  LEAT_DCHECK(to.sp, "switch to a context that runs or has finished", "to", static_cast<const void*>(&to));
  void* const sp = to.sp;
  to.on = &on;
  if constexpr (!fp_state::carried_by_switch) {
    const fp_state now = fp_state::read();
    from.fp = now;
    if (to.fp != now) [[unlikely]]
      to.fp.write();
  }
  // As bytes, so that 64-bit machines move both words at once.
  eh_state* const eh = on.eh;
  std::memcpy(&from.eh, eh, sizeof from.eh);
  std::memcpy(eh, &to.eh, sizeof from.eh);
  on.running = &to;
  note_leaving(note_of(on, from), note_of(on, to), finishing);
  return jump(sp, &from);
}

// Steps 3 and 4, on the far side.
[[gnu::always_inline]] inline void arrive(const arrival& a, [[maybe_unused]] context& self) noexcept {
  context& left = *static_cast<context*>(a.given);
  note_arrived(note_of(*self.on, self), note_of(*self.on, left));
#if LEAT_DEBUG_CHECKS_ON
  self.sp = nullptr;
#endif
  left.sp = a.sp;
  if (left.after) left.after(left.after_arg);
}

}  // namespace detail

[[gnu::always_inline]] inline thread& switch_here(thread& on, context& from, context& to, after_fn after,
                                                  void* after_arg) noexcept {
  from.after = after;
  from.after_arg = after_arg;
  detail::arrive(detail::leave(on, from, to, false), from);
  return *from.on;
}

}  // namespace leat::fiber
