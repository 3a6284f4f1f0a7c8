// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/party.hpp>

#include <leat/csp/plain_wait.hpp>

namespace leat::csp {

using sched::begin_wait;
using sched::end_wait;
using sched::interruptible;
using sched::scheduler;

party::claimed party::claim_contested(std::int32_t what) noexcept {
  std::int32_t s = state_.load(std::memory_order_relaxed);
  do {
    if (s != open && s != enrolling) return claimed::lost;
    // Acquire: an open G has left its stack. Release: pairs with state and is_claimed.
  } while (!state_.compare_exchange_weak(s, what, std::memory_order_acq_rel, std::memory_order_relaxed));
  return s == open ? claimed::wake_it : claimed::wakes_itself;
}

void party::wake_contested(M* m) noexcept {
  if (!g_) return static_cast<contested_party*>(this)->event_.signal();
  // Its waiters may be far from the frames that it goes on in.
  if (m) return m->sched.ready(m, g_);
  sched::make_ready(m, g_);
}

// While it sleeps it is not inside: the runtime must be able to end.
std::int32_t contested_party::wait_as_thread(std::int64_t until) noexcept {
  struct outside {
    outside() noexcept { sched::plain_thread_leaves(); }
    ~outside() { sched::plain_thread_enters(); }
  } while_asleep;
  for (;;) {
    if (event_.wait(until)) return state();
    if (until == forever || now_ns() < until) continue;
    if (claim_contested(outcome_timeout) != claimed::lost) return outcome_timeout;
    until = forever;  // claimed: the signal is on its way
  }
}

std::int32_t contested_party::give_up() noexcept {
  if (claim_contested(outcome_given_up) != claimed::lost) return outcome_given_up;
  while (!g_ && !event_.wait()) {  // an open party is woken by its claimer, who may still be at it
  }
  return state();
}

std::int32_t contested_party::wait(entrance& in, wait_reason why, std::int64_t until, stops on_stop,
                                   const char* at) noexcept {
  if (!g_) return wait_as_thread(until);
  struct contested_wait : interruptible {
    contested_party* who;
  } w;
  w.who = this;
  w.at = at;
  w.withdraw = [](interruptible& self) noexcept {
    return static_cast<contested_wait&>(self).who->claim_contested(outcome_stopped) == claimed::wake_it;
  };
  G& g = *g_;
  scheduler& s = in.m->sched;
  const bool timed = until != forever;
  if (timed) {
    constexpr auto claim = [](void* arg) noexcept {
      return static_cast<contested_party*>(arg)->claim_contested(outcome_timeout) == claimed::wake_it;
    };
    s.arm_claim(*in.m, g, until, claim, this);
  }
  if (on_stop == stops::end_it && !begin_wait(in.m->gate, g, w)) (void)claim_contested(outcome_stopped);
  if (!is_claimed()) {
    in.m = s.park(
        in.m, why,
        [](void* arg) noexcept {
          auto* const me = static_cast<contested_party*>(arg);
          G* const parked = me->g_;
          auto* const on = static_cast<M*>(parked->ctx.on);
          std::int32_t not_yet = enrolling;
          // Release: the stack has been left. Once it is open, the G may be running and its frame gone.
          if (!me->state_.compare_exchange_strong(not_yet, open, std::memory_order_acq_rel))
            on->sched.ready(on, parked);
        },
        this);
  }
  if (on_stop == stops::end_it) end_wait(in.m->gate, g);
  if (timed) s.disarm(g);
  return state();
}

std::size_t note_waiting(const wait_queue& queue, bool sends, std::span<waiting_g> to,
                         std::size_t n) noexcept {
  for (const waiter& w : queue.list) {
    const G* const g = w.who->g();
    if (!g || (w.who->contested() && w.who->is_claimed())) continue;
    if (n < to.size())
      to[n] = {g->id,           (g->extras & sched::g_has_stop_source) != 0 ? g->stop_with.get() : nullptr,
               w.who,           w.since,
               w.who->places(), sends};
    ++n;
  }
  return n;
}

waiter* claim_first_contested(wait_queue& queue, bool& wake_it, const party* except) noexcept {
  for (waiter_list::iterator i = queue.list.begin(); i != queue.list.end();) {
    waiter& w = *i++;
    if (w.who == except) continue;
    prefetch_frames(w);
    queue.unlink(w);
    const party::claimed c = w.who->try_claim(w.index);
    if (c == party::claimed::lost) continue;  // it is on its way out, and finds itself unlinked
    wake_it = c == party::claimed::wake_it;
    return &w;
  }
  return nullptr;
}

void claim_all(wait_queue& queue, std::uint8_t verdict, waiter_list& woken) noexcept {
  while (waiter* const w = queue.list.front()) {
    prefetch_frames(*w);
    queue.unlink(*w);
    w->verdict = verdict;
    // One that wakes itself may be gone as soon as the lock is dropped; one to be woken is not.
    if (w->who->try_claim(w->index) == party::claimed::wake_it) woken.push_back(w);
  }
}

void wake_all(M* m, waiter_list& woken) noexcept {
  while (waiter* const w = woken.pop_front()) w->who->wake(m);
}

namespace {

template <class Lock>
[[gnu::noinline]] wait_result wait_contested(entrance& in, Lock& lock, wait_queue& queue, void* slot,
                                             wait_reason why, std::int64_t until, stops on_stop, place where,
                                             const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  contested_party me(in.m ? &in.g() : nullptr);
  waiter w;
  w.who = &me;
  w.slot = slot;
  enlist(queue, w, where);
  lock.unlock();
  const std::int32_t outcome = me.wait(in, why, until, on_stop, at);
  lock_guard hold(lock);
  if (waiter_list::linked(&w)) queue.unlink(w);
  return {outcome, w.verdict};
}

}  // namespace

wait_result wait_and_unlock(entrance& in, ranked_spinlock& lock, wait_queue& queue, void* slot,
                            wait_reason why, std::int64_t until, stops on_stop, place where,
                            const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_plain(in, lock, queue, slot, why, on_stop, where, at);
  return wait_contested(in, lock, queue, slot, why, until, on_stop, where, at);
}

std::int32_t wait_and_unlock(entrance& in, settled_lock& lock, wait_queue& queue, void* slot, wait_reason why,
                             std::int64_t until, const char* at) noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (waits_plainly(in, until)) return wait_plain_settled(in, lock, queue, slot, why, at);
  const wait_result r =
      wait_contested(in, lock, queue, slot, why, until, stops::end_it, place::at_the_back, at);
  return r.outcome == 0 ? r.verdict : r.outcome;
}

}  // namespace leat::csp
