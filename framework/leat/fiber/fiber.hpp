// SPDX-License-Identifier: BSL-1.0
//
// Switching between executions.
//
// A context is one execution: a thread's own (its g0), or a fiber on a stack. A thread object stands
// for the thread that runs them. A switch carries three things across: the registers (jump.hpp),
// the C++ exception state and the FP control words (machine.hpp).
//
//   near side                                  far side
//   1 saves eh and fp of `from`, loads `to`'s
//   2 jumps, passing `from`  ---------------> 3 stores `from.sp`: only now can `from` be resumed
//                                              4 runs `after(arg)`: the place to publish `from`
//                                              5 goes on, on the same thread
//
// `after` exists because a fiber that made itself visible to other threads before step 3 could be
// resumed there while still standing on its stack. So: whoever parks publishes in `after`, never
// before. `after` runs on the far side's stack, must not switch, and must not throw.
//
// A fiber may be resumed by any thread; switch_to returns the thread it woke up on. Nothing derived
// from the old thread may be used after it (thread_slot.hpp says why).
#pragma once
#include <cstddef>
#include <cstdint>

#include <leat/fiber/annotate.hpp>
#include <leat/fiber/machine.hpp>

namespace leat::fiber {

class stack;
struct thread;

using after_fn = void (*)(void* arg);

struct context {
  void* sp = nullptr;        // written in step 3, read by the next switch to it; stale while running
  thread* on = nullptr;      // written by whoever switches to it: the thread it runs on
  after_fn after = nullptr;  // of the switch that left it, read in step 4
  void* after_arg = nullptr;
  eh_state eh{};
  fp_state fp{};
  fiber::stack* stack = nullptr;  // null for a thread's own context
};

// What runs on a fiber's stack. It must end by calling finish, not by returning.
using entry_fn = void (*)(thread&, void* arg);

// The thread side. Embed one in each thread's state; `attach` must be called on the thread itself.
struct thread {
  eh_state* eh = nullptr;
  context* running = nullptr;  // what runs on it now
  context self;                // the thread's own execution
  note self_note;

  void attach() noexcept;
};

// Makes `c` a fiber on `s`, to start in `entry` at its first switch-in, with the exception state of a
// fresh thread and the FP control words given. `c` must not be running; `s` must not be in use.
void prepare(context& c, stack& s, entry_fn entry, void* arg, const fp_state& fp) noexcept;

// Leaves `from`, which is running on `on`, for `to`. Returns when someone switches back to `from`.
thread& switch_to(thread& on, context& from, context& to, after_fn after = nullptr,
                  void* after_arg = nullptr) noexcept;

// Leaves `from` for good. `after` may give its stack and control block to someone else.
[[noreturn]] void finish(thread& on, context& from, context& to, after_fn after, void* after_arg) noexcept;

// Return addresses of a context that is parked and stays so during the call, innermost first, by its frame
// pointers. Touches only its stack, takes no lock and does not allocate. Frames of code built without frame
// pointers are missing. Returns how many were written.
std::size_t frames(const context& c, void** out, std::size_t most) noexcept;
// The same from an interrupted place on the stack: the instruction, the frame pointer and, where calls keep
// the return address in one, the link register (else 0).
std::size_t frames_from(const stack& s, std::uintptr_t pc, std::uintptr_t fp, std::uintptr_t link, void** out,
                        std::size_t most) noexcept;

}  // namespace leat::fiber
