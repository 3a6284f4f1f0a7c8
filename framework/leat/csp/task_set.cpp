// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/task_set.hpp>

#include <leat/sched/entered.hpp>

namespace leat {

const char* to_string(next_status s) noexcept {
  switch (s) {
    case next_status::ended: return "ended";
    case next_status::none: return "none";
    case next_status::stopped: return "stopped";
    case next_status::timeout: return "timeout";
  }
  return "?";
}

namespace csp {

std::size_t task_set_base::begin() noexcept {
  const sched::no_quarantine unbroken;
  lock_guard hold(lock_);
  ++unclaimed_;
  ++unfetched_;
  return begun_++;
}

void task_set_base::end(ended_link& t) noexcept {
  const sched::no_quarantine unbroken;
  {
    lock_guard hold(lock_);
    *last_ = &t;
    last_ = &t.next;
  }
  arrived_.release();
}

void task_set_base::give_back() noexcept {
  const sched::no_quarantine unbroken;
  lock_guard hold(lock_);
  ++unclaimed_;
}

next_status task_set_base::next(ended_link*& to, deadline until) {
  {
    const sched::no_quarantine unbroken;
    lock_guard hold(lock_);
    if (unclaimed_ == 0) return next_status::none;
    --unclaimed_;
  }
  acquire_status s = acquire_status::stopped;
  try {
    s = arrived_.acquire_until(until);
  } catch (...) {
    give_back();
    throw;
  }
  if (s != acquire_status::acquired) {
    give_back();
    return s == acquire_status::timeout ? next_status::timeout : next_status::stopped;
  }
  const sched::no_quarantine unbroken;
  lock_guard hold(lock_);
  to = first_;
  first_ = to->next;
  if (!first_) last_ = &first_;
  --unfetched_;
  return next_status::ended;
}

ended_link* task_set_base::take_all() noexcept {
  lock_guard hold(lock_);
  last_ = &first_;
  return std::exchange(first_, nullptr);
}

std::size_t task_set_base::left() const noexcept {
  const sched::unbroken_look unbroken;
  lock_guard hold(lock_);
  return unfetched_;
}

}  // namespace csp
}  // namespace leat
