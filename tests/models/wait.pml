// SPDX-License-Identifier: BSL-1.0
//
// The contested wait: framework/leat/csp/wait.hpp, whose step numbers and letters are used here; the selects are those of
// framework/leat/csp/select.hpp.
//
// Roles: N selects, each one wait over two channels of capacity 0, with a case to send, to receive or none at
// each; a timer for select 0, a stopper for select 1. A select that finds another one waiting on the other side
// claims itself, then that one; in vain: it starts over.
//   default     two selects: 0 sends on X and receives from Y, 1 the reverse. They meet while both enroll.
//   -DTHIRD     three: 0 receives from X; 1 receives from Y and sends on X; 2 sends on Y. 1 may claim itself for 0,
//               whose timer is faster, while 2 passes 1 by. Nobody is stopped.
//
// Checked:
// - exactly one claim per wait, one partner per select, and each is told the truth about it;
// - a G is readied once, and not before it has left its stack;
// - nobody touches the wait of one that has gone on (`alive`);
// - at rest, nobody sleeps who has been claimed, and no two sleep who could serve each other.
// Abstracted: memory is sequentially consistent (the protocol rests on locks and read-modify-writes; the barriers
// of the stop are those of interrupt.hpp); queues have no order; a value is the ghost `partners`.
//
// Broken variants, each of which must fail:
//   READY_WHILE_ENROLLING  d readies whatever the state was
//   NO_CAS                 b is a load and a store
//   NO_START_OVER          after a claim in vain a select enrolls on where it was
//   NO_SELF_CLAIM          a select claims the other without claiming itself
//   NO_DISARM              5 does not take back the timer
//   NO_WITHDRAW            5 leaves a waiter linked
//   PARK_REGARDLESS        4 stores open instead of the CAS
//
// By hand: spin -a wait.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000

#ifdef THIRD
#define N 3
#else
#define N 2
#endif

#define enrolling 0
#define open 1
#define by_case(c) (2 + c)       // claimed through channel c
#define by_timer 4
#define by_stop 5
#define refused 6

#define nothing 0
#define sends 1
#define receives 2

byte state[N];
bit alive[N];
byte kind[6];                    // of select p at channel c: 2 * p + c
bit linked[6];                   // under the channel's lock
bit lock[2];
bit stack_left[N];
bit readied[N];
bit finished[N];

bit heap_lock, armed;            // the timer of select 0
bit stop, waiting_on, interrupting;

// Ghosts.
byte claims[N];
byte partners[N];

#define at(p, c) (2 * (p) + (c))
#define waits_opposite(p, c, me) (p != me && linked[at(p, c)] && kind[at(p, c)] != kind[at(me, c)])
#ifdef THIRD
#define somebody(c, me) (waits_opposite(0, c, me) || waits_opposite(1, c, me) || waits_opposite(2, c, me))
#else
#define somebody(c, me) (waits_opposite(0, c, me) || waits_opposite(1, c, me))
#endif

// b. `won` and `was_open` are bits of the caller.
inline claim(p, what, won, was_open) {
#ifdef NO_CAS
  atomic { assert(alive[p]); won = (state[p] <= open); was_open = (state[p] == open) };
  if
  :: atomic { won -> state[p] = what; claims[p]++; assert(claims[p] == 1) }
  :: else
  fi
#else
  atomic {
    assert(alive[p]);
    won = (state[p] <= open);
    was_open = (state[p] == open);
    if
    :: won -> state[p] = what; claims[p]++; assert(claims[p] == 1)
    :: else
    fi
  }
#endif
}

inline make_ready(p) {
  atomic { assert(stack_left[p]); assert(!readied[p]); readied[p] = 1 }
}

// d
inline wake(p, was_open) {
#ifdef READY_WHILE_ENROLLING
  was_open = 1;
#endif
  if
  :: was_open -> assert(alive[p]); make_ready(p); was_open = 0
  :: else
  fi
}

inline take_lock(c) { atomic { !lock[c] -> lock[c] = 1 } }

proctype selecting(byte me) {
  byte c, n, q;
  bit won, was_open;

start:                                                   // 1
  atomic {
    state[me] = enrolling; alive[me] = 1; claims[me] = 0; stack_left[me] = 0; readied[me] = 0; n = 0;
    if
    :: c = 0
    :: c = 1
    fi
  };
  do                                                     // 2
  :: n < 2 && kind[at(me, c)] == nothing -> atomic { c = 1 - c; n++ }
  :: n < 2 && kind[at(me, c)] != nothing ->
    take_lock(c);
    if
    :: somebody(c, me) ->
#ifndef NO_SELF_CLAIM
      claim(me, by_case(c), won, was_open);
      if
      :: atomic { !won -> lock[c] = 0; goto lost }
      :: else
      fi;
#endif
      q = 0;
      do
      :: q < N && !waits_opposite(q, c, me) -> q++
      :: q < N && waits_opposite(q, c, me) ->
        linked[at(q, c)] = 0;                            // a
        claim(q, by_case(c), won, was_open);
        if
        :: won -> break
        :: else -> q++
        fi
      :: q == N -> break
      od;
      if
      :: q < N ->                                        // c
        atomic {
          partners[me]++; partners[q]++;
          assert(partners[me] == 1 && partners[q] == 1);
#ifdef NO_SELF_CLAIM
          state[me] = by_case(c);
#endif
          lock[c] = 0
        };
        wake(q, was_open);
        goto over
      :: q == N ->
#ifdef NO_START_OVER
        atomic { state[me] = enrolling; claims[me] = 0; linked[at(me, c)] = 1; lock[c] = 0; c = 1 - c; n++ }
#else
        atomic { lock[c] = 0; goto in_vain }
#endif
      fi
    :: !somebody(c, me) ->
      atomic { linked[at(me, c)] = 1; lock[c] = 0; c = 1 - c; n++ }
    fi
  :: n == 2 -> break
  od;

  if                                                     // 3
  :: me == 0 -> atomic { !heap_lock -> armed = 1 }
  :: me == 1 ->
    waiting_on = 1;
    if
    :: stop -> claim(me, by_stop, won, was_open)
    :: !stop
    fi
  :: else
  fi;
  if                                                     // 4
  :: state[me] > open
  :: state[me] <= open ->
    stack_left[me] = 1;
#ifdef PARK_REGARDLESS
    state[me] = open;
#else
    atomic {
      if
      :: state[me] == enrolling -> state[me] = open
      :: else -> assert(!readied[me]); readied[me] = 1
      fi
    };
#endif
end_parked:
    readied[me] == 1
  fi;
  if                                                     // 5
#ifndef NO_DISARM
  :: me == 0 -> atomic { !heap_lock -> armed = 0 }
#endif
  :: me == 1 -> waiting_on = 0; !interrupting
  :: else
  fi;
  goto over;

lost:
  claim(me, refused, won, was_open);
in_vain:
over:
  c = 0;
  do
  :: c < 2 && kind[at(me, c)] != nothing ->
    take_lock(c);
#ifdef NO_WITHDRAW
    if
    :: c == 0 -> linked[at(me, c)] = 0
    :: else
    fi;
#else
    linked[at(me, c)] = 0;
#endif
    atomic { lock[c] = 0; c++ }
  :: c < 2 && kind[at(me, c)] == nothing -> c++
  :: c == 2 -> break
  od;
  atomic {
    alive[me] = 0;
    if
    :: state[me] == refused || (state[me] < by_timer && partners[me] == 0) -> goto start
    :: state[me] < by_timer && partners[me] == 1
    :: state[me] == by_timer || state[me] == by_stop -> assert(partners[me] == 0)
    fi
  };
  finished[me] = 1
}

proctype timer() {
  bit won, was_open;
  if
  :: atomic { !heap_lock && armed -> heap_lock = 1; armed = 0 };
    claim(0, by_timer, won, was_open);
    heap_lock = 0;
    if
    :: won && was_open -> make_ready(0)
    :: else
    fi
  :: skip                                                // too late for this run
  fi
}

proctype stopper() {
  bit won, was_open;
  if
  :: stop = 1;
    interrupting = 1;
    if
    :: waiting_on -> claim(1, by_stop, won, was_open)
    :: !waiting_on
    fi;
    interrupting = 0;
    if
    :: won && was_open -> make_ready(1)
    :: else
    fi
  :: skip
  fi
}

#define sleeps(p) (!finished[p] && state[p] == open)
#define could_meet(p, q, c) \
  (sleeps(p) && sleeps(q) && kind[at(p, c)] != nothing && kind[at(q, c)] != nothing && kind[at(p, c)] != kind[at(q, c)])

active proctype rest() {
  timeout;
  assert((finished[0] || sleeps(0)) && (finished[1] || sleeps(1)));
  assert(!could_meet(0, 1, 0) && !could_meet(0, 1, 1));
#ifdef THIRD
  assert(finished[2] || sleeps(2));
  assert(!could_meet(0, 2, 0) && !could_meet(0, 2, 1) && !could_meet(1, 2, 0) && !could_meet(1, 2, 1))
#endif
}

init {
  atomic {
#ifdef THIRD
    kind[at(0, 0)] = receives;
    kind[at(1, 0)] = sends;
    kind[at(1, 1)] = receives;
    kind[at(2, 1)] = sends;
    run selecting(2);
#else
    kind[at(0, 0)] = sends;
    kind[at(0, 1)] = receives;
    kind[at(1, 0)] = receives;
    kind[at(1, 1)] = sends;
#endif
    run selecting(0);
    run selecting(1);
    run timer();
#ifndef THIRD
    run stopper();
#endif
    skip
  }
}
