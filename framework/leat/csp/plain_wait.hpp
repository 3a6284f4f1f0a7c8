// SPDX-License-Identifier: BSL-1.0
//
// The plain wait of wait.hpp, inlined into what waits most. For the sources of csp.
#pragma once
#include <cstdint>

#include <leat/csp/wait.hpp>
#include <leat/sched/interrupt.hpp>
#include <leat/sched/next_local.hpp>

namespace leat::csp {

[[gnu::always_inline]] inline void enlist(wait_queue& queue, waiter& w, queue_end where) noexcept {
  if (where == queue_end::front) {
    queue.link_in_front(w);
  } else {
    queue.link(w);
  }
}

// What a G keeps on its stack while it waits plainly: its place in the queue, and how a stop ends it.
template <class Lock>
struct plain_wait : sched::interruptible {
  explicit plain_wait(G& g) noexcept : me(g) {}
  Lock* lock;
  wait_queue* queue;
  waiter w;
  wait me;  // next to the waiter: a claimer looks at both
};

template <class Lock>
bool withdraw_plain(sched::interruptible& self) noexcept {
  auto& p = static_cast<plain_wait<Lock>&>(self);
  lock_guard hold(*p.lock);
  // In this order: the node of a claimed one belongs to its claimer. Not linked: it gave up before it waited.
  if (p.me.is_claimed() || !waiter_list::linked(&p.w)) return false;
  p.queue->unlink(p.w);
  (void)p.me.try_claim(wait::claim_for(ending::stopped));
  return true;
}

template <class Lock>
void unlock_held(void* lock) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  static_cast<Lock*>(lock)->unlock();
}

inline const void* as_checked(const ranked_spinlock& l) noexcept { return &l; }
inline const void* as_checked(const biased_lock& l) noexcept { return l.address(); }

// The lock is dropped by the far side of the switch, which no analysis follows.
template <class Lock>
[[gnu::always_inline]] inline ending wait_plain(entrance& in, Lock& lock, wait_queue& queue, void* slot,
                                                wait_reason why, stops on_stop, queue_end where,
                                                const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  G& g = in.g();
  plain_wait<Lock> p(g);
  p.withdraw = withdraw_plain<Lock>;
  p.at = at;
  p.lock = &lock;
  p.queue = &queue;
  p.w.who = &p.me;
  p.w.slot = slot;
  enlist(queue, p.w, where);
  // A stop from here on waits for the lock, and finds the waiter.
  if (on_stop == stops::end_it && !sched::begin_wait(in.m->gate, g, p)) {
    queue.unlink(p.w);
    lock.unlock();
    sched::end_wait(in.m->gate, g);
    return ending::stopped;
  }
  check_only_lock_held(as_checked(lock), "a wait");
  in.m = in.m->sched.park_here(whole(in.m), g, why, unlock_held<Lock>, &lock);
  // Else its claimer has done so, and the lock may be gone.
  const std::int32_t claim = p.me.plain_state();
  if (claim >= 0) [[likely]]
    return p.w.said;
  sched::end_wait(in.m->gate, g);
  return wait::ended_by(claim);
}

inline bool waits_plainly(const entrance& in, std::int64_t until) noexcept {
  return in.m && until == forever;
}

// The second wait_and_unlock, for one that waits plainly.
[[gnu::always_inline]] inline ending wait_plain_biased(entrance& in, biased_lock& lock, wait_queue& queue,
                                                       void* slot, wait_reason why, const char* at) noexcept
    LEAT_NO_THREAD_SAFETY_ANALYSIS {
  return wait_plain(in, lock, queue, slot, why, stops::end_it, queue_end::back, at);
}

}  // namespace leat::csp
