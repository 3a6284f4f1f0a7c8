// SPDX-License-Identifier: BSL-1.0
//
// The general channel with plain waits: framework/leat/csp/many.hpp, the policy `block`, and wait_plain of
// wait.cpp. Contested waits are in wait.pml.
//
// Roles: sender 0 sends two values, sender 1 one; two receivers receive one each, or until they are told closed;
// a closer closes at any time or never. CAP: the capacity, 0 or more.
//
// Checked:
// - first in first out: a value gets the next number when it enters the channel or the queue of senders, and
//   numbers leave in order;
// - each receiver gets the value it was claimed for, and each is readied once, off its stack;
// - the ledger: sent = received + left, and what the senders and receivers counted;
// - at rest, nobody sleeps beside a value, a partner, room or a close.
//
// Broken variants, each of which must fail:
//   LOOK_OUTSIDE           a receiver looks, then takes the lock and links itself
//   UNLOCK_BEFORE_PARK     a plain wait drops the lock before it has left its stack
//   NO_REFILL              a receive takes from the ring and leaves the first sender waiting
//   CLOSE_FORGETS_SENDERS  close claims receivers only
//   RING_FIRST             a send fills the ring before it looks for receivers
//   WAKE_FIRST             a sender wakes the receiver, then gives it the value
//
// By hand: spin -DCAP=1 -a many.pml && cc -O2 -DSAFETY -o pan pan.c && ./pan -m100000

#ifndef CAP
#define CAP 1
#endif

// 0 and 1 send, 2 and 3 receive.
bit lock, closed;
byte count;
chan ring = [CAP + 1] of { byte };
chan senders = [2] of { byte };
chan receivers = [2] of { byte };
byte slot[4];
bit told_closed[4];
bit stack_left[4], readied[4], finished[4];

byte sent, received;             // the channel's own
byte numbers, last;              // ghosts
byte said_sent, got;

inline take_lock() { atomic { !lock -> lock = 1 } }

inline leaves(v) { assert(v > last); last = v }

inline wake(p) {
  atomic { assert(stack_left[p]); assert(!readied[p]); readied[p] = 1 }
}

// Links itself, and drops the lock on the far side.
inline wait(queue, me) {
  atomic { queue!me; told_closed[me] = 0; readied[me] = 0; stack_left[me] = 0 };
#ifdef UNLOCK_BEFORE_PARK
  lock = 0;
  stack_left[me] = 1;
#else
  stack_left[me] = 1;
  lock = 0;
#endif
end_parked:
  atomic { readied[me] -> readied[me] = 0; stack_left[me] = 0 }
}

proctype sender(byte me) {
  byte n = me, w;
  do
  :: n < 2 ->
    take_lock();
    if
    :: closed -> lock = 0; break
#ifdef RING_FIRST
    :: !closed && count < CAP ->
      atomic { numbers++; ring!numbers; count++; sent++; lock = 0; said_sent++ }
    :: !closed && count == CAP && len(receivers) > 0 ->
#else
    :: !closed && len(receivers) > 0 ->
#endif
      receivers?w;
#ifdef WAKE_FIRST
      wake(w);
#endif
      atomic { numbers++; slot[w] = numbers; leaves(numbers) };
      atomic { sent++; received++; lock = 0; said_sent++ };
#ifndef WAKE_FIRST
      wake(w)
#endif
    :: !closed && len(receivers) == 0 && count < CAP ->
      atomic { numbers++; ring!numbers; count++; sent++; lock = 0; said_sent++ }
    :: !closed && len(receivers) == 0 && count == CAP ->
      atomic { numbers++; slot[me] = numbers };
      wait(senders, me);
      if
      :: told_closed[me] -> break
      :: !told_closed[me] -> said_sent++
      fi
    fi;
    n++
  :: n == 2 -> break
  od;
  finished[me] = 1
}

proctype receiver(byte me) {
  byte v, s;
  do
  :: !finished[me] ->
#ifdef LOOK_OUTSIDE
    if
    :: count == 0 && len(senders) == 0 && !closed -> take_lock(); goto waits
    :: else
    fi;
#endif
    take_lock();
    if
    :: count > 0 ->
      atomic { ring?v; count--; leaves(v); received++ };
      if
#ifndef NO_REFILL
      :: len(senders) > 0 ->
        senders?s;
        atomic { ring!slot[s]; count++; sent++; lock = 0 };
        wake(s)
#endif
      :: else -> lock = 0
      fi;
      got++
    :: count == 0 && len(senders) > 0 ->
      senders?s;
      atomic { v = slot[s]; leaves(v); sent++; received++; lock = 0 };
      wake(s);
      got++
    :: count == 0 && len(senders) == 0 && closed -> lock = 0
    :: count == 0 && len(senders) == 0 && !closed ->
waits:
      slot[me] = 0;
      wait(receivers, me);
      if
      :: told_closed[me]
      :: !told_closed[me] -> assert(slot[me] != 0); got++
      fi
    fi;
    finished[me] = 1
  :: finished[me] -> break
  od
}

proctype closer() {
  byte w;
  chan woken = [4] of { byte };
  if
  :: take_lock();
    closed = 1;
    do
    :: len(receivers) > 0 -> atomic { receivers?w; told_closed[w] = 1; woken!w }
#ifdef CLOSE_FORGETS_SENDERS
    :: len(receivers) == 0 -> break
#else
    :: len(senders) > 0 -> atomic { senders?w; told_closed[w] = 1; woken!w }
    :: len(receivers) == 0 && len(senders) == 0 -> break
#endif
    od;
    lock = 0;
    do
    :: len(woken) > 0 -> woken?w; wake(w)
    :: len(woken) == 0 -> break
    od
  :: skip
  fi
}

active proctype rest() {
  timeout;
  assert(!lock);
  assert(!(len(receivers) > 0 && (count > 0 || len(senders) > 0)));
  assert(!(len(senders) > 0 && count < CAP));
  assert(len(senders) + len(receivers) + finished[0] + finished[1] + finished[2] + finished[3] == 4);
  assert(!closed || len(senders) + len(receivers) == 0);
  assert(count == len(ring) && sent == received + count);
  assert(said_sent == sent && got == received)
}

init {
  atomic { run sender(0); run sender(1); run receiver(2); run receiver(3); run closer() }
}
