// SPDX-License-Identifier: BSL-1.0
#include <leat/process/supervisor.hpp>

#include <algorithm>
#include <utility>

#include <leat/base/log.hpp>
#include <leat/base/units.hpp>
#include <leat/csp/select.hpp>
#include <leat/process/restart_text.hpp>

namespace leat {

supervisor::supervisor(std::string name)
    : name_(std::move(name)), machine_(static_cast<std::uint64_t>(now_ns())) {}
supervisor::~supervisor() = default;

void supervisor::add(std::string name, const child_options& o, factory make,
                     std::vector<std::shared_ptr<csp::gate_record>> records) {
  supervision::limits l;
  l.restart = o.restart;
  l.grace = o.grace;
  l.patience = o.grace;
  (void)machine_.add(l);
  children_.push_back({o, std::move(make), std::move(records)});
  child_report& r = reports_.emplace_back();
  r.name = std::move(name);
}

void supervisor::start(std::size_t c) {
  child& me = children_[c];
  ++reports_[c].runs;
  incarnation::options o;
  o.child = c;
  o.number = ++me.number;
  o.spawn.name = reports_[c].name;
  o.spawn.stack = me.o.stack;
  o.spawn.thread = me.o.thread;
  o.hang = me.o.hang;
  o.grace = me.o.grace;
  me.fault.clear();
  me.in.reset();
  std::unique_ptr<process> object;
  try {
    object = me.make();
  } catch (const std::exception& e) {
    return out(c, process_end::failed, e.what());
  } catch (...) {
    return out(c, process_end::failed, "its constructor threw an exception that is not a std::exception");
  }
  me.in = incarnation::start(o, std::move(object), news_);
  me.runs = true;
  me.progress = me.passed();
  me.progress_at = now();
}

std::uint64_t supervisor::child::passed() const noexcept {
  std::uint64_t sum = 0;
  for (const auto& r : records) sum += r->passed.load(std::memory_order_relaxed);
  return sum;
}

// When to look again.
time_point supervisor::look_at_watchdogs(time_point now) {
  time_point next = never;
  for (std::size_t i = 0; i < children_.size(); ++i) {
    child& c = children_[i];
    if (!c.o.watchdog || !c.runs || !c.fault.empty()) continue;
    if (const std::uint64_t passed = c.passed(); passed != c.progress) {
      c.progress = passed;
      c.progress_at = now;
    }
    const time_point late = saturating_add(c.progress_at, *c.o.watchdog);
    if (now >= late) {
      c.fault = "it has neither received nor sent for " + format_duration(*c.o.watchdog);
      machine_.fault(i, now);
      next = now;
    } else {
      next = std::min({next, late, saturating_add(now, *c.o.watchdog / 4 + nanoseconds(1))});
    }
  }
  return next;
}

void supervisor::perform(const supervision::step& s) {
  child& me = children_[s.who];
  switch (s.what) {
    case supervision::order::start: start(s.who); break;
    case supervision::order::ask: me.in->request_stop(); break;
    case supervision::order::insist: me.in->insist(); break;
    case supervision::order::linger:
      reports_[s.who].lingers = true;
      log_error("process", "{}: '{}' was asked to stop and does not end", name_, reports_[s.who].name);
      break;
    case supervision::order::limit:
      if (failed_.empty())
        failed_ = name_ + ": '" + reports_[s.who].name + "' has failed too often; all stop";
      machine_.stop(now());
      break;
  }
}

void supervisor::out(std::size_t c, process_end how, std::string why) {
  children_[c].runs = false;
  if (const std::string& fault = children_[c].fault; !fault.empty()) {
    how = process_end::failed;
    why = fault + (why.empty() ? "" : ", then: " + why);
  }
  const restart_decision d = machine_.over(c, how, now());
  if (how == process_end::failed) ++reports_[c].failures;
  if (how == process_end::failed)
    log_error("process", "{}: '{}' failed: {}; {}", name_, reports_[c].name, why,
              what_follows(d, children_[c].o.restart, machine_.together()));
}

void supervisor::hear(const incarnation_news& n) {
  child& me = children_[n.child];
  child_report& r = reports_[n.child];
  if (n.number != me.number) return;
  if (n.what != incarnation_news::kind::overran) {
    r.lingers = false;
    return out(n.child,
               n.what == incarnation_news::kind::failed ? process_end::failed : process_end::returned, n.why);
  }
  const std::string ran = "it ran for " + format_duration(rounded(n.ran)) + " without entering the runtime";
  switch (n.step) {
    case overrun_step::asked:
      ++r.overruns;
      log_warning("process", "{}: '{}': {}; it is asked to stop", name_, r.name, ran);
      me.fault = ran;
      machine_.fault(n.child, now());
      break;
    case overrun_step::insisted: break;
    case overrun_step::quarantined:
    case overrun_step::frozen:
      ++r.quarantined;
      out(n.child, process_end::failed,
          ran + ", and is " + (n.step == overrun_step::frozen ? "frozen" : "quarantined"));
      break;
    case overrun_step::left_alone:
      if (failed_.empty())
        failed_ = name_ + ": '" + r.name + "' hangs, and max_quarantined is reached; all stop";
      machine_.stop(now());
      break;
  }
}

void supervisor::stop_now() {
  for (const child& c : children_)
    if (c.in) c.in->request_stop();
}

// On a G of its own: one that has been asked to stop cannot wait for children that stop one after the other.
void supervisor::drive(const channel<int>& ask) {
  machine_.start(now());
  for (;;) {
    supervision::step s{};
    while (machine_.next(s)) perform(s);
    if (machine_.all_over()) return;
    const time_point look = look_at_watchdogs(now());
    const int chosen = select(on_recv(news_, [&](const incarnation_news& n) { hear(n); }),
                              on_recv(ask, [&](int) { machine_.stop(now()); }),
                              on_timeout(deadline(std::min(machine_.next_deadline(), look)), [] {}));
    if (chosen == select_stopped) return stop_now();  // the runtime ends
    machine_.pass(now());
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
