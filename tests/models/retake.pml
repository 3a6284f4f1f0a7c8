// SPDX-License-Identifier: BSL-1.0
//
// The retake protocol: framework/leat/sched/retake_gate.hpp, whose step numbers are used here.
//
// Roles: one owner (an M that enters and leaves the runtime for ever), two askers: asker(1) is sysmon, which
// keeps the P it borrowed or gives it back, and also holds an owner whose P it has taken; asker(0) is a thief, which
// always gives it back.
//
// Weak memory is explicit where the protocol depends on it:
// - The owner's stores to in_runtime and its plain stores of quiet wait in a buffer until the hardware
//   (process `memory`) or a heavy barrier makes them visible, in either order, but a leave (release) never
//   before an earlier quiet. The owner itself reads its own buffered stores.
// - What the owner reads of its P (here: `contents`) may be read before the load of `word` that precedes it
//   in the program, unless that is an acquire or a heavy barrier comes between.
// - Askers' steps are read-modify-writes, acquire loads and release stores; they happen in order.
//
// Checked:
// - never the owner inside with its P and an asker with the P in hand, and never two askers;
// - the P is never lost or doubled: exactly one of M, sysmon and the pool has it;
// - inside, the owner has seen all that borrowers did to the P;
// - after a hold, an owner that has entered since has counted it in `entries`;
// - no deadlock, and (with -DLIVENESS: claim gets_on under weak fairness) an owner that enters gets on, as long
//   as each asker comes three times at most. Askers that came for ever could turn asked and look under the
//   owner's CAS again and again; asking is rare and the owner's CAS quick, so that is left to chance.
// Abstracted: one M, one P; the P's contents are a number that each borrower changes; the pool stands for the
// idle list and all other Ms, under a lock. Not modelled: yield_asked, the try in try_borrow before the lock,
// who decides to ask and when (any time).
//
// -DFENCED: where there is no membarrier. c is then a barrier of the asker alone, whose steps are in order anyway; the
// owner passes a full barrier of its own in 2 before it reads word. `quiet` stands for `quiet_dear`.
//
// Broken variants, each of which must fail:
//   NO_HEAVY_BARRIER    c is left out
//   NO_OWNER_BARRIER    with FENCED: so is the owner's
//   NO_ASKING_LOCK      a is left out
//   ASKER_WRITES_QUIET  a borrower that gives back writes quiet instead of look
//   DENY_RELAXED        the CAS asked -> quiet of step 4 is not an acquire: between the load of asked and the
//                       CAS a borrower can come and go, and the next asker write asked again
//   PASS_WRITES_QUIET   an owner that passes makes look quiet, and does not count it
//   LEAVE_RELAXED       step 5 is no release: 0 is seen before the quiet that was written earlier
//
// By hand: spin -a retake.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan      (spin -DNAME for a variant)
//          spin -DLIVENESS -a retake.pml && cc -O2 -DNFAIR=3 -o pan pan.c && ./pan -a -f
//          spin -t -p retake.pml shows the trail of an error.

mtype = { quiet, asked, borrowed, taken, look, asked_later }

mtype word = quiet;
bit in_runtime = 1;
bit asking = 0;

// The owner's stores that nobody else sees yet.
bit in_waits = 0;
bit in_value = 0;
bit quiet_waits = 0;

// What the owner read of its P too early, if it did.
bit early = 0;
byte early_contents = 0;

// The P and who has it.
byte contents = 0;
bit m_p = 1;        // M::p is set; written by the owner, and by sysmon when it keeps the P
bit pool = 0;
bit sysmon_p = 0;

// Ghosts.
bit owner_uses = 1;
byte askers_use = 0;
bit held = 0;       // sysmon has held the owner in user code, and relies on its entries being counted

#define one_p (m_p + pool + sysmon_p == 1)

inline flush_quiet() {
  if
  :: quiet_waits -> word = quiet; quiet_waits = 0
  :: else
  fi
}

// What makes the owner's stores visible, and its loads happen after it.
inline owner_in_order() {
  d_step {
    flush_quiet();
    if
    :: in_waits -> in_runtime = in_value; in_waits = 0; in_value = 0
    :: else
    fi;
    early = 0;
    early_contents = 0
  }
}

inline heavy_barrier() {
#if defined(NO_HEAVY_BARRIER) || defined(FENCED)
  skip
#else
  owner_in_order()
#endif
}

inline may_read_early() {
  if
  :: d_step { early = 1; early_contents = contents }
  :: skip
  fi
}

inline forget_early() { early = 0; early_contents = 0 }

active proctype memory() {
end:
  do
#ifdef LEAVE_RELAXED
  :: d_step { in_waits -> in_runtime = in_value; in_waits = 0; in_value = 0 }
#else
  :: d_step { in_waits && (in_value == 1 || !quiet_waits) -> in_runtime = in_value; in_waits = 0; in_value = 0 }
#endif
  :: d_step { quiet_waits -> word = quiet; quiet_waits = 0 }
  od
}

active proctype owner() {
  bit kept;
  do
  :: // Inside. A declared blocking call gives the P away before it leaves.
    if
    :: skip
    :: atomic { m_p = 0; pool = 1; assert(one_p) }
    fi;
    atomic {
      owner_uses = 0;
      in_waits = 1; in_value = 0              // 5
    }
user:
    atomic { in_waits = 1; in_value = 1 };    // 1
    if
    :: skip
    :: goto passes
    fi;
enters:                                       // 2 is for the compiler alone
#if defined(FENCED) && !defined(NO_OWNER_BARRIER)
    owner_in_order();
#endif
    may_read_early();
    if                                        // 3
    :: atomic { quiet_waits || word == quiet -> kept = 1; assert(!held); goto inside }
    :: atomic { else -> forget_early() }
    fi;
slow:                                         // 4: an acquire load, then
    if
    :: atomic { word == quiet -> forget_early(); kept = 1 }
    :: word == asked_later ->
      if
      :: atomic { word == asked_later -> word = quiet; kept = 0; forget_early() }
      :: atomic { else -> forget_early(); goto slow }
      fi
    :: word == asked ->
#ifdef DENY_RELAXED
      may_read_early();
#endif
      if
      :: atomic { word == asked -> word = quiet; kept = 1 }
      :: atomic { else -> forget_early(); goto slow }
      fi
    :: atomic { word == look -> forget_early() };
      atomic { quiet_waits = 1; kept = 1 }
    :: atomic { word == taken -> forget_early() };
      atomic { quiet_waits = 1; kept = 0 }
    fi;                                       // borrowed: waits
    held = 0;                                 // entries + 1
inside:
    if
    :: atomic {
        kept && m_p ->
        owner_uses = 1;
        assert(askers_use == 0);
        assert(!early || early_contents == contents);
        forget_early()
      }
    :: atomic {
        else ->
        assert(!m_p);
        forget_early()
      };
      // Scenario 11: an idle P, or the G queues and the M sleeps until it gets one. Both under a lock.
      atomic { pool -> pool = 0; m_p = 1; owner_uses = 1; assert(one_p); assert(askers_use == 0) }
    fi
  od;

passes:                                       // it stays the same run: held may not fall
#if defined(FENCED) && !defined(NO_OWNER_BARRIER)
  owner_in_order();
#endif
  if
  :: atomic { quiet_waits || word == quiet -> assert(!held); goto passed }
  :: else
  fi;
  if
  :: word == quiet
  :: word == asked_later -> goto slow         // it comes in, as 4 says
  :: word == taken -> goto slow
  :: word == asked ->
    if
    :: atomic { word == asked -> word = look }
    :: word != asked -> goto passes
    :: atomic { in_waits = 1; in_value = 0 }; goto user
    fi
#ifdef PASS_WRITES_QUIET
  :: word == look -> quiet_waits = 1
#else
  :: word == look
#endif
  fi;
passed:
  atomic { assert(askers_use == 0); in_waits = 1; in_value = 0 };
  goto user
}

proctype asker(bit is_sysmon) {
#ifdef LIVENESS
  byte asks = 3;
#endif
end:
  do
  ::
#ifdef LIVENESS
    atomic { asks > 0 -> asks-- };
#endif
#ifndef NO_ASKING_LOCK
    atomic { !asking -> asking = 1 };         // a
#endif
    if                                        // b
    :: atomic { word == quiet || word == look -> word = asked };
      heavy_barrier();                        // c
      if
      :: in_runtime == 1 ->                   // d
        atomic {
          if
          :: word == asked -> word = look
          :: else
          fi
        }
      :: in_runtime == 0 ->                   // e
        if
        :: atomic {
            word == asked -> word = borrowed;
            askers_use++;
            assert(askers_use == 1);
            assert(!owner_uses)
          };
          if
          :: m_p && is_sysmon ->
            atomic {
              m_p = 0; sysmon_p = 1;
              contents = (contents + 1) % 3;
              askers_use--
            };
            word = taken;
            atomic { sysmon_p = 0; pool = 1; assert(one_p) }
          :: m_p ->
            contents = (contents + 1) % 3;
            atomic { held = (is_sysmon -> 1 : held); askers_use-- };
#ifdef ASKER_WRITES_QUIET
            word = quiet
#else
            word = look
#endif
          :: !m_p ->                          // the M has none at the moment: nothing to do
            atomic {
              held = (is_sysmon -> 1 : held);
              askers_use--;
#ifdef ASKER_WRITES_QUIET
              word = quiet
#else
              word = look
#endif
            }
          fi
        :: else
        fi
      fi
    :: atomic { is_sysmon && word == taken -> word = asked_later };
      heavy_barrier();
      if
      :: in_runtime == 1 ->
        atomic {
          if
          :: word == asked_later -> word = taken
          :: else
          fi
        }
      :: in_runtime == 0 ->
        if
        :: atomic { word == asked_later -> word = borrowed; askers_use++; assert(askers_use == 1); assert(!owner_uses) };
          assert(!m_p);
          atomic { held = 1; askers_use-- };
          word = taken
        :: else
        fi
      fi
    :: else
    fi;
#ifndef NO_ASKING_LOCK
    asking = 0
#else
    skip
#endif
  od
}

init { atomic { run asker(0); run asker(1) } }

#ifdef LIVENESS
ltl gets_on { [] (owner@enters -> <> owner_uses) }
#endif
