// SPDX-License-Identifier: BSL-1.0
//
// How soon the kernel runs a thread that was woken while another computes on its CPU.
//
// A thread that sleeps on the CPU of a G that hangs is woken there by kernels that see no shared cache, and
// Linux lets the one that computes finish its slice first: up to a tick of 4 ms in which sysmon cannot take
// the P, or the M that got it cannot go on with the others. From Linux 6.12 a thread may ask for a slice of
// its own (sched_runtime of sched_setattr): no privilege is needed, and its share of the CPU stays the same.
// Who has a shorter slice than the one that runs is let in at once. So sysmon and the Ms have the shortest,
// and the M of a G that has outrun its time slice has a long one until it sleeps or takes up a P.
//
// Older kernels know no such slices; then nothing is asked for. A thread with a real-time policy, or with a
// slice that is as short by the user's own wish, stays as it is. Threads that the program itself starts
// inherit the slice of the one that starts them.
#pragma once
#include <sys/types.h>
#include <cstdint>

namespace leat::sched {

enum class promptness : std::uint8_t { at_once, unhurried };

// Makes the calling thread prompt. Returns the slice that it had, or 0: it was left alone.
std::uint64_t make_prompt() noexcept;

// While it lives, the calling thread is prompt.
class prompt_thread {
 public:
  prompt_thread() noexcept : before_(make_prompt()) {}
  ~prompt_thread();
  prompt_thread(const prompt_thread&) = delete;
  prompt_thread& operator=(const prompt_thread&) = delete;

 private:
  const std::uint64_t before_;
};

// For a thread that was made prompt; 0: the calling one. False: it was not, and nothing has changed.
bool set_promptness(pid_t thread, promptness how) noexcept;

}  // namespace leat::sched
