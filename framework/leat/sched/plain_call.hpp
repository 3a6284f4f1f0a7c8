// SPDX-License-Identifier: BSL-1.0
//
// Which functions of the C library do nothing but make a system call, and hold no lock while it lasts: read, poll,
// nanosleep and their like. A thread that stands still in one of them can be frozen there (quarantine.hpp).
//
// Those with names are looked up. Since glibc 2.41 they make their calls through others, which are not exported
// and have to do with the cancellation of threads: these are learnt, by who is about to put the first question of
// all (sysmon). It sends itself a signal that is blocked, and lets it in by sigsuspend, which is such a call: the
// frames between the call and our own code are those that all have.
//
// Of other C libraries nothing is known. For the scheduler's own sources.
#pragma once
#include <cstdint>

namespace leat::sched {

// At the start; allocates.
void look_up_plain_calls() noexcept;

// Before each question; does something at the first. `signal` is that of the questions; its handler is put back.
// Neither allocates nor locks, if the unwinder does not.
void learn_plain_calls(int signal, bool (*is_in_c_library)(std::uintptr_t pc) noexcept) noexcept;

// In a handler, too. `start`: the first instruction of a function.
bool is_plain_call(std::uintptr_t start) noexcept;

}  // namespace leat::sched
