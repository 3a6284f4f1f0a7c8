// SPDX-License-Identifier: BSL-1.0
//
// The biased lock: framework/leat/csp/biased_lock.hpp, whose step numbers are used here.
//
// Roles: two Ms with seats, and a plain thread, which has none and never biases.
//
// Weak memory is explicit where the protocol depends on it: an M's stores to its seat wait in a buffer, in their
// order (each is a release), until the hardware (process `memory`) or a heavy barrier makes them visible. All
// other stores are made under thin, which is taken and left by acquire and release, or are followed by a heavy
// barrier. Reads of bias by an M that finds its own seat there are of its own store, or of a revocation.
//
// Checked: never two holders; who holds it by bias is `last`, whose seat it will clear; no deadlock (a
// revocation ends). BORN_BIASED: the same from a lock that its maker has biased.
// Abstracted: sections are a moment; an M biases it whenever it likes while it holds thin; one lock.
//
// Broken variants, each of which must fail:
//   NO_HEAVY_BARRIER  c is left out
//   NO_SECOND_LOOK    4 does not look at bias again
//   NO_WAIT           d is left out
//   ONE_FLAG          holds is in the lock, for all Ms, instead of in each seat: what one undoes in 4 can be
//                     what the next has said in 2
//
// By hand: spin -a biased.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan      (spin -DNAME for a variant)

#define MS 2
#define ROUNDS 3

#ifdef ONE_FLAG
#define flag_of(who) 0
#else
#define flag_of(who) (who)
#endif

bit thin = 0;
#ifdef BORN_BIASED
byte bias = 1;           // who + 1: by its maker, before others knew of it
byte last = 1;           // the same
#else
byte bias = 0;
byte last = 0;
#endif
bit holds[MS];           // as others see it
chan buffer[MS] = [2] of { bit };
byte inside = 0;         // ghost

inline flush(who) {
  if
  :: nempty(buffer[who]) -> buffer[who] ? v; holds[flag_of(who)] = v
  :: empty(buffer[who])
  fi
}

inline heavy_barrier() {
#ifndef NO_HEAVY_BARRIER
  d_step { flush(0); flush(0); flush(1); flush(1); v = 0 }
#else
  skip
#endif
}

inline section() {
  atomic { inside++; assert(inside == 1) };
  inside--
}

active proctype memory() {
  bit v;
end:
  do
  :: d_step { nempty(buffer[0]) -> buffer[0] ? v; holds[flag_of(0)] = v; v = 0 }
  :: d_step { nempty(buffer[1]) -> buffer[1] ? v; holds[flag_of(1)] = v; v = 0 }
  od
}

// Steps a to g. biases: it is an M, which may bias the lock.
inline by_thin(who, biases) {
  atomic { thin == 0 -> thin = 1 };
  if
  :: bias != 0 ->
    was = bias - 1;
    bias = 0;
    heavy_barrier();
#ifndef NO_WAIT
    holds[flag_of(was)] == 0;
#endif
    was = 0
  :: else
  fi;
  section();
  last = (biases -> who + 1 : 0);
  if
  :: biases -> bias = who + 1
  :: skip
  fi;
  thin = 0
}

active [MS] proctype m() {
  bit v;
  byte was, i;
  for (i : 1 .. ROUNDS) {
    if
    :: bias == _pid ->
      buffer[_pid - 1] ! 1;
#ifndef NO_SECOND_LOOK
      if
      :: bias == _pid -> section(); assert(last == _pid); buffer[_pid - 1] ! 0
      :: else -> buffer[_pid - 1] ! 0; by_thin(_pid - 1, true)
      fi
#else
      section();
      buffer[_pid - 1] ! 0
#endif
    :: else -> by_thin(_pid - 1, true)
    fi
  }
}

active proctype plain() {
  bit v;
  byte was, i;
  for (i : 1 .. ROUNDS) {
    by_thin(0, false)
  }
}
