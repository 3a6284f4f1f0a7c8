// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/task_group.hpp>

#include <new>
#include <stdexcept>

#include <leat/base/log.hpp>
#include <leat/sched/overrun.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat {
namespace {

void log_failure(const std::exception_ptr& e, const char* why) noexcept {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    log_error("csp", "a member of a task group failed, {}: {}", why, x.what());
  } catch (...) {
    log_error("csp", "a member of a task group failed, {}: not a std::exception", why);
  }
}

nanoseconds grace() noexcept {
  const sched::entered in;
  const sched::scheduler* const s = sched::scheduler::current();
  return s ? nanoseconds(s->options().grace) : nanoseconds::zero();
}

}  // namespace

class task_group::membership::guard final : public overrun_guard {
 public:
  guard(task_group& group, std::shared_ptr<overrun_guard> inner, std::shared_ptr<std::atomic<bool>> settled)
      : overrun_guard(inner->hang(), inner->grace()),
        group_(group),
        inner_(std::move(inner)),
        settled_(std::move(settled)) {}

  // Allocates nothing, since sysmon calls it. Nor does it free: the guard outlives a quarantined G, and the
  // failure with it.
  void overran(const overrun_news& news) noexcept override {
    inner_->overran(news);
    if (news.step != overrun_step::quarantined) return;
    // It may have been about to end: the one who settles it counts it off.
    if (settled_->exchange(true, std::memory_order_acq_rel)) return;
    if (group_.keep_failure(failure_)) {
      group_.stop();
    } else {
      log_error("csp", "{}, after another one had failed", why);
    }
    group_.members_.done();
  }

 private:
  static constexpr const char* why = "a member of a task group was quarantined";

  task_group& group_;
  const std::shared_ptr<overrun_guard> inner_;
  const std::shared_ptr<std::atomic<bool>> settled_;
  const std::exception_ptr failure_ = std::make_exception_ptr(quarantined(why));
};

std::shared_ptr<overrun_guard> task_group::membership::guarded_by(std::shared_ptr<overrun_guard> guard_of_g) {
  settled_ = std::make_shared<std::atomic<bool>>(false);
  return std::make_shared<guard>(*group_, std::move(guard_of_g), settled_);
}

task_group::membership::~membership() {
  if (!group_) return;
  const sched::no_quarantine unbroken;
  if (settled_ && settled_->exchange(true, std::memory_order_acq_rel)) return;
  if (to_run_)
    group_->failed(std::make_exception_ptr(spawn_error("a member of a task group could not be started")));
  group_->members_.done();
}

task_group::~task_group() {
  if (size() != 0) {
    stop();
    if (members_.wait_slow(deadline(grace()), csp::stops::are_ignored) != wait_status::done) insist();
  }
  // In every case: the last member may be about to leave.
  (void)members_.wait_slow(deadline::never(), csp::stops::are_ignored);
  std::exception_ptr e;
  {
    const sched::no_quarantine unbroken;
    lock_guard hold(lock_);
    e = std::move(first_failure_);
  }
  if (e) log_failure(e, "and nobody waited for the group");
}

spawn_options task_group::with_stop_source(const spawn_options& options) const {
  if (options.stop)
    throw std::invalid_argument("task_group::go: the members of a group have the group's stop source");
  spawn_options o = options;
  o.stop = source();
  return o;
}

stop_source task_group::source() const {
  const sched::no_quarantine unbroken;
  lock_guard hold(lock_);
  return stop_;
}

void task_group::stop() noexcept { source().request_stop(); }
void task_group::insist() noexcept { source().insist(); }

bool task_group::keep_failure(const std::exception_ptr& e) noexcept {
  const sched::no_quarantine unbroken;
  lock_guard hold(lock_);
  if (first_failure_) return false;
  first_failure_ = e;
  return true;
}

void task_group::failed(const std::exception_ptr& e) noexcept {
  const sched::no_quarantine unbroken;
  if (keep_failure(e)) {
    stop();
  } else {
    log_failure(e, "after another one had");
  }
}

// On the stack of who waits. Next, previous and failure: under the group's lock.
struct task_group::waiting_one {
  explicit waiting_one(task_group& g) noexcept : group(g) {
    const sched::no_quarantine unbroken;
    lock_guard hold(group.lock_);
    next = group.waiting_;
    if (next) next->link = &next;
    link = &group.waiting_;
    group.waiting_ = this;
  }
  ~waiting_one() {
    const sched::no_quarantine unbroken;
    lock_guard hold(group.lock_);
    *link = next;
    if (next) next->link = link;
  }
  waiting_one(const waiting_one&) = delete;
  waiting_one& operator=(const waiting_one&) = delete;

  task_group& group;
  waiting_one* next = nullptr;
  waiting_one** link = nullptr;
  std::exception_ptr failure;  // of the round whose end another one has found
};

std::exception_ptr task_group::end_round(waiting_one& me) {
  stop_source fresh;
  std::exception_ptr e;
  const sched::no_quarantine unbroken;
  lock_guard hold(lock_);
  // Unless somebody has begun the next round already: its members have the old source.
  // And not when all rounds are stopped. A parent's stop that comes now finds the new source, since it has
  // the lock later.
  if (members_.count() == 0 && stop_.stop_requested() && !parent_.stop_requested()) std::swap(stop_, fresh);
  std::swap(e, first_failure_);
  if (!e) {
    std::swap(e, me.failure);
    return e;
  }
  // No exception dies here, under the lock: one that has been told of a failure before keeps that.
  for (waiting_one* other = waiting_; other; other = other->next)
    if (other != &me && !other->failure) other->failure = e;
  return e;
}

wait_status task_group::wait_until(deadline until) {
  if (const sched::G* const g = sched::current_g();
      g && g->more.stop_with && g->more.stop_with == source().state())
    throw std::logic_error("task_group::wait was called by a member, which would wait for itself");
  waiting_one me(*this);
  const wait_status s = members_.wait_until(until);
  if (s != wait_status::done) return s;
  if (std::exception_ptr e = end_round(me)) std::rethrow_exception(std::move(e));
  return s;
}

}  // namespace leat
