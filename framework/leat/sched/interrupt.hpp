// SPDX-License-Identifier: BSL-1.0
//
// How a stop ends a wait, without costing the waiter an atomic read-modify-write.
//
// Variables, per G: waiting_on (written by the G: what it waits for, on its own stack), interrupting
// (a lock held by the one who stops it), stop (the level asked for).
//
//   waiter                                     stopper
//    1 waiting_on = &w                          a stop = level
//    2 light barrier                            b interrupting = 1 (lock)
//    3 reads stop; set: gives up, goes to 5     c heavy barrier
//    4 waits, and is readied by someone         d reads waiting_on; set: w.withdraw(), which settles
//    5 waiting_on = null                          against other wakers under their own lock
//    6 light barrier                            e interrupting = 0
//    7 waits while interrupting                 f readies the G if withdraw won
//
// Where withdraw takes the lock of what the G waits at (csp/plain_wait.hpp), 5 to 7 are the waker's: it has
// claimed the wait, has dropped that lock, and goes through them before it readies the G and before it
// returns. The waiter goes through them itself only if a stop ended its wait.
//
// Forbidden: the G sleeps and nobody noticed the stop: by 1-2-3 against a-c-d one of them sees the other.
// Forbidden: the stopper uses w after the G has left: by 5-6-7 against b-c-d, either d reads null or 7 waits.
// Forbidden: the stopper takes the lock of a channel that is gone. A channel goes at the earliest when all
// who were served there have been readied, or when the call that served them has returned; by 5-6-7 on the
// waker's side, no stopper is in withdraw by then, and none that comes later finds w.
// No deadlock: who waits in 7 holds no lock, and the stopper waits for nothing but locks.
// Stress: tests/sched/stop_race_test.cpp, tests/csp/gone_test.cpp. Model: tests/models/stop.pml.
#pragma once
#include <unistd.h>

#include <leat/base/cpu.hpp>
#include <leat/sched/barrier.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/retake_gate.hpp>

namespace leat::sched {

// A spin that lets a thread of lower real-time priority on the same core go on, which sched_yield does not.
inline void back_off(int turns) noexcept {
  if (turns < 200) {
    cpu_pause();
  } else {
    ::usleep(20);
  }
}

// `gate` is that of the M on which the G runs.

// Steps 1 to 3. False: a stop has been asked for already; end_wait must follow all the same.
inline bool begin_wait(const retake_gate& gate, G& g, interruptible& w) noexcept {
  g.waiting_on.store(&w, std::memory_order_release);  // pairs with d
  gate.light_barrier();
  if (g.stop.load(std::memory_order_relaxed) == stop_level::none) [[likely]]
    return true;
  return false;
}

// Step 7.
inline void wait_for_stopper(const G& g) noexcept {
  for (int turns = 0; g.interrupting.load(std::memory_order_acquire) != 0; ++turns)
    back_off(turns);  // pairs with e
}

// Steps 5 to 7, if no stop was ever asked for. False: to be done again by one of those below.
[[gnu::always_inline]] inline bool end_wait_at_once(const retake_gate& gate, G& g) noexcept {
  g.waiting_on.store(nullptr, std::memory_order_relaxed);
  gate.light_barrier();
  // An acquire load stalls behind the release stores of a switch (17 ns per round trip of a pair). It is
  // needed only if a stopper has been here, and that one raised `stop` first.
  return g.interrupting.load(std::memory_order_relaxed) == 0 &&
         g.stop.load(std::memory_order_relaxed) == stop_level::none;
}
// Steps 5 to 7, in every case.
inline void end_wait(const retake_gate& gate, G& g) noexcept {
  if (!end_wait_at_once(gate, g)) [[unlikely]]
    wait_for_stopper(g);
}

// The same by the one who has claimed the wait of a G and not readied it yet. `m` is its M, inside the
// runtime, or null.
inline void end_wait_of(const m_front* m, G& g) noexcept {
  if (m) [[likely]]
    return end_wait(m->gate, g);
  g.waiting_on.store(nullptr, std::memory_order_relaxed);
  light_barrier();
  wait_for_stopper(g);
}

}  // namespace leat::sched
