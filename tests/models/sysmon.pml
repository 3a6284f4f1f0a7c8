// SPDX-License-Identifier: BSL-1.0
//
// Who watches while a P is busy: the head of framework/leat/sched/sysmon.hpp, whose step names are used here. Who takes an
// idle P does so in framework/leat/sched/idle_set.hpp.
//
// Roles: sysmon, which sleeps deeply again and again; and two takers, each of which takes an idle P, uses it and
// gives it back, or computes on for ever. A sleep lasts until NEAR, at most a lag away, which ends by itself, or
// FAR. `standstill` acts when nothing can move: no P may be busy while sysmon sleeps until FAR, and what the last
// turn of a P has left behind must have been looked at (`unseen`), or be looked at when a NEAR sleep ends.
//
// Weak memory: busy + 1 and the store of `until` are made visible before the loads that follow, because they are
// seq_cst; in the variants TAKER_RELAXED and SYSMON_RELAXED they may be late.
// Abstracted: what a round of sysmon does; the end of a FAR sleep by its own time, which is as late as can be.
//
// Broken variants, each of which must fail:
//   NO_RECHECK      3 is left out
//   NO_TURNS        3 does not compare the turns
//   BUSY_AT_LOOK    3 does not ask whether a P was busy at the look
//   NO_CALL         c is left out
//   TAKER_RELAXED   a may be seen by sysmon later than b is done
//   SYSMON_RELAXED  1 may be seen by takers later than 3 is done
//
// By hand: spin -a sysmon.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan

#define NEAR 1
#define FAR 2

byte busy = 0;
byte turns_of_ps = 0;
bit unseen = 0;       // a P has become idle since the last look
byte until = 0;       // 0: sysmon is awake
bit token = 0;        // a signal that was not used up
byte sleeping = 0;    // until when; 0: it does not

proctype taker() {
  byte u, turns = 2;
  do
  :: turns > 0 ->
#ifdef TAKER_RELAXED
    u = until;
    busy++;
#else
    busy++;                                   // a
    u = until;                                // b
#endif
#ifndef NO_CALL
    if
    :: u == FAR -> token = 1                  // c
    :: else
    fi;
#endif
    u = 0;
    if
    :: turns_of_ps++;                         // of a: sysmon may see it as late as this
      atomic { busy--; unseen = 1 }; turns--  // e
    :: break                                  // a hog
    fi
  :: turns == 0 -> break
  od
}

proctype sysmon() {
  byte u, seen, turns_at_look;
  bit idle_at_look;
end:
  do
  :: turns_at_look = turns_of_ps;             // 0
    atomic { idle_at_look = (busy == 0); if :: idle_at_look -> unseen = 0 :: else fi };
    if
    :: u = NEAR
    :: u = FAR
    fi;
#ifdef SYSMON_RELAXED
    seen = busy;
    until = u;
#else
    until = u;                                // 1
    seen = busy;                              // 3, after the barrier
#endif
#ifndef NO_TURNS
    if :: turns_of_ps != turns_at_look -> seen = 1 :: else fi;
#endif
#ifndef BUSY_AT_LOOK
    if :: !idle_at_look -> seen = 1 :: else fi;
#endif
#ifdef NO_RECHECK
    seen = 0;
#endif
    if
    :: seen == 0 ->
      sleeping = u;
end_asleep:
      if
      :: atomic { token -> token = 0; sleeping = 0 }   // 4
      :: atomic { u == NEAR -> sleeping = 0 }
      fi
    :: else
    fi;
    atomic { until = 0; u = 0; seen = 0 };    // 5
    turns_at_look = 0;
    // Awake, with a P busy, it goes on in rounds that are no deep sleeps.
end_round:
    busy == 0
  od
}

active proctype standstill() {
  atomic {
    timeout ->
    assert(busy == 0 || sleeping != FAR);
    assert(!unseen || sleeping != FAR)
  }
}

init { atomic { run taker(); run taker(); run sysmon() } }
