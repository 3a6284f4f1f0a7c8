// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/condition_variable.hpp>

#include <system_error>

#include <leat/sched/scheduler.hpp>

namespace leat {

using sched::entered;

condition_variable::ended condition_variable::wait_once(std::unique_lock<mutex>& lock, std::int64_t until) {
  if (!lock.owns_lock())
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            "condition_variable: the mutex is not locked");
  sched::M* const here = sched::current_m();
  sched::G* const g = here ? here->cur.load(std::memory_order_relaxed) : nullptr;
  csp::contested_party me(g);
  csp::waiter w;
  w.who = &me;
  const sched::shield unbroken;
  {
    lock_guard hold(lock_);
    queue_.link(w);
    note_waiting_locked();
  }
  lock.unlock();  // may enter the runtime, so the wait enters afterwards
  std::int32_t outcome = 0;
  {
    entered in;
    outcome = me.wait(in, sched::wait_reason::condition, until);
    {
      lock_guard hold(lock_);
      if (csp::waiter_list::linked(&w)) queue_.unlink(w);
      note_waiting_locked();
    }
    // One that is stopped and waits in a loop must let those run who could end it.
    if (in.m && outcome == csp::outcome_stopped) in.m = in.m->sched.yield(in.m);
  }
  lock.lock();
  if (outcome >= 0) return ended::notified;
  if (g) sched::throw_if_insisted(*g);
  return outcome == csp::outcome_timeout ? ended::timeout : ended::stopped;
}

void condition_variable::notify_one_slow() noexcept {
  const sched::shield unbroken;
  csp::party* who = nullptr;
  bool wake_it = false;
  {
    lock_guard hold(lock_);
    if (const csp::waiter* const w = csp::claim_first(queue_, wake_it)) who = w->who;
    note_waiting_locked();
  }
  if (!who || !wake_it) return;
  const entered in;
  who->wake(in.m);
}

void condition_variable::notify_all_slow() noexcept {
  const sched::shield unbroken;
  csp::waiter_list woken;
  {
    lock_guard hold(lock_);
    csp::claim_all(queue_, 0, woken);
    note_waiting_locked();
  }
  if (woken.empty()) return;
  const entered in;
  csp::wake_all(in.m, woken);
}

}  // namespace leat
