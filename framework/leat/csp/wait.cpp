// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/wait.hpp>

#include <leat/csp/plain_wait.hpp>

namespace leat::csp {

using sched::begin_wait;
using sched::interruptible;
using sched::scheduler;

wait::claimed wait::claim_contested(std::int32_t what) noexcept {
  std::int32_t s = state_.load(std::memory_order_relaxed);
  do {
    if (s != open && s != enrolling) return claimed::lost;
    // Acquire: an open G has left its stack. Release: pairs with state and is_claimed.
  } while (!state_.compare_exchange_weak(s, what, std::memory_order_acq_rel, std::memory_order_relaxed));
  return s == open ? claimed::wake_it : claimed::wakes_itself;
}

void wait::wake_contested(m_front* m) noexcept {
  if (!g_) return static_cast<contested_wait*>(this)->event_.signal();
  // Its waiters may be far from the frames that it goes on in.
  if (m) return m->sched.ready(whole(m), g_);
  sched::make_ready(m, g_);
}

// While it sleeps it is not inside: the runtime must be able to end.
std::int32_t contested_wait::wait_as_thread(std::int64_t until) noexcept {
  struct outside {
    outside() noexcept { sched::plain_thread_leaves(); }
    ~outside() { sched::plain_thread_enters(); }
  } while_asleep;
  for (;;) {
    if (event_.wait(until)) return state();
    if (until == forever || now_ns() < until) continue;
    constexpr std::int32_t late = claim_for(ending::timeout);
    if (claim_contested(late) != claimed::lost) return late;
    until = forever;  // claimed: the signal is on its way
  }
}

std::int32_t contested_wait::give_up() noexcept {
  constexpr std::int32_t mind = claim_for(ending::given_up);
  if (claim_contested(mind) != claimed::lost) return mind;
  while (!g_ && !event_.wait()) {  // an open wait is woken by its claimer, who may still be at it
  }
  return state();
}

void wait::end_wait(m_front* m) noexcept {
  if (!contested_) sched::end_wait_of(m, *g_);
}

std::int32_t contested_wait::block(entrance& in, wait_reason why, std::int64_t until, stops on_stop,
                                   const char* at, held_lock held) noexcept {
  if (!g_) {
    held.unlock();
    return wait_as_thread(until);
  }
  struct stoppable : interruptible {
    contested_wait* who;
  } w;
  w.who = this;
  w.at = at;
  w.withdraw = [](interruptible& self) noexcept {
    return static_cast<stoppable&>(self).who->claim_contested(claim_for(ending::stopped)) == claimed::wake_it;
  };
  G& g = *g_;
  scheduler& s = in.m->sched;
  const bool timed = until != forever;
  if (timed) {
    constexpr auto claim = [](void* arg) noexcept {
      return static_cast<contested_wait*>(arg)->claim_contested(claim_for(ending::timeout)) ==
             claimed::wake_it;
    };
    s.arm_claim(*whole(in.m), g, until, claim, this);
  }
  if (on_stop == stops::end_it && !begin_wait(in.m->gate, g, w))
    (void)claim_contested(claim_for(ending::stopped));
  if (is_claimed()) {
    held.unlock();
  } else {
    struct far_side {
      contested_wait* me;
      held_lock held;
    } passed{this, held};
    in.m = s.park(
        whole(in.m), why,
        [](void* arg) noexcept {
          const far_side there = *static_cast<far_side*>(arg);
          G* const parked = there.me->g_;
          auto* const on = static_cast<sched::M*>(parked->ctx.on);
          std::int32_t not_yet = enrolling;
          // Release: the stack has been left. Once it is open, the G may be running and its frame gone.
          const bool over =
              !there.me->state_.compare_exchange_strong(not_yet, open, std::memory_order_acq_rel);
          // Not after the G is readied: whoever ended its wait otherwise than through the queue waits for it.
          there.held.unlock();
          if (over) on->sched.ready(on, parked);
        },
        &passed);
  }
  if (on_stop == stops::end_it) sched::end_wait(in.m->gate, g);
  if (timed) s.disarm(g);
  return state();
}

std::size_t note_waiting(const wait_queue& queue, bool sends, std::span<waiting_g> to,
                         std::size_t n) noexcept {
  for (const waiter& w : queue.list) {
    const G* const g = w.who->g();
    if (!g || (w.who->contested() && w.who->is_claimed())) continue;
    if (n < to.size())
      to[n] = {
          g->id,           (g->extras & sched::g_has_stop_source) != 0 ? g->more.stop_with.get() : nullptr,
          w.who,           w.since,
          w.who->places(), sends};
    ++n;
  }
  return n;
}

waiter* claim_first_contested(wait_queue& queue, bool& wake_it, const wait* except) noexcept {
  for (waiter_list::iterator i = queue.list.begin(); i != queue.list.end();) {
    waiter& w = *i++;
    if (w.who == except) continue;
    prefetch_frames(w);
    queue.unlink(w);
    const wait::claimed c = w.who->try_claim(w.index);
    if (c == wait::claimed::lost) continue;  // it is on its way out, and finds itself unlinked
    wake_it = c == wait::claimed::wake_it;
    return &w;
  }
  return nullptr;
}

void claim_all(wait_queue& queue, ending said, waiter_list& woken) noexcept {
  while (waiter* const w = queue.list.front()) {
    prefetch_frames(*w);
    queue.unlink(*w);
    w->said = said;
    // One that wakes itself may be gone as soon as the lock is dropped; one to be woken is not.
    if (w->who->try_claim(w->index) == wait::claimed::wake_it) woken.push_back(w);
  }
}

void wake_all(m_front* m, waiter_list& woken) noexcept {
  // The first that runs may destroy what they all waited at.
  for (const waiter& w : woken) w.who->end_wait(m);
  while (waiter* const w = woken.pop_front()) w->who->wake_ended(m);
}

namespace {

template <class Lock>
[[gnu::noinline]] ending wait_contested(entrance& in, Lock& lock, wait_queue& queue, void* slot,
                                        wait_reason why, std::int64_t until, stops on_stop, queue_end where,
                                        const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  contested_wait me(in.m ? &in.g() : nullptr);
  waiter w;
  w.who = &me;
  w.slot = slot;
  enlist(queue, w, where);
  const std::int32_t claim = me.block(in, why, until, on_stop, at, {unlock_held<Lock>, &lock});
  // Claimed through the queue: by one who is done with it, and the lock may be gone.
  if (claim >= 0) return w.said;
  lock_guard hold(lock);
  if (waiter_list::linked(&w)) queue.unlink(w);
  return wait::ended_by(claim);
}

}  // namespace

ending wait_and_unlock(entrance& in, ranked_spinlock& lock, wait_queue& queue, void* slot, wait_reason why,
                       std::int64_t until, stops on_stop, queue_end where,
                       const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_plain(in, lock, queue, slot, why, on_stop, where, at);
  return wait_contested(in, lock, queue, slot, why, until, on_stop, where, at);
}

ending wait_and_unlock(entrance& in, biased_lock& lock, wait_queue& queue, void* slot, wait_reason why,
                       std::int64_t until, const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_plain_biased(in, lock, queue, slot, why, at);
  return wait_contested(in, lock, queue, slot, why, until, stops::end_it, queue_end::back, at);
}

}  // namespace leat::csp
