// SPDX-License-Identifier: BSL-1.0
//
// A profiler's signal may come between any two instructions, and its handler walks the stack. Here one comes
// after each, by the trap flag of x86-64, on the thread that has begun it: the flag stays with the thread,
// also from stack to stack. A walk that reads what is not there ends the program, so this is for a child.
#pragma once
#include <execinfo.h>
#include <signal.h>
#include <ucontext.h>
#include <atomic>
#include <cstdio>

namespace leat::test {

namespace stepping {

inline constexpr int deepest = 128;
inline constexpr greg_t trap_flag = 0x100;
inline std::atomic<long> steps{0};
inline std::atomic<int> most_frames{0};
inline std::atomic<bool> over{false};

inline void walk(int, siginfo_t*, void* at) {
  void* frames[deepest];
  const int n = ::backtrace(frames, deepest);
  steps.fetch_add(1);
  if (n > most_frames.load()) most_frames.store(n);
  if (over.load()) static_cast<ucontext_t*>(at)->uc_mcontext.gregs[REG_EFL] &= ~trap_flag;
}

}  // namespace stepping

// Before any thread steps.
inline void prepare_to_step() {
  void* frames[stepping::deepest];
  (void)::backtrace(frames, stepping::deepest);  // the first one loads what it needs
  struct sigaction act = {};
  act.sa_sigaction = stepping::walk;
  act.sa_flags = SA_SIGINFO | SA_ONSTACK;
  (void)::sigaction(SIGTRAP, &act, nullptr);
}

[[gnu::noinline]] inline void begin_to_step() {
  asm volatile("pushfq\n\torq $0x100, (%%rsp)\n\tpopfq" ::: "memory", "cc");
}

// Says "stepped N, at most M frames" if the calling thread has stepped all the way here, else "lost".
inline void end_stepping() {
  unsigned long flags = 0;
  asm volatile("pushfq\n\tpopq %0" : "=r"(flags)::"memory");
  stepping::over = true;
  const bool still = (flags & stepping::trap_flag) != 0;
  std::printf("%s %ld, at most %d frames\n", still ? "stepped" : "lost after", stepping::steps.load(),
              stepping::most_frames.load());
}

}  // namespace leat::test
