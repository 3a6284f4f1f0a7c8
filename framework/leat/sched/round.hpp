// SPDX-License-Identifier: BSL-1.0
//
// One round of scheduling: where the next G comes from, and where one that is runnable goes. For the scheduler's own
// sources: on an M inside the runtime, with its P; run_due_timers also by sysmon (m null), sleep and wait_as_poller
// without a P.
//
// In this order: what is due in the P's own timers; the one that was picked before; in the 61st round one of the
// global queue; run_next; the P's own ring; a share of the global queue; what the network has brought; half of
// another's ring; in the last pass also another's due timers and its run_next. Then the M gives its P up (steps
// a to f in idle_set.hpp).
#pragma once
#include <cstdint>

#include <leat/fiber/switch.hpp>
#include <leat/sched/idle_set.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/p.hpp>

namespace leat::sched {

class scheduler;

namespace round {

// schedule.cpp
// On g0. Null: the P is gone, and the M has to sleep or exit.
G* find_runnable(M& m) noexcept;
// A round that is not quick. True: it must go through g0, for the global queue or for timers.
bool is_special(P& p, scheduler& s) noexcept;
// Into the P's ring; if that is full, half of it and the G go to the global queue.
void push_local(scheduler& s, P& p, G* g, idle_set::from as) noexcept;
// The current G gives way: was it worth waking somebody for the one it had readied?
void assess_theft(P& p) noexcept;
// The current G goes to the tail of the global queue, behind everything that was woken meanwhile.
M* requeue(M* m) noexcept;

// steal.cpp
// Readies what is due in the heap of `of`, for the P of m if it has one.
bool run_due_timers(scheduler& s, M* m, P& of) noexcept;
G* steal(M& m, P& thief, int passes) noexcept;
void note_fetched(M& m, const P& p, std::uint32_t many) noexcept;
// If what was fetched was not worth it. True: the M has slept; look again.
bool stand_back(M& m, P& p) noexcept;

// idle.cpp
void acquire_p(M& m, P& p) noexcept;
// The M holds no P. Returns with one, or false when the thread is to end.
bool sleep(M& m) noexcept;
void wait_as_poller(M& m) noexcept;
void poll(M& m) noexcept;
// What polling has readied goes to the ring of p. False: nothing.
bool take_polled(M& m, P& p) noexcept;

// resize.cpp
// The owner empties a P that set_procs no longer wants. False: it is wanted again, and stays.
bool retire_p(M& m, P& p) noexcept;

// next_local.hpp: inlined into every switch
G* next_local(M& m, P& p) noexcept;
void switch_away(M& m, P* p, G& g, event_kind why, std::uint8_t detail, fiber::after_fn after,
                 void* arg) noexcept;

}  // namespace round
}  // namespace leat::sched
