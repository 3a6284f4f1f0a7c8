// SPDX-License-Identifier: BSL-1.0
//
// The fence: framework/leat/sched/fence.hpp, whose step numbers are used here. What passes the gate does so by
// framework/leat/sched/entered.hpp and framework/leat/sched/no_quarantine.hpp.
//
// Roles: the thread of a G that hangs now and then, in between uses what its successor will use, in each of the ways
// that there are (a to e); sysmon, which fences it once and says that it is out. `touch` stands for whatever the
// successor relies on: taking from a ring, waking a waiter, a value in hand, a state. After `out` it must not happen.
//
// Abstracted: the gate, which retake.pml is about, is a hold that waits for a thread in user code and makes its next
// entry wait. come_in is seen at once: the heavy barrier of step 1 comes before everything else. That what began before
// come_in was raised is over after so much CPU time is an assumption here (`early` is waited for), not a result.
//
// Broken variants, each of which must fail:
//   NO_WAIT              step 2 is left out
//   COME_IN_FALLS        step 8 does not wait until the fenced thread is gone
//   COUNT_BEHIND_GATE   a no_quarantine begins without passing the gate
//   COUNT_UNSEEN       step 4 is left out
//   DONE_OUTSIDE         what d does, it does after it has left again
//   COUNT_LATE           e reads come_in before it counts
//
// By hand: spin -a fence.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan      (spin -DNAME for a variant)

bit come_in = 0;
bit in_runtime = 0;
bit held = 0;
bit fenced = 0;
byte count = 0;
byte early = 0;      // operations under way outside the runtime that began when come_in was 0
bit out = 0;
bit gone = 0;        // the thread has left the G's stack

inline touch() { assert(!out) }

inline enter() {
  atomic { !held -> in_runtime = 1 };
  if
  :: fenced -> goto ended
  :: else
  fi
}
inline leave() { in_runtime = 0 }

active proctype thread() {
  do
  :: // a: an operation that comes in
    enter();
    touch();
    leave()
  :: // b: a one-to-one channel
    if
    :: atomic { come_in == 0 -> early++ };
      touch();
      early--
    :: come_in == 1 ->
      enter();
      touch();
      leave()
    fi
  :: // c: an operation under no_quarantine
    if
    :: atomic { come_in == 0 -> early++ };
      touch();
      early--
    :: come_in == 1 ->
#ifdef COUNT_BEHIND_GATE
      count++;
#else
      enter();
      count++;
      leave();
#endif
      touch();
      count--
    fi
  :: // d: a state, a value in hand
    enter();
#ifdef DONE_OUTSIDE
    leave();
    touch()
#else
    touch();
    leave()
#endif
  :: // e: a one-to-one channel of values that have code for their moves. Nobody waits for what began early.
#ifdef COUNT_LATE
    if
    :: come_in == 0 -> count++;
      touch();
      count--
    :: come_in == 1 ->
#else
    count++;
    if
    :: come_in == 0 ->
      touch();
      count--
    :: come_in == 1 -> count--;
#endif
      enter();
      touch();
      leave()
    fi
  od;
ended:
  gone = 1
}

active proctype sysmon() {
  come_in = 1;                                   // 1
again:
#ifndef NO_WAIT
  early == 0;                                    // 2
#endif
  atomic { !in_runtime -> held = 1 };            // 3
  if
#ifndef COUNT_UNSEEN
  :: count > 0 -> held = 0; goto again         // 4
#endif
  :: else -> fenced = 1                          // 5
  fi;
  held = 0;                                      // 6
  out = 1;                                       // 7
#ifndef COME_IN_FALLS
  gone == 1;                                     // 8
#endif
  come_in = 0;
end:
  skip
}
