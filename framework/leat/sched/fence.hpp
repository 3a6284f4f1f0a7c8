// SPDX-License-Identifier: BSL-1.0
//
// The fence: how a G that hangs is put out without its thread being asked.
//
// A G that is due for quarantine may stand anywhere: in malloc, in the loader, in a library that holds a lock
// of its own. Nobody knows where it can be stopped without harm, so replacing it must not depend on that. It
// is fenced instead: its thread runs on, at the lowest priority, but the G has lost everything by which it
// could reach others. From then on it is out, and its successor may start. What becomes of the thread is
// settled afterwards (quarantine.hpp).
//
// Roles: sysmon fences. The thread runs the G in user code. The successor uses the same channels, records and
// states.
//
// Variables: the gate of the M (retake_gate.hpp), the G's status, its count of no_quarantine, and come_in
// (no_quarantine.hpp).
//
//   sysmon                                         the thread, in user code
//    1 come_in = 1, heavy barrier                   a  an operation that comes in: enters through the gate;
//    2 waits until what began before 1 is over:        the P is lost: reads the status; quarantined: leaves
//      the thread has come in since, has used          its stack for good (end_fenced in threads.cpp)
//      2 ms of CPU time, or sits in a system        b  a one-to-one channel: reads come_in; 0: does it
//      call                                            outside; 1: as a
//    3 holds the M in user code (gate: borrowed)    c  an operation under no_quarantine: reads come_in;
//    4 count > 0 for more than a moment: lets          0: does it outside; 1: passes the gate,
//      go; later again                                 count + 1, leaves; does it; count - 1
//    5 status = quarantined; takes the P            d  saves a state, acknowledges a value in hand: enters
//    6 lets go (gate: taken, release)                  through the gate, does it inside
//    7 tells: it is out                             e  a one-to-one channel of values that have code for their
//    8 the last fenced one is gone: come_in = 0        moves: count + 1; reads come_in; 0: does it outside,
//                                                      count - 1; 1: count - 1, as a
//
// 1 and 8 are in overrun.cpp (escalate, look); 2 to 7 in overrun_end.cpp (earlier_work_is_over, fence, take_away,
// tell_out); a is rejoin and end_fenced in threads.cpp; c to e are the guards of no_quarantine.hpp and entered.hpp.
//
// What makes "out" true: after 6, the thread can touch none of what its successor uses.
// - a and d: the word of the gate is not quiet, since only the owner writes quiet. So the next entry takes
//   the slow way, waits until 6, and reads with acquire what 5 has written.
// - b: one that began before 1 is over by 2. One that began later reads come_in after the heavy barrier, and
//   is an a. For that come_in stays 1 as long as anybody is fenced (8). A thread in a page fault may stand within
//   such an operation, at a value that was swapped out: it is waited for, but not for more than ten seconds. A page
//   that does not come in so long will not, and then nothing is touched either.
// - e: what the value's own code does may last: it may wait for a lock that is never given back. So that such an
//   operation is over by 2 cannot be said. Of the count and come_in one side sees the other's, by the heavy barrier of 1.
// - c: a no_quarantine that began after 1 has passed the gate, so 4 sees it, or its entry came after 6. One
//   that began before 1 was not counted, and is over by 2.
//
// Forbidden: the successor starts, and the thread takes a value from a ring, or wakes a waiter that it
// had claimed. 2.
// Forbidden: come_in falls while a fenced thread runs. 8.
// Forbidden: sysmon reads a count of 0, the thread adds to it and goes on behind 6. c passes the gate.
// One who only looks (unbroken_look) passes the gate instead, which is no sign of life: a G that asks for a channel's
// size in a loop hangs, as it does while come_in is 0.
// Forbidden: the successor is given the value in hand while its predecessor throws it away. d.
//
// A G in a declared blocking call (leat::blocking) is never fenced: the call's function may use channels as a
// plain thread does, without the gate. It is replaced when the call has returned.
//
// What a fenced thread can still do: whatever needs no Leat. It may write to its own files and sockets, to
// memory that it shares with others, and it holds what it held.
//
// Model: tests/models/fence.pml. Stress: tests/csp/fence_test.cpp, tests/services/hangs/hang_matrix.sh.
#pragma once
#include <sys/types.h>
#include <cstddef>
#include <cstdint>

#include <leat/sched/g.hpp>
#include <leat/sched/overrun_watch.hpp>

namespace leat::sched {

inline bool is_fenced(const G& g) noexcept {
  return g.status.load(std::memory_order_relaxed) == g_status::quarantined;
}

// What the kernel tells of a thread of this program that is not asked. Without signals, locks and
// allocations.
struct thread_sight {
  bool known = false;        // there is a /proc, and the thread
  bool waits = false;        // in a system call
  bool faults = false;       // in a page fault, or another trap
  long call = -1;            // its number
  std::uintptr_t first = 0;  // its first argument
  std::uintptr_t sp = 0, pc = 0;
};
thread_sight look_at_thread(pid_t tid) noexcept;
// CPU time of a thread of this program in ns, or -1.
std::int64_t cpu_time_of(pid_t tid) noexcept;
thread_class class_of(pid_t tid) noexcept;
// Runs when nobody else wants to, if there is a way back; else with the smallest share that the kernel gives.
// False: it refused.
bool make_idle_class(pid_t tid) noexcept;
// The calling thread, which gets back what it had. False: the kernel refused.
bool leave_idle_class(const thread_class& former) noexcept;
// One in the idle class runs as others of this nice value do. False: the kernel refused, and there is no way back.
bool lift_from_idle_class(pid_t tid, int nice) noexcept;
constexpr int least_nice_share = 19;
// "futex", or null: only those that people block in.
const char* name_of_call(long number) noexcept;

}  // namespace leat::sched
