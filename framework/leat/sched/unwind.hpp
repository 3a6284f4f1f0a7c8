// SPDX-License-Identifier: BSL-1.0
//
// Walks a stack from a signal handler, through code that was interrupted anywhere. Its unwind tables may be
// wrong just there: they are in the code by which the unwinder itself jumps to a catch clause, and in much
// assembly. Then the unwinder takes some number for a return address, reads there, and faults. Such a fault
// ends the walk instead of the program.
//
//   the thread, in its handler                     its handler for SIGSEGV and SIGBUS (fiber/overflow.cpp)
//    1 M::unwinding = where to go on                a first of all: M::unwinding set? jumps there
//    2 walks                                        b else the fault is one like any other
//    3 M::unwinding = null
//
// Both run on the thread's signal stack, the second below the first. A handler that the program has put in
// the place of ours sees the fault instead. For the scheduler's own sources.
#pragma once
#include <dlfcn.h>
#include <unwind.h>
#include <cstdint>

namespace leat::sched {

struct M;

// The unwinder finds its tables without the loader's lock, and may be used wherever a thread was interrupted.
#if defined(DLFO_STRUCT_HAS_EH_DBASE)
constexpr bool unwinds_without_lock = true;
#else
constexpr bool unwinds_without_lock = false;
#endif

// At the start, before there can be a walk.
void prepare_walks() noexcept;
// In a handler. `from`: the interrupted instruction; none is walked that is the unwinder's own. `visit` gets
// the handler's frames first. False: it was not walked to the end.
bool walk_interrupted(M& m, std::uintptr_t from, _Unwind_Trace_Fn visit, void* arg) noexcept;

}  // namespace leat::sched
