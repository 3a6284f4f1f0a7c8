// SPDX-License-Identifier: BSL-1.0
//
// The plain wait of party.hpp, inlined into what waits most. For the sources of csp.
#pragma once
#include <cstddef>
#include <cstdint>
#include <new>
#include <type_traits>

#include <leat/csp/party.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/next_local.hpp>

namespace leat::csp {

[[gnu::always_inline]] inline void enlist(wait_queue& queue, waiter& w, place where) noexcept {
  if (where == place::in_front) {
    queue.link_in_front(w);
  } else {
    queue.link(w);
  }
}

// How a stop ends a plain wait.
template <class Lock>
struct plain_wait : sched::interruptible {
  Lock* lock;
  wait_queue* queue;
  waiter* w;
};

template <class Lock>
bool withdraw_plain(sched::interruptible& self) noexcept {
  auto& p = static_cast<plain_wait<Lock>&>(self);
  lock_guard hold(*p.lock);
  // In this order: the node of a claimed one belongs to its claimer. Not linked: it gave up before it waited.
  if (p.w->who->is_claimed() || !waiter_list::linked(p.w)) return false;
  p.queue->unlink(*p.w);
  (void)p.w->who->try_claim(outcome_stopped);
  return true;
}

template <class Lock>
void unlock_held(void* lock) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  static_cast<Lock*>(lock)->unlock();
}

inline const void* as_checked(const ranked_spinlock& l) noexcept { return &l; }
inline const void* as_checked(const settled_lock& l) noexcept { return l.address(); }

// The lock is dropped by the far side of the switch, which no analysis follows.
template <class Lock>
[[gnu::always_inline]] inline wait_result wait_plain(entrance& in, Lock& lock, wait_queue& queue, void* slot,
                                                     wait_reason why, stops on_stop, place where,
                                                     const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  G& g = in.g();
  // All that a claimer looks at, in one line. Aligned by hand: for a variable that asks for more than the
  // stack has, GCC makes a frame whose beginning is kept in memory, with an entry and an exit that are
  // longer.
  struct line {
    explicit line(G& by) noexcept : me(by) {}
    waiter w;
    party me;
  };
  constexpr std::size_t size = 64, aligned = 16;
  static_assert(sizeof(line) <= size && alignof(line) <= aligned && std::is_trivially_destructible_v<line>);
  alignas(aligned) std::byte room[2 * size - aligned];
  std::byte* const begin = room + (size - 1 - (reinterpret_cast<std::uintptr_t>(room) + size - 1) % size);
  auto& [w, me] = *new (begin) line(g);
  w.who = &me;
  w.slot = slot;
  plain_wait<Lock> p;
  p.withdraw = withdraw_plain<Lock>;
  p.at = at;
  p.lock = &lock;
  p.queue = &queue;
  p.w = &w;
  if (on_stop == stops::end_it && !sched::begin_wait(in.m->gate, g, p)) {
    lock.unlock();
    sched::end_wait(in.m->gate, g);
    return {outcome_stopped, 0};
  }
  // A stop from here on waits for the lock, and finds the waiter.
  enlist(queue, w, where);
  check_only_lock_held(as_checked(lock), "a wait");
  in.m = in.m->sched.park_here(in.m, g, why, unlock_held<Lock>, &lock);
  if (on_stop == stops::end_it) sched::end_wait(in.m->gate, g);
  return {me.plain_state(), w.verdict};
}

// Any other than a plain one.
wait_result wait_contested_at(entrance& in, settled_lock& lock, wait_queue& queue, void* slot,
                              wait_reason why, std::int64_t until, const char* at) noexcept
    LEAT_RELEASE(lock);

// The second wait_and_unlock.
[[gnu::always_inline]] inline std::int32_t wait_settled(
    entrance& in, settled_lock& lock, wait_queue& queue, void* slot, wait_reason why, std::int64_t until,
    const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  const wait_result r = in.m && until == forever
                            ? wait_plain(in, lock, queue, slot, why, stops::end_it, place::at_the_back, at)
                            : wait_contested_at(in, lock, queue, slot, why, until, at);
  return r.outcome == 0 ? r.verdict : r.outcome;
}

}  // namespace leat::csp
