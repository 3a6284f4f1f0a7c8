// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/fiber.hpp>

#include <cxxabi.h>
#include <cstdint>

#include <leat/fiber/switch.hpp>
#include <leat/fiber/thread_slot.hpp>

namespace leat::fiber {

// Used by name alone where the way to it is written in assembler.
[[gnu::used]] constinit thread_local void* detail::slot_of_thread = nullptr;

namespace {

// What a fiber starts with; lives at the top of its stack and is read once.
struct birth {
  entry_fn entry;
  void* arg;
  fp_state fp;
};

void trampoline(arrival a) {
  context& self = *static_cast<context*>(a.given)->on->running;
  const birth b = *static_cast<const birth*>(self.stack->birth_place());
  if constexpr (fp_state::carried_by_switch) b.fp.write();
  detail::arrive(a, self);
  b.entry(*self.on, b.arg);
  LEAT_CHECK(false, "a fiber's entry function returned instead of calling finish");
}

// Lives on the stack that is being left for good; copied before that can be used again.
struct last_step {
  context* self;
  after_fn after;
  void* after_arg;
};

void bury(void* arg) noexcept {
  const last_step last = *static_cast<last_step*>(arg);
  note_buried(last.self->stack->sanitizer_note());
  last.self->sp = nullptr;
  if (last.after) last.after(last.after_arg);
}

}  // namespace

eh_state* thread_eh_state() noexcept { return reinterpret_cast<eh_state*>(abi::__cxa_get_globals()); }

void thread::attach() noexcept {
  eh = thread_eh_state();
  self = context{};
  self.on = this;
  running = &self;
  note_thread(self_note);
}

void prepare(context& c, stack& s, entry_fn entry, void* arg, const fp_state& fp) noexcept {
  static_assert(sizeof(birth) <= stack::birth_size);
  auto* b = static_cast<birth*>(s.birth_place());
  *b = birth{entry, arg, fp};
  c.eh = eh_state{};
  c.fp = fp;
  c.stack = &s;
  const auto low = reinterpret_cast<std::uintptr_t>(s.low());
  c.sp = fresh<trampoline>(b, reinterpret_cast<std::uintptr_t>(b) - low);
  note_born(s.sanitizer_note(), s.low(), static_cast<std::size_t>(s.high() - s.low()));
}

thread& switch_to(thread& on, context& from, context& to, after_fn after, void* after_arg) noexcept {
  return switch_here(on, from, to, after, after_arg);
}

void finish(thread& on, context& from, context& to, after_fn after, void* after_arg) noexcept {
  last_step last{&from, after, after_arg};
  from.after = bury;
  from.after_arg = &last;
  (void)detail::leave(on, from, to, true);
  LEAT_CHECK(false, "a finished fiber was resumed");
  __builtin_unreachable();
}

namespace {

// Offsets of the caller's frame pointer and return address from a frame pointer.
#if defined(__riscv)
constexpr std::ptrdiff_t up_fp = -16, up_pc = -8;
#else
constexpr std::ptrdiff_t up_fp = 0, up_pc = static_cast<std::ptrdiff_t>(sizeof(void*));
#endif

// A volatile read in a function that sanitizers do not watch: the frames belong to code that they do.
LEAT_UNWATCHED std::uintptr_t peek(std::uintptr_t at) noexcept {
  return *reinterpret_cast<const volatile std::uintptr_t*>(at);
}

}  // namespace

// Reports look at fibers that go on meanwhile; see above for why TSan is not asked.
LEAT_UNWATCHED std::size_t frames(const context& c, void** out, std::size_t most) noexcept {
  // Read once: a report may look at a fiber that ends meanwhile.
  const fiber::stack* const stack = *const_cast<fiber::stack* const volatile*>(&c.stack);
  if (!c.sp || !stack || !saved_pc || most == 0) return 0;
  const auto low = reinterpret_cast<std::uintptr_t>(stack->low());
  const auto high = reinterpret_cast<std::uintptr_t>(stack->high());
  const auto sp = reinterpret_cast<std::uintptr_t>(c.sp);
  if (sp < low || sp + saved_pc + sizeof(void*) > high) return 0;
  return frames_from(*stack, peek(sp + saved_pc), peek(sp + saved_fp), 0, out, most);
}

LEAT_UNWATCHED std::size_t frames_from(const stack& s, std::uintptr_t pc, std::uintptr_t fp,
                                       std::uintptr_t link, void** out, std::size_t most) noexcept {
  const auto low = reinterpret_cast<std::uintptr_t>(s.low());
  const auto high = reinterpret_cast<std::uintptr_t>(s.high());
  std::size_t n = 0;
  if (most == 0) return 0;
  out[n++] = reinterpret_cast<void*>(pc);
  auto last = low;
  while (n < most && fp > last && fp % alignof(void*) == 0 && fp - 16 >= low &&
         fp + 2 * sizeof(void*) <= high) {
    const auto up = peek(fp + static_cast<std::uintptr_t>(up_pc));
    if (up < 4096) break;
    // A leaf has its caller in the link register alone.
    if (n == 1 && link >= 4096 && link != up && n + 1 < most) out[n++] = reinterpret_cast<void*>(link);
    out[n++] = reinterpret_cast<void*>(up);
    last = fp;
    fp = peek(fp + static_cast<std::uintptr_t>(up_fp));
  }
  if (n == 1 && link >= 4096 && n < most) out[n++] = reinterpret_cast<void*>(link);
  return n;
}

}  // namespace leat::fiber
