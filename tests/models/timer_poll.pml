// SPDX-License-Identifier: BSL-1.0
//
// Who watches the clock: the head of framework/leat/sched/polling.hpp, whose step names are used here.
//
// Roles: two adders, each with the heap of its own busy P, which then computes for ever; and one M that goes
// through rounds of polling, as whoever is the poller does. Deadlines are 1 (soon), 2 (later), NEVER.
// `standstill` acts when nothing can move: an M that sleeps in the poller must not sleep past the earliest timer.
//
// Weak memory: the adder's store to its heap and the poller's store to poll_until are made visible before the
// loads that follow, because they are seq_cst; in the variant ADDER_RELAXED or POLLER_RELAXED they may be late.
// Abstracted: a heap is its earliest deadline; the poller's token is the one of sleep_poller. Not modelled:
// removal of timers (it only makes the poller wake for nothing), I/O, who becomes the poller.
//
// Broken variants, each of which must fail:
//   NO_RECHECK      b is left out
//   NO_INTERRUPT    2 is left out
//   ADDER_RELAXED   1 may be seen by others later than 2 is done
//   POLLER_RELAXED  a may be seen by others later than b is done
//
// By hand: spin -a timer_poll.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan

#define NEVER 3

byte heap[2] = NEVER;
byte poll_until = 0;   // 0: nobody polls
bit token = 0;         // an interrupt that was not used up
bit asleep = 0;
byte sleeps_until = NEVER;

inline earliest(to) {
  to = heap[0];
  if
  :: atomic { heap[1] < to -> to = heap[1] }
  :: else
  fi
}

proctype adder(byte id) {
  byte until, when = 2;
  do
  :: when > 0 ->
    if
    :: atomic { when < heap[id] ->
#ifdef ADDER_RELAXED
        until = poll_until };
      heap[id] = when;
#else
        heap[id] = when };                    // 1
      until = poll_until;                     // 2
#endif
#ifndef NO_INTERRUPT
      if
      :: until != 0 && when < until -> token = 1
      :: else
      fi;
#endif
      until = 0
    :: else
    fi;
    when--
  :: when > 0 -> when--                       // this one is not added
  :: when == 0 -> break
  od
}

proctype poller() {
  byte guess, again;
end:
  do
  :: earliest(guess);
#ifdef POLLER_RELAXED
    earliest(again);
    poll_until = guess;
#else
    poll_until = guess;                       // a
    earliest(again);                          // b
#endif
#ifdef NO_RECHECK
    again = guess;
#endif
    if
    :: again >= guess ->
      atomic { sleeps_until = guess; asleep = 1 };
end_asleep:
      // The clock does not run: what wakes by its deadline is accounted for by standstill.
      atomic { token -> token = 0; asleep = 0; sleeps_until = NEVER }
    :: else
    fi;
    atomic { poll_until = 0; again = 0; guess = 0 }
  od
}

active proctype standstill() {
  byte least;
  atomic {
    timeout ->
    earliest(least);
    assert(asleep);
    assert(sleeps_until <= least)
  }
}

init { atomic { run adder(0); run adder(1); run poller() } }
