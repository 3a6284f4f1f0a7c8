// SPDX-License-Identifier: BSL-1.0
//
// What a program that dies by a signal says last. A fault in a guard page prints the fiber's name, its stack
// size and what to change; the layer above adds who was running. Then the program dies as it would have: by
// the handler that was installed before ours, or by the default action at the same instruction, so that core
// dumps show the place.
#pragma once
#include <csignal>
#include <cstddef>
#include <memory>

namespace leat::fiber {

class stack;
class stack_region;

// Installs the SIGSEGV and SIGBUS handler once per process; later calls do nothing. A handler that the
// application installs afterwards replaces ours, and should call the one it found.
void report_overflows() noexcept;

// The same for all signals by which programs die of their own fault (SIGSEGV, SIGBUS, SIGILL, SIGFPE,
// SIGABRT). `report` is called in the handler; it must be async-signal-safe. With `mended_perhaps` a handler
// of the program comes next, and the program may go on; that is logged once for each signal.
using crash_report_fn = void (*)(int sig, const void* address, const void* context,
                                 bool mended_perhaps) noexcept;
void report_crashes(crash_report_fn report) noexcept;

// The system's own. ThreadSanitizer's keeps signals until the thread calls into it, which a hung one never does, and
// takes a thread that has jumped out of a handler for one that is still there.
using sigaction_fn = int (*)(int, const struct sigaction*, struct sigaction*);
sigaction_fn real_sigaction() noexcept;

// `f` is called in the handler before anything is reported; it jumps away if it has expected the fault, and else
// returns.
void on_expected_fault(void (*f)() noexcept) noexcept;

// The handler needs a stack of its own on every thread that runs fibers. If the thread has one
// already (the application's, a sanitizer's), that one is kept.
class signal_stack {
 public:
  signal_stack() noexcept;
  ~signal_stack();
  signal_stack(const signal_stack&) = delete;
  signal_stack& operator=(const signal_stack&) = delete;

 private:
  void* memory_ = nullptr;
  std::size_t bytes_ = 0;
};

// Which stack of any region holds the address; safe in a signal handler.
const stack* find_stack(const void* address, bool& in_guard) noexcept;

// Called by regions.
void register_region(const stack_region*) noexcept;
void unregister_region(const stack_region*) noexcept;

}  // namespace leat::fiber
