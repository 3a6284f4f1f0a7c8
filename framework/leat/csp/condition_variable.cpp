// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/condition_variable.hpp>

#include <system_error>

#include <leat/sched/scheduler.hpp>

namespace leat {

using sched::entered;

condition_variable::ended condition_variable::wait_once(mutex* held,
                                                        std::int64_t until) LEAT_NO_THREAD_SAFETY_ANALYSIS {
  if (!held)
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            "condition_variable: the mutex is not locked");
  sched::M* const here = sched::current_m();
  sched::G* const g = here ? here->cur.load(std::memory_order_relaxed) : nullptr;
  csp::contested_wait me(g);
  csp::waiter w;
  w.who = &me;
  const sched::no_quarantine unbroken;
  {
    lock_guard hold(lock_);
    queue_.link(w);
    note_waiting_locked();
  }
  held->unlock();  // may enter the runtime, so the wait enters afterwards
  csp::ending how{};
  {
    entered in;
    how = csp::wait::ended_by(me.block(in, sched::wait_reason::condition, until));
    // One that was notified has been taken out, and its notifier touches neither the waiter nor, for it, the
    // queue any more; the condition_variable may be gone.
    if (how != csp::ending::done) {
      lock_guard hold(lock_);
      if (csp::waiter_list::linked(&w)) queue_.unlink(w);
      note_waiting_locked();
    }
    // One that is stopped and waits in a loop must let those run who could end it.
    if (in.m && how == csp::ending::stopped) in.m = in.m->sched.yield(whole(in.m));
  }
  held->lock();
  if (how == csp::ending::done) return ended::notified;
  if (g) sched::throw_if_insisted(*g);
  return how == csp::ending::timeout ? ended::timeout : ended::stopped;
}

void condition_variable::notify_one_slow() noexcept {
  const sched::no_quarantine unbroken;
  csp::wait* who = nullptr;
  bool wake_it = false;
  {
    lock_guard hold(lock_);
    // Not a touch of one that wakes itself: it may be gone.
    if (const csp::waiter* const w = csp::claim_first(queue_, wake_it); w && wake_it) who = w->who;
    note_waiting_locked();
  }
  if (!who) return;
  const entered in;
  who->wake(in.m);
}

void condition_variable::notify_all_slow() noexcept {
  const sched::no_quarantine unbroken;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    csp::claim_all(queue_, csp::ending::done, woken);
    note_waiting_locked();
  }
  if (woken.empty()) return;
  const entered in;
  csp::wake_all(in.m, woken);
}

}  // namespace leat
