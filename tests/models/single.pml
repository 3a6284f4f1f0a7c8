// SPDX-License-Identifier: BSL-1.0
//
// The ring without locks: framework/leat/csp/single.hpp, whose step numbers and letters are used here.
//
// Roles: side 0 is the writer, side 1 the reader, of VALUES values through CAP slots; both wait by the same steps.
//
// Weak memory is explicit: what a side stores to its own index (tail_, head_) waits in its store buffer until the
// hardware (process `memory`) or a barrier makes it visible, while the side itself reads on. All such stores
// add one to the same index and leave the buffer in order, so the buffer is a number. A full barrier empties the
// side's own buffer, a heavy one both, the release of the lock and of step e the side's own. The words to_writer_
// and to_reader_ are changed by read-modify-writes alone, which do not wait in the buffer and do not empty it.
//
// Checked:
// - the ring never holds more than CAP, and nothing is taken that is not there;
// - a side is readied once per park, off its stack;
// - at rest, both sides are done: nobody sleeps beside a value, or beside room.
// Abstracted: close, deadlines and selects, which settle under the lock; spinning; e may happen before any
// operation.
//
// Broken variants, each of which must fail:
//   NO_HEAVY_BARRIER     2 passes its own full barrier only, though the other side is not cautious
//   ANNOUNCES_LATE       2 passes the heavy barrier before it sets the bits
//   NO_RECHECK           3 does not look again
//   NO_FULL_BARRIER      c is a second look without a barrier
//
// By hand: spin -DCAP=1 -a single.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000

#ifndef CAP
#define CAP 1
#endif
#ifndef VALUES
#define VALUES 4
#endif

byte index[2];                   // tail_, head_: as others see them
byte buffered[2];                // stores to them that nobody else sees yet
bit waits[2] = 0;                // side s is about to park: a bit of the word that the other side reads
bit cautious[2] = 1;             // the other side must pass a barrier; the other bit of that word
bit lock, linked[2], stack_left[2], readied[2], finished[2];

// As the side itself sees it.
#define room (index[0] + buffered[0] - index[1] < CAP)
#define value (index[0] > index[1] + buffered[1])
#define can_go_on(s) ((s == 0 && room) || (s == 1 && value))

inline drain(s) { d_step { index[s] = index[s] + buffered[s]; buffered[s] = 0 } }
inline heavy_barrier() {
  d_step {
    index[0] = index[0] + buffered[0]; buffered[0] = 0;
    index[1] = index[1] + buffered[1]; buffered[1] = 0
  }
}

active proctype memory() {
end:
  do
  :: atomic { buffered[0] > 0 -> index[0]++; buffered[0]-- }
  :: atomic { buffered[1] > 0 -> index[1]++; buffered[1]-- }
  od
}

// d. `found` is a bit of the caller.
inline wake_other(s, found) {
  atomic { !lock -> lock = 1 };
  atomic {
    found = linked[1 - s];
    if
    :: found -> linked[1 - s] = 0; waits[1 - s] = 0
    :: else
    fi
  };
  atomic { drain(s); lock = 0 };
  if
  :: atomic { found -> assert(stack_left[1 - s] && !readied[1 - s]); readied[1 - s] = 1; found = 0 }
  :: else
  fi
}

proctype side(byte s) {
  byte n;
  bit found, before;
  do
  :: n == VALUES -> break
  :: n < VALUES ->
    if                                                   // e
    :: cautious[1 - s] ->
      atomic { drain(s); before = waits[1 - s]; cautious[1 - s] = 0 };
      if
      :: before -> wake_other(s, found)
      :: else
      fi
    :: skip
    fi;
look:
    if
    :: can_go_on(s) ->                                   // a
      atomic { buffered[s]++; n++; assert(index[0] + buffered[0] - index[1] <= CAP) };
      if                                                 // b
      :: !waits[1 - s] && !cautious[1 - s]
      :: else ->
#ifndef NO_FULL_BARRIER
        drain(s);                                        // c
#endif
        if
        :: waits[1 - s] -> wake_other(s, found)
        :: else
        fi
      fi
    :: !can_go_on(s) ->                                  // 1
#ifdef ANNOUNCES_LATE
      if
      :: cautious[s]
      :: else -> heavy_barrier()
      fi;
      atomic { waits[s] = 1; cautious[s] = 1 };
      drain(s);
#else
      atomic { before = cautious[s]; waits[s] = 1; cautious[s] = 1 };   // 2
      drain(s);
#ifdef NO_HEAVY_BARRIER
      before = 1;
#endif
      if
      :: before
      :: else -> heavy_barrier()
      fi;
#endif
      atomic { !lock -> lock = 1 };                      // 3
#ifndef NO_RECHECK
      if
      :: can_go_on(s) -> waits[s] = 0; atomic { drain(s); lock = 0; goto look }
      :: else
      fi;
#endif
      atomic { linked[s] = 1; readied[s] = 0 };          // 4
      stack_left[s] = 1;
      atomic { drain(s); lock = 0 };
end_parked:
      atomic { readied[s] -> readied[s] = 0; stack_left[s] = 0; goto look }
    fi
  od;
  finished[s] = 1
}

active proctype rest() {
  timeout;
  assert(finished[0] && finished[1]);
  assert(index[0] == VALUES && index[1] == VALUES)
}

init { atomic { run side(0); run side(1) } }
