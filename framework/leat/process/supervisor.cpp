// SPDX-License-Identifier: BSL-1.0
#include <leat/process/supervisor.hpp>

#include <utility>

#include <leat/base/log.hpp>
#include <leat/csp/select.hpp>
#include <leat/process/restart_text.hpp>
#include <leat/sched/heartbeat.hpp>
#include <leat/sched/random.hpp>

namespace leat {

supervisor::supervisor(std::string name) : name_(std::move(name)), driver_(*this, leat::random()) {}
supervisor::~supervisor() = default;

void supervisor::add(std::string name, const child_options& o, factory make,
                     std::vector<std::shared_ptr<csp::gate_record>> records) {
  supervision::limits l;
  l.restart = o.restart;
  l.grace = o.grace;
  l.patience = o.grace;
  (void)driver_.add(l, o.watchdog);
  children_.push_back({o, std::move(make), std::move(records)});
  child_report& r = reports_.emplace_back();
  r.name = std::move(name);
}

std::shared_ptr<incarnation> supervisor::launch(child c, unsigned number,
                                                std::shared_ptr<incarnation>& before) {
  const entry& me = children_[c];
  driver_.make_room(c);
  ++reports_[c].runs;
  incarnation::options o;
  o.child = c;
  o.number = number;
  o.spawn.name = reports_[c].name;
  o.spawn.stack = me.o.stack;
  o.spawn.thread = me.o.thread;
  o.hang = me.o.hang;
  o.grace = me.o.grace;
  std::shared_ptr<incarnation> run = incarnation::start(o, me.make, news_);
  before.reset();
  return run;
}

std::uint64_t supervisor::progress(child c) const noexcept {
  std::uint64_t sum = 0;
  for (const auto& r : children_[c].records) sum += r->passed.load(std::memory_order_relaxed);
  return sum;
}

void supervisor::overran(child c, const incarnation_news& n, bool) {
  child_report& r = reports_[c];
  if (n.step == overrun_step::quarantined) ++r.quarantined;
  if (n.step != overrun_step::asked) return;
  ++r.overruns;
  fixed_text<128> ran;
  failure_cause{failure_cause::kind::overran, n.ran}.append_to(ran);
  log_warning("process", "{}: '{}': {}; it is asked to stop", name_, r.name, ran.view());
}

void supervisor::lingers(child c) {
  reports_[c].lingers = true;
  log_error("process", "{}: '{}' was asked to stop and does not end; it is put out where it stands", name_,
            reports_[c].name);
}

void supervisor::is_out(child c, const supervision_driver::ending& e) {
  child_report& r = reports_[c];
  if (!e.quarantined) r.lingers = false;
  if (e.how != process_end::failed) return;
  ++r.failures;
  supervision_driver::ending told = e;
  if (e.quarantined) told.why = "it is quarantined";
  fixed_text<256> cause, follows;
  told.append_cause(cause);
  append_what_follows(follows, e.next, children_[c].o.restart, e.together);
  log_error("process", "{}: '{}' failed: {}{}; {}", name_, r.name, cause.view(), told.why, follows.view());
}

void supervisor::limit_reached(child c, supervision_driver::limit which) {
  const char* why = nullptr;
  switch (which) {
    case supervision_driver::limit::restarts: why = "' has failed too often; all stop"; break;
    case supervision_driver::limit::quarantines:
      why = "' hangs, and max_quarantined is reached; all stop";
      break;
    // The next one that hangs could take the last.
    case supervision_driver::limit::threads:
      why = "' hangs, and no further thread can be had; all stop";
      break;
  }
  if (failed_.empty()) failed_ = name_ + ": '" + reports_[c].name + why;
  driver_.stop();
}

// On a G of its own: one that has been asked to stop cannot wait for children that stop one after the other.
void supervisor::drive(const channel<int>& ask) {
  const sched::watching watches;
  driver_.start();
  while (!driver_.all_over()) {
    const int chosen = select(on_recv(news_, [&](const incarnation_news& n) { driver_.hear(n.child, n); }),
                              on_recv(ask, [&](int) { driver_.stop(); }),
                              on_timeout(deadline(driver_.next_deadline()), [] {}));
    if (chosen == select_stopped) {  // the runtime ends
      for (child c = 0; c < children_.size(); ++c)
        if (incarnation* const run = driver_.in(c)) run->request_stop();
      return;
    }
    driver_.pass();
  }
}

void supervisor::run() {
  news_ = channel<incarnation_news>(children_.size() * incarnation::most_news + 1);
  const channel<int> ask(1);
  auto driver = spawn(name_, [&] { drive(ask); });
  try {
    if (driver.join() == join_result::stopped) (void)ask.try_send(1);
  } catch (const stopped&) {  // insisted on
    (void)ask.try_send(1);
    driver.get();
    throw;
  }
  driver.get();
  if (!failed_.empty()) throw supervisor_failed(failed_);
}

}  // namespace leat
