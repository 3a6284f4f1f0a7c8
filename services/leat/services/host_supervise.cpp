// SPDX-License-Identifier: BSL-1.0
//
// What the driver of a service's supervision asks for: incarnations, and what is counted and said of them.
#include <algorithm>

#include <leat/base/log.hpp>
#include <leat/base/units.hpp>
#include <leat/process/registry.hpp>
#include <leat/process/restart_text.hpp>
#include <leat/sched/random.hpp>
#include <leat/sched/time.hpp>
#include <leat/sched/world.hpp>
#include <leat/services/host.hpp>

namespace leat::services {

std::string host::name_and_place(const replica& r) const {
  const config::process_plan& p = plan_.processes[r.process];
  return "process '" + r.name + "' (" + p.type->name + ", " + plan_.where(p.at) + ")";
}

// The first; and when one has failed before it could.
void host::make_next(std::size_t n) {
  replica& r = replicas_[n];
  if (!r.by) {
    const config::process_plan& p = plan_.processes[r.process];
    auto by = std::make_shared<recipe>();
    by->type = find_process_class(p.type->name);
    by->type_name = p.type->name;
    by->child = n;
    by->hang = p.hang;
    by->grace = p.grace;
    by->options = {plan_.full_name(p), p.settings, wiring_.bindings(r.process, r.number), r.states,
                   settings_[r.process]};
    by->held = r.ports->held();
    by->news = news_;
    by->seen = board_;
    r.by = std::move(by);
  }
  r.next = std::make_shared<next_incarnation>(r.by);
}

void host::hear(const incarnation_news& news) {
  replica& r = replicas_[news.child];
  if (news.what == incarnation_news::kind::prepared) {
    if (!r.next) r.next = std::static_pointer_cast<next_incarnation>(news.next);
    service_of(r).driver.make_room(r.child);
    return;
  }
  // One that was left behind may end after all.
  if (r.alive) service_of(r).driver.hear(r.child, news);
}

// Of a simulation, at the process of a service that runs. A process that hangs is told as sysmon would tell it.
bool host::make_fault(const wish& w) {
  const replica& r = replicas_[w.replica];
  service& s = service_of(r);
  incarnation* const run = running(r);
  sched::world* const in = sched::world::here();
  const std::uint64_t g = board_->g_of(w.replica);
  if (!in || !run || !r.alive || s.at != phase::running || s.driver.cause(r.child)) return false;
  const config::process_plan& p = plan_.processes[r.process];
  switch (w.what) {
    case wish::kind::fail:
      s.driver.fault(r.child, {failure_cause::kind::injected});
      run->insist();
      return true;
    case wish::kind::hang:
      if (g == 0) return false;
      // A moment longer than its limits: then it is awake, and is thrown out.
      in->hold(g, p.hang + p.grace + std::chrono::milliseconds(1));
      return true;
    default: run->overran({overrun_step::asked, g, p.hang, {}}); return true;
  }
}

// For systemd: nothing runs too long, or stands still for too long, without having been replaced yet; and
// each critical process is there.
bool host::all_make_progress() const noexcept {
  return std::all_of(replicas_.begin(), replicas_.end(), [&](const replica& r) {
    const config::process_plan& p = plan_.processes[r.process];
    if (p.critical && r.failed) return false;
    const service& s = services_[p.service];
    if (s.at != phase::running) return true;
    const bool in = s.driver.in(r.child) != nullptr;
    if (in && s.driver.cause(r.child)) return false;
    return !p.critical || in || !r.alive;
  });
}

// --- a service --------------------------------------------------------------------------------------

host::service::service(host& h, config::index n) : driver(*this, leat::random()), host_(h), index_(n) {}

std::shared_ptr<incarnation> host::service::launch(child c, unsigned number,
                                                   std::shared_ptr<incarnation>& before) {
  replica& r = replica_of(c);
  const config::process_plan& p = host_.plan_.processes[r.process];
  process_account& a = host_.processes_[r.process];
  ++a.runs;
  if (number > 1) {
    ++a.restarts;
    host_.wiring_.change_user(r.process);
  }
  r.down = false;
  host_.board_->change(replicas[c], [&](replica_row& row) {
    row.state = replica_state::runs;
    row.number = number;
    row.quarantined_now = false;
    if (number > 1) ++row.restarts;
  });
  host_.board_->begun(replicas[c], 0);
  if (!r.next) host_.make_next(replicas[c]);
  r.next->before = std::move(before);
  std::shared_ptr<incarnation> run = std::move(r.next->run);
  r.ports->put_into(r.next->ports());
  host_.crash_account_.started(replicas[c], number, run->stop_state());
  spawn_options spawn;
  spawn.name = r.name;
  spawn.stack = p.stack;
  if (p.thread.own)
    spawn.thread = own_thread{p.thread.cpu ? static_cast<int>(*p.thread.cpu) : -1,
                              static_cast<int>(p.thread.priority.value_or(0))};
  incarnation::launch(run, number, spawn, std::move(r.next));
  return run;
}

bool host::service::finished(child c) const {
  const replica& r = replica_of(c);
  return host_.plan_.processes[r.process].restart.when == restart_when::always &&
         host_.wiring_.inputs_over(r.process, r.number);
}

void host::service::lingers(child c) {
  log_error("services",
            "{} was asked to stop, and insisted on, and does not end: it is put out where it stands",
            replica_of(c).who);
}

void host::service::overran(child c, const incarnation_news& news, bool went_on) {
  const replica& r = replica_of(c);
  process_account& a = host_.processes_[r.process];
  fixed_text<32> time;
  append_rounded(time, news.ran);
  const std::string_view ran = time.view();
  fixed_text<64> waits;
  if (news.call) waits.format("; it waits in the system call {}", news.call);
  switch (news.step) {
    case overrun_step::asked:
      ++a.overruns;
      host_.board_->change(replicas[c], [](replica_row& row) { ++row.overruns; });
      log_warning("services", "{} has run for {} without entering the runtime: it is asked to stop{}", r.who,
                  ran, waits.view());
      break;
    case overrun_step::insisted:
      if (news.ran > nanoseconds::zero())
        log_warning("services", "{} has run for {}: it is thrown out at its next entry{}", r.who, ran,
                    waits.view());
      else  // it has come in since, and gone on
        log_warning("services",
                    "{} went on after it had been asked to stop: it is thrown out at its next entry", r.who);
      break;
    case overrun_step::quarantined:
      ++a.quarantined;
      host_.board_->change(replicas[c], [](replica_row& row) { ++row.quarantined; });
      if (went_on)
        log_error("services",
                  "{} went on after it was thrown out: it is quarantined; what it holds stays held", r.who);
      else
        log_error("services",
                  "{} has run for {} and never entered: it is quarantined; what it holds stays held", r.who,
                  ran);
      host_.names_.tell(replicas[c], driver.last(c)->trace(news.step));
      break;
    case overrun_step::left_alone: {
      fixed_text<128> limit;
      append_limit(limit);
      if (went_on)
        log_error("services",
                  "{} went on after it was thrown out: it runs on, max_quarantined = {} is the limit{}",
                  r.who, host_.plan_.runtime.max_quarantined, limit.view());
      else
        log_error("services",
                  "{} has run for {} and never entered: it runs on, max_quarantined = {} is the limit{}",
                  r.who, ran, host_.plan_.runtime.max_quarantined, limit.view());
      if (news.behind)
        log_error("services",
                  "{} waits for a mutex that '{}' holds, which is quarantined: only a new program frees it; "
                  "on_limit = \"exit\" lets systemd start one",
                  r.who, news.behind);
      break;
    }
  }
}

void host::service::limit_reached(child, supervision_driver::limit which) {
  if (which == supervision_driver::limit::threads) {
    fixed_text<128> limit;
    append_limit(limit);
    log_error("services",
              "no further thread can be had (TasksMax=, ulimit -u, memory): the next process that hangs "
              "could stop all others{}",
              limit.view());
  }
  if (which != supervision_driver::limit::restarts) host_.failed_ = true;
  // It may have been the last of its service.
  if (at != phase::running && at != phase::ended) return;
  if (host_.plan_.supervisor.on_limit != config::limit_action::exit) return host_.stop(index_);
  log_error("services", "the program ends (on_limit = \"exit\")");
  for (config::index i = 0; i < host_.services_.size(); ++i) host_.stop(i);
}

void host::service::append_limit(text_buffer& to) const noexcept {
  if (host_.plan_.supervisor.on_limit == config::limit_action::exit)
    to.append(": the program ends");
  else
    to.format(": its service '{}' stops", std::string_view(host_.plan_.services[index_].name));
}

void host::service::is_out(child c, const supervision_driver::ending& e) {
  replica& r = replica_of(c);
  process_account& a = host_.processes_[r.process];
  const incarnation& run = *driver.last(c);
  const bool failed = e.how == process_end::failed;
  host_.crash_account_.ended(replicas[c]);
  a.longest_run = std::max(a.longest_run, run.longest_run());
  if (failed) ++a.failures;
  report(r, e);
  if (e.quarantined) {
    if (!r.next) host_.make_next(replicas[c]);
    r.ports->leave_records(r.next->records);
  }
  const left_as left = failed ? left_as::failed : run.stop_requested() ? left_as::interrupted : left_as::done;
  const port_records::outcome o = r.ports->settle(left, e.again, r.name);
  a.redelivered += o.redelivered;
  a.dead_letters += o.given_up;
  r.down = failed;
  fixed_text<256> why;
  e.append_cause(why);
  why.append(e.why);
  host_.board_->change(replicas[c], [&](replica_row& row) {
    row.state = replica_state::restarts;
    row.quarantined_now = e.quarantined;
    row.redelivered += o.redelivered;
    row.dead_letters += o.given_up;
    if (!failed) return;
    ++row.failures;
    row.failed_at = now_ns();
    const std::size_t n = why.view().copy(row.failure.data(), row.failure.size() - 1);
    row.failure[n] = 0;
  });
  if (e.again) return;
  if (failed) r.failed = host_.failed_ = true;
  host_.gone(r);
}

void host::service::report(const replica& r, const supervision_driver::ending& e) const {
  fixed_text<256> follows;
  append_what_follows(follows, e.next, host_.plan_.processes[r.process].restart, e.together);
  if (e.how != process_end::failed) {
    if (e.next.what == restart_decision::kind::restarts)
      log_info("services", "{} has ended; {}", r.who, follows.view());
    return;
  }
  if (e.next.what == restart_decision::kind::limit_reached) append_limit(follows);
  fixed_text<128> cause;
  e.append_cause(cause);
  log_error("services", "{} failed: {}{}; {}", r.who, cause.view(), e.why, follows.view());
}

}  // namespace leat::services
