// SPDX-License-Identifier: BSL-1.0
//
// How an M and a G live and end. For the scheduler's own sources.
#pragma once
#include <cstdint>
#include <exception>

#include <leat/fiber/stack_error.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/m.hpp>

namespace leat::sched::life {

// threads.cpp
// A G's stack is chosen at its first run, so that many spawned Gs share few warm stacks. False: there is none; nothing
// has changed; `why` is told the reason.
bool give_stack(M& m, G& g, fiber::stack_error* why = nullptr) noexcept;
// A G enters the runtime and sysmon has retaken its P: it takes an idle P or is queued; a fenced one ends here.
M* rejoin(M* m) noexcept;
// On g0, inside the runtime: the thread has left the stack of its fenced G, by itself or in the handler.
void back_from_fence(M& m) noexcept;

// g_pool.cpp
// The first frame of every G.
void g_main(fiber::thread& t, void* arg);
// A runnable G for which there is no stack or no thread ends with an exception, as if it had thrown it. On g0.
void fail_to_start(M& m, G& g, std::exception_ptr why) noexcept;
void wake_joiner(scheduler& s, M* m, std::uintptr_t waiter) noexcept;
// When a guarded G has got its watch, before it runs.
void add_guarded(const G& g) noexcept;
// When it ends, on its own thread, unless it was quarantined.
void leave_guard(G& g) noexcept;

}  // namespace leat::sched::life
