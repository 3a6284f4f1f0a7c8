// SPDX-License-Identifier: BSL-1.0
//
// How a stop meets a plain wait: framework/leat/sched/interrupt.hpp, whose step numbers and letters are used here,
// with framework/leat/csp/plain_wait.hpp as what withdraws.
//
// Roles: a waiter (a G that sends on a channel), a waker (it receives, and destroys the channel when its receive has
// returned, before the waiter has run again), a stopper that comes twice (asks, then insists).
//
// Weak memory is explicit where the protocol depends on it: stores to waiting_on wait in a buffer until the hardware
// (process `memory`), a heavy barrier or a release of the writer makes them visible. There is one writer at a time:
// the waiter, then the waker who has claimed its wait.
//
// Checked:
// - nobody takes the lock of a channel that is gone (`alive`), nor looks at a wait whose frame has been left;
// - the waiter is readied once, and told the truth;
// - at rest the waiter has gone on: no stop is missed.
//
// Broken variants, each of which must fail:
//   WAITER_ENDS         5 to 7 are the waiter's when it runs again, not the waker's
//   NO_HEAVY_BARRIER    c is left out
//   NO_WAIT             the waker does not wait in 7
//   NO_SECOND_LOOK      3 is left out
//
// By hand: spin -a stop.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan

#define none 0
#define served 1
#define by_stop 2

bit lock, alive = 1, linked, readied;
byte outcome = none;
bit stop, interrupting;
bit waiting_on, buffered, buffer;
bit frame;                       // the wait is on the waiter's stack
bit waiter_through;

inline flush() {
  if
  :: buffered -> waiting_on = buffer; buffered = 0; buffer = 0
  :: else
  fi
}
inline set_waiting_on(v) { d_step { buffered = 1; buffer = v } }
inline take_lock() { atomic { !lock -> lock = 1; assert(alive) } }
inline drop_lock() { d_step { assert(alive); flush(); lock = 0 } }
inline ready() { d_step { assert(!readied); flush(); readied = 1 } }
inline wait_for_stopper() { !interrupting }

active proctype memory() {
end:
  do
  :: d_step { buffered -> flush() }
  od
}

active proctype waiter() {
  take_lock();
  d_step { linked = 1; frame = 1 };
  set_waiting_on(1);                          // 1, 2 is for the compiler alone
#ifndef NO_SECOND_LOOK
  if                                          // 3
  :: stop -> linked = 0; outcome = by_stop; drop_lock(); goto over
  :: !stop
  fi;
#endif
  drop_lock();                                // on the far side of the switch
  readied;                                    // 4
  assert(outcome != none);
#ifndef WAITER_ENDS
  if
  :: outcome == served -> goto gone_on
  :: else
  fi;
#endif
over:
  skip;
  set_waiting_on(0);                          // 5
  wait_for_stopper();                         // 7
  d_step { flush() };
gone_on:
  skip;
  d_step { frame = 0; waiter_through = 1 }
}

active proctype waker() {
  if
  :: skip
  :: skip -> waiter_through; goto destroys    // it does not receive at all
  fi;
  do
  :: take_lock();
    if
    :: linked -> linked = 0; outcome = served; drop_lock(); break
    :: !linked && outcome == by_stop -> drop_lock(); waiter_through; goto destroys
    :: else -> drop_lock(); (linked || outcome == by_stop)
    fi
  od;
#ifndef WAITER_ENDS
  set_waiting_on(0);                          // 5
#ifndef NO_WAIT
  wait_for_stopper();                         // 7
#endif
#endif
  ready();
destroys:
  skip;
  alive = 0
}

active proctype stopper() {
  byte turns = 2;
  bit won;
  do
  :: turns > 0 ->
    turns--;
    stop = 1;                                 // a
    interrupting = 1;                         // b
#ifndef NO_HEAVY_BARRIER
    d_step { flush() };                       // c
#endif
    won = 0;
    if                                        // d
    :: waiting_on ->
      assert(frame);
      take_lock();
      if
      :: linked -> linked = 0; outcome = by_stop; won = 1
      :: else
      fi;
      drop_lock()
    :: !waiting_on
    fi;
    interrupting = 0;                         // e
    if                                        // f
    :: won -> ready()
    :: else
    fi
  :: turns == 0 -> break
  od
}
