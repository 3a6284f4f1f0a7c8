// SPDX-License-Identifier: BSL-1.0
//
// The mutex, and the barriers that its unlock need not make: framework/leat/csp/mutex.hpp, whose step numbers
// are used here.
//
// Roles: threads that lock and unlock one mutex a few times; all but STARVING and deadlines.
//
// Weak memory is explicit where the protocol depends on it: the store of step b waits in its thread's buffer
// until the hardware (process `memory`), a full barrier of that thread or a heavy barrier of anybody makes it
// visible. A CAS is a full barrier for its own thread. All other stores are made under the bucket's lock, and
// a barrier follows before anything is read that matters.
//
// Checked: never two holders; nobody sleeps for ever (an invalid end state); the count adds up.
//
// Broken variants, each of which must fail:
//   NO_HEAVY_BARRIER   2 has a full barrier instead
//   NO_FULL_BARRIER    e is left out
//   LOOKS_BEFORE       d comes before b
//   CALM_REGARDLESS    h does not look whether needy counts somebody
//
// By hand: spin -a mutex.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan      (spin -DNAME for a variant)

#ifndef THREADS
#define THREADS 2
#endif
#ifndef ROUNDS
#define ROUNDS 2
#endif
#define NOBODY 255

bit locked = 0;          // as others see it
bit pending[THREADS];    // a store of 0 into it that only its thread sees
bit bucket = 0;          // the bucket's lock
byte count = 0;          // needy: how many
bit careful = 0;         //        and with care
byte waiters = 0;
bit woken = 0;
chan queue = [THREADS] of { byte };
bit wake[THREADS];
byte inside = 0;         // ghost

inline flush(who) {
  if
  :: pending[who] -> pending[who] = 0; locked = 0
  :: else
  fi
}

inline full_barrier(who) { d_step { flush(who) } }

inline heavy_barrier(who) {
#ifdef NO_HEAVY_BARRIER
  full_barrier(who)
#else
  d_step { i = 0; do :: i < THREADS -> flush(i); i++ :: else -> break od; i = 0 }
#endif
}

inline take_bucket() { atomic { bucket == 0 -> bucket = 1 } }

// got = 1: the lock is the caller's.
inline try_once(who) {
  d_step {
    flush(who);
    if
    :: locked == 0 -> locked = 1; got = 1
    :: else -> got = 0
    fi
  }
}

active proctype memory() {
end:
  do
  :: d_step { pending[0] -> pending[0] = 0; locked = 0 }
  :: d_step { pending[1] -> pending[1] = 0; locked = 0 }
#if THREADS > 2
  :: d_step { pending[2] -> pending[2] = 0; locked = 0 }
#endif
  od
}

inline lock(who) {
  try_once(who);                                                  // 1
  if
  :: got
  :: else ->
    was_woken = 0;
    do
    :: take_bucket();                                             // 2
      if
      :: careful
      :: else -> careful = 1; heavy_barrier(who)
      fi;
      d_step {
        if
        :: was_woken -> woken = 0; count = count + waiters
        :: else
        fi;
        waiters++;
        if
        :: !woken -> count++
        :: else
        fi
      };
      full_barrier(who);                                          // 3
      try_once(who);                                              // 4
      if
      :: got ->
        d_step {
          waiters--;
          if
          :: !woken -> assert(count > 0); count--
          :: else
          fi
        };
        bucket = 0;
        break
      :: else ->
        d_step { queue ! who; bucket = 0 };
        atomic { wake[who] -> wake[who] = 0; was_woken = 1 }      // 5
      fi
    od;
    was_woken = 0
  fi;
  got = 0
}

inline unlock(who) {
#ifdef LOOKS_BEFORE
  atomic { some = (count > 0 || careful) };
  pending[who] = 1;
#else
  pending[who] = 1;                                               // b
  atomic { some = (count > 0 || careful) };                       // d
#endif
  if
  :: some ->
    some = 0;
#ifndef NO_FULL_BARRIER
    full_barrier(who);                                            // e
#endif
    if
    :: count > 0 ->                                               // f
      take_bucket();                                              // g; the buffer goes before it
      full_barrier(who);
      d_step {
        next = NOBODY;
        if
        :: !woken && nempty(queue) ->
          queue ? next; woken = 1;
          assert(count >= waiters);
          count = count - waiters;
          waiters--
        :: else
        fi;
        bucket = 0
      };
      d_step {
        if
        :: next != NOBODY -> wake[next] = 1
        :: else
        fi;
        next = NOBODY
      }
    :: else ->
      if
      :: skip                                                     // h, now and then
      :: take_bucket();
        full_barrier(who);
#ifdef CALM_REGARDLESS
        careful = 0;
        count = 0;
#else
        d_step {
          if
          :: count == 0 -> careful = 0
          :: else
          fi
        };
#endif
        bucket = 0
      fi
    fi
  :: else -> some = 0
  fi
}

active [THREADS] proctype thread() {
  byte who = _pid - 1;
  byte round = 0, next = NOBODY, i = 0;
  bit got = 0, was_woken = 0, some = 0;
  do
  :: round < ROUNDS ->
    lock(who);
    atomic { inside++; assert(inside == 1) };
    inside--;
    unlock(who);
    round++
  :: else -> break
  od
}
