// SPDX-License-Identifier: BSL-1.0
//
// The wake protocol: the head of framework/leat/sched/idle_set.hpp, whose step names are used here.
//
// Roles: PS Ps and MS Ms. M 0 starts with P 0 and runs a G that spawns LOCAL Gs into its own ring (the M-side
// submitter). `outside` is a thread that is no M and puts FOREIGN Gs into the global queue. M 1 comes back from
// a blocking call if RETURNER is 1: it takes an idle P and runs its G at once, or puts it into the global queue
// and sleeps. The other Ms sleep.
//
// A G ends at once, or runs until nothing else in the system can move. `standstill` acts then: it asserts that
// no G is queued while a P is idle, and lets one long G end. At the last standstill all Gs have run.
//
// Weak memory: a submitter's push, and an idler's counter updates with its unlock, may become visible later than
// the loads that follow them, unless a full barrier stands between. The two loads of step 3 come in either order,
// which does no harm; those of e and of found_work do not (GLOBAL_LOAD_RELAXED).
//
// Abstracted: queues are counters; a lock section is one step where nobody outside can see its middle; an M
// without a P waits on `given` for any P, so that start_m always finds an M or makes one; with LIMITED there are
// MS threads and no more, and start_m fails if none of them sleeps. Not modelled: run_next (exempt), timers and
// the poller (timer_poll.pml), ring overflow, retaking, resizing, and the wakes that 4 puts off until an M that stands
// back looks again (fetch_policy::puts_off_wake).
//
// BURST: M 0 pushes as in a burst, with light barriers. How it begins and ends one is not modelled: each is a
// read-modify-write of bursting_ on its side, against a full barrier and a read of it on the other.
//
// Broken variants, each of which must fail:
//   NO_SUBMIT_BARRIER    2 is left out
//   NO_IDLE_BARRIER      d is left out
//   NO_IDLE_RECHECK      e is left out
//   NO_PASS_ON           found_work wakes nobody
//   LAST_BY_LOAD         found_work decides by a load before the decrement whether it was the last searcher
//   NO_SECOND_LOOK       a waker in step 4 that finds no idle P takes its searching back and goes
//   NO_LOOK_BEFORE_SLEEP with LIMITED: f sleeps although a waker found no M meanwhile
//   UNDO_OUTSIDE_LOCK    with LIMITED: a waker that found no M takes its searching back after the unlock
//   NO_HEAVY_BARRIER     with BURST: d, found_work and the second look use a full barrier only
//   GLOBAL_LOAD_RELAXED  e and found_work may read the rings before the size of the global queue
//
// check.sh runs it with small numbers; with the defaults below it has some ten million states (1 GB).
// By hand: spin -DMS=2 -a wake.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000
//          spin -t -p wake.pml shows the trail of an error.

#ifndef PS
#define PS 2
#endif
#ifndef MS
#define MS 3
#endif
#ifndef SPIN
#define SPIN 1
#endif
#ifndef LOCAL
#define LOCAL 1
#endif
#ifndef FOREIGN
#define FOREIGN 2
#endif
#ifndef RETURNER
#define RETURNER 0
#endif
#define ALL (1 + LOCAL + FOREIGN + RETURNER)

byte ring[PS];
byte global_queue = 0;   // under lock
byte global_size = 0;    // what others read of it without the lock
#ifdef BURST
byte unseen = 0;         // what M 0 has pushed without a barrier and nobody sees yet
#define heavy_barrier atomic { ring[0] = ring[0] + unseen; unseen = 0 }
#endif
bit lock = 0;
bit idle[PS];            // the idle list
byte idle_ps = 0;
byte searching = 0;
byte spinning = 0;
chan given = [PS] of { byte };  // Ps on their way to an M, each counted in searching

#ifdef LIMITED
byte sleepers = 0;       // Ms on the idle list
bit m_wanted = 0;        // start_m found none; under lock
#endif

// Ghosts.
byte ran = 0;
byte long_gs = 0;
byte let_go = 0;

#if PS == 2
#define rings_empty (ring[0] == 0 && ring[1] == 0)
#define some_idle (idle[0] || idle[1])
#else
#define rings_empty (ring[0] == 0 && ring[1] == 0 && ring[2] == 0)
#define some_idle (idle[0] || idle[1] || idle[2])
#endif

inline pop_idle(to) {  // inside an atomic step, with some_idle
  if
  :: idle[0] -> to = 0
  :: !idle[0] && idle[1] -> to = 1
#if PS > 2
  :: !idle[0] && !idle[1] && idle[2] -> to = 2
#endif
  fi;
  idle[to] = 0;
  idle_ps--
}

// `out` becomes 1 if a G is queued somewhere. `i` is a byte of the caller.
inline look_at_queues(out, i) {
#if defined(BURST) && !defined(NO_HEAVY_BARRIER)
  heavy_barrier;
#endif
#ifdef GLOBAL_LOAD_RELAXED
  if
  :: rings_first = 0
  :: rings_first = 1
  fi;
  if
  :: atomic { !rings_first && global_size > 0 -> out = 1 }
  :: else
  fi;
#else
  if
  :: atomic { global_size > 0 -> out = 1 }
  :: else
  fi;
#endif
  i = 0;
  do
  :: atomic { i < PS && ring[i] > 0 -> out = 1; i = PS }
  :: atomic { i < PS && ring[i] == 0 -> i++ }
  :: i == PS -> break
  od;
  i = 0;
#ifdef GLOBAL_LOAD_RELAXED
  if
  :: atomic { rings_first && global_size > 0 -> out = 1 }
  :: else
  fi;
  rings_first = 0;
#endif
}

// Step 4. A waker that finds no idle P has been counted as a searcher in vain, and others may have relied on it:
// it looks again on their behalf. `q`, `i` are bytes of the caller, `more` is a bit.
inline wake_one(q, more, i) {
  do
  :: atomic { searching == 0 -> searching = 1 };
    if
    :: atomic { !lock && some_idle -> pop_idle(q) };
#ifdef LIMITED
      // start_m at the limit of threads: an M that sleeps, or none.
      if
      :: atomic { !lock && sleepers > 0 -> sleepers--; given!q; q = 0; break }
      :: atomic {
          !lock && sleepers == 0 -> idle[q] = 1; idle_ps++; q = 0; m_wanted = 1;
#ifdef UNDO_OUTSIDE_LOCK
          skip
        };
        searching--;
        break
#else
          searching--;
          break
        }
#endif
      fi
#else
      atomic { given!q; q = 0; break }
#endif
    :: !lock && !some_idle
    fi;
    searching--;
#ifdef NO_SECOND_LOOK
    break
#else
    if
    :: idle_ps == 0 -> break
    :: else -> look_at_queues(more, i)
    fi;
    if
    :: more -> more = 0
    :: else -> break
    fi
#endif
  :: searching > 0 -> break
  od
}

// Step 3: two relaxed loads, so in either order. `yes` is a bit of the caller.
inline read_counters(yes) {
  if
  :: atomic { idle_ps > 0 -> yes = 1 };
    if
    :: searching == 0
    :: else -> yes = 0
    fi
  :: idle_ps == 0 -> yes = 0
  :: atomic { searching == 0 -> yes = 1 };
    if
    :: idle_ps > 0
    :: else -> yes = 0
    fi
  :: searching > 0 -> yes = 0
  fi
}

inline wake_if_needed(yes, q, j) {
  read_counters(yes);
  if
  :: yes -> yes = 0; wake_one(q, yes, j)
  :: else
  fi
}

// What M 0's G pushes into its own ring.
inline push_local(p, yes, q, j) {
#if defined(BURST)
  unseen++;                             // 1, with a light barrier for 2
  read_counters(yes);
  heavy_barrier;                        // it comes out of the store buffer some time
  if
  :: yes -> yes = 0; wake_one(q, yes, j)
  :: else
  fi
#elif defined(NO_SUBMIT_BARRIER)
  if
  :: ring[p]++;                         // visible at once
    wake_if_needed(yes, q, j)
  :: read_counters(yes);                // still in the store buffer
    ring[p]++;
    if
    :: yes -> yes = 0; wake_one(q, yes, j)
    :: else
    fi
  fi
#else
  ring[p]++;                            // 1
  wake_if_needed(yes, q, j)                // 2 is that the push is visible here; 3, 4
#endif
}

inline push_global(yes, q, j) {
#ifdef NO_SUBMIT_BARRIER
  if
  :: atomic { !lock -> global_queue++; global_size++ };
    wake_if_needed(yes, q, j)
  :: atomic { !lock -> lock = 1 };      // the push and the unlock are still in the store buffer
    read_counters(yes);
    atomic { global_queue++; global_size++; lock = 0 };
    if
    :: yes -> yes = 0; wake_one(q, yes, j)
    :: else
    fi
  fi
#else
  atomic { !lock -> global_queue++; global_size++ };
  wake_if_needed(yes, q, j)
#endif
}

proctype outside() {
#ifdef GLOBAL_LOAD_RELAXED
  bit rings_first;
#endif
  byte n = FOREIGN, q, j;
  bit yes;
  do
  :: n > 0 -> push_global(yes, q, j); n--
  :: n == 0 -> break
  od
}

proctype m(byte id) {
#ifdef GLOBAL_LOAD_RELAXED
  bit rings_first;
#endif
  byte p, q, i, j, loot;
  bit yes, counted, spins, once_more, seen, last;
#ifdef NO_IDLE_BARRIER
  bit looked;
#endif
  if
  :: atomic { id == 0 -> p = 0 };
    i = LOCAL;
    do
    :: i > 0 -> push_local(p, yes, q, j); i--
    :: i == 0 -> break
    od;
    goto run_g
#if RETURNER
  :: id == 1 ->
    if
    :: atomic { !lock && some_idle -> pop_idle(p) }; goto run_g
    :: atomic { !lock && !some_idle }; push_global(yes, q, j)
    fi
#endif
  :: else
  fi;

asleep:
#ifdef LIMITED
  // idle_set::sleep: a waker that found no M has left its P on the idle list.
  if
#ifndef NO_LOOK_BEFORE_SLEEP
  :: atomic { !lock && m_wanted && some_idle -> m_wanted = 0; pop_idle(p); counted = 1; searching++; goto find }
  :: atomic { !lock && !(m_wanted && some_idle) -> sleepers++ }
#else
  :: atomic { !lock -> sleepers++ }
#endif
  fi;
#endif
end_asleep:
  atomic { given?p; counted = 1 };

find:
  if
  :: atomic { ring[p] > 0 -> ring[p]--; goto found }
  :: else
  fi;
  if
  :: global_size > 0 ->
    // A batch, as the batch rule has it for few Gs: one to run, one for the ring. The ring fills before the
    // size goes down, which is what others may see in the middle.
    atomic { !lock -> lock = 1 };
    if
    :: atomic { global_queue > 1 -> global_queue = global_queue - 2; ring[p]++ };
      atomic { global_size = global_queue; lock = 0; goto found }
    :: atomic { global_queue == 1 -> global_queue = 0; global_size = 0; lock = 0; goto found }
    :: atomic { global_queue == 0 -> lock = 0 }
    fi
  :: else
  fi;
  // try_spin
  if
  :: spins
  :: !spins ->
    if
    :: atomic { spinning < SPIN -> spinning++; assert(spinning <= SPIN); spins = 1 };
      if
      :: atomic { !counted -> counted = 1; searching++ }
      :: counted
      fi
    :: else
    fi
  fi;
  if
  :: counted || once_more ->
    once_more = 0;
    i = 0;
    do
    :: i < PS && (i == p || ring[i] == 0) -> i++
    :: atomic { i < PS && i != p && ring[i] > 0 -> loot = ring[i] - ring[i] / 2; ring[i] = ring[i] - loot };
      i = 0;
      atomic { ring[p] = ring[p] + loot - 1; loot = 0; goto found }
    :: i == PS -> i = 0; break
    od
  :: else
  fi;
  if
  :: ring[p] > 0 -> goto find
  :: else
  fi;

  // a to f
#ifdef NO_IDLE_BARRIER
  // The look of e may come before b and c are seen by others: first with the lock still held, then without.
  if
  :: atomic { !lock && global_queue > 0 -> goto find }
  :: atomic { !lock && global_queue == 0 -> lock = 1 }
  fi;
  if
  :: look_at_queues(seen, i); looked = 1
  :: skip
  fi;
  atomic { idle[p] = 1; idle_ps++; p = 0; lock = 0 };
  if
  :: !looked -> look_at_queues(seen, i); looked = 1
  :: skip
  fi;
  atomic { searching = searching - counted; spinning = spinning - spins; counted = 0; spins = 0 };
  if
  :: !looked -> look_at_queues(seen, i)
  :: else -> looked = 0
  fi;
#else
  if
  :: atomic { !lock && global_queue > 0 -> goto find }                             // a
  :: atomic { !lock && global_queue == 0 -> idle[p] = 1; idle_ps++; p = 0 }        // b
  fi;
  atomic { searching = searching - counted; spinning = spinning - spins; counted = 0; spins = 0 };  // c
#ifndef NO_IDLE_RECHECK
  look_at_queues(seen, i);                                                         // e
#endif
#endif
  if                                                                               // f
  :: atomic { !seen -> goto asleep }
  :: atomic { seen -> seen = 0 };
    if
    :: atomic { !lock && some_idle -> pop_idle(p) };
      atomic { counted = 1; searching++; once_more = 1; goto find }
    :: atomic { !lock && !some_idle -> goto asleep }
    fi
  fi;

found:
  once_more = 0;
  if
  :: counted ->
#ifdef LAST_BY_LOAD
    last = (searching == 1);
    atomic { searching--; spinning = spinning - spins; counted = 0; spins = 0 };
#else
    atomic { searching--; last = (searching == 0); spinning = spinning - spins; counted = 0; spins = 0 };
#endif
#ifndef NO_PASS_ON
    if
    :: last ->
      last = 0;
      look_at_queues(seen, i);
      if
      :: seen -> seen = 0; wake_one(q, yes, j)
      :: else
      fi
    :: else
    fi
#else
    last = 0
#endif
  :: else
  fi;

run_g:
  if
  :: atomic { ran++; goto find }
  :: atomic { ran++; long_gs++ };
    atomic { let_go > 0 -> let_go--; long_gs--; goto find }
  fi
}

active proctype standstill() {
  do
  :: atomic {
      timeout ->
      assert((global_queue == 0 && rings_empty) || idle_ps == 0);
      if
      :: long_gs > 0 -> let_go++
      :: else -> break
      fi
    }
  od;
  assert(ran == ALL);
  assert(searching == 0 && spinning == 0 && idle_ps == PS)
}

init {
  atomic {
    byte k = 1;
    do
    :: k < PS -> idle[k] = 1; idle_ps++; k++
    :: else -> break
    od;
    k = 0;
    do
    :: k < MS -> run m(k); k++
    :: else -> break
    od;
    k = 0;
    run outside()
  }
}
