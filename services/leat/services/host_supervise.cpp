// SPDX-License-Identifier: BSL-1.0
//
// The life of incarnations: made and started, heard of, judged, replaced.
#include <algorithm>

#include <leat/base/log.hpp>
#include <leat/base/units.hpp>
#include <leat/process/registry.hpp>
#include <leat/process/restart_text.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/time.hpp>
#include <leat/services/host.hpp>

namespace leat::services {

// "process 'filter/1' (smooth, climate.toml:12)"
std::string host::who(const replica& r) const {
  const config::process_plan& p = plan_.processes[r.process];
  return "process '" + r.name + "' (" + p.type->name + ", " + plan_.where(p.at) + ")";
}

// To look a place up takes longer than many a process runs, and on the same P. One that hangs is seen at the
// same places several times, and so are those that follow it.
std::string host::places(std::span<void* const> trace) {
  constexpr std::size_t enough = 1000;
  if (known_places_.size() > enough) known_places_.clear();
  std::string all;
  for (void* const pc : trace) {
    auto [at, fresh] = known_places_.try_emplace(pc);
    if (fresh) {
      at->second = to_line({&pc, 1});
      yield();
    }
    all.append(all.empty() ? "" : " < ").append(at->second);
  }
  return all;
}

void host::start(std::size_t n) {
  replica& r = replicas_[n];
  const config::process_plan& p = plan_.processes[r.process];
  process_account& a = processes_[r.process];
  ++a.runs;
  if (r.number > 0) {
    ++a.restarts;
    wiring_.change_user(r.process);
  }
  r.fault.clear();
  r.down = false;
  incarnation::options o;
  o.child = n;
  o.number = ++r.number;
  o.spawn.name = r.name;
  o.spawn.stack = p.stack;
  if (p.thread.own)
    o.spawn.thread = own_thread{p.thread.cpu ? static_cast<int>(*p.thread.cpu) : -1,
                                static_cast<int>(p.thread.priority.value_or(0))};
  o.hang = p.hang;
  o.grace = p.grace;
  std::unique_ptr<process> object;
  try {
    const process_class* const type = find_process_class(p.type->name);
    if (!type) throw wiring_error("there is no class '" + p.type->name + "'");
    object = type->make({plan_.full_name(p), p.settings, r.ports->bindings(), r.states});
  } catch (const std::exception& e) {
    return out(n, process_end::failed, e.what());
  } catch (...) {
    return out(n, process_end::failed, "its constructor threw an exception that is not a std::exception");
  }
  r.in = true;
  r.last = std::make_shared<incarnation>(o, news_);
  crash_account_.started(n, o.number, r.last->stop_state());
  incarnation::launch(r.last, o, std::move(object));
  if (p.watchdog) {
    r.progress = r.ports->progress();
    r.progress_at = leat::now();
    watch(n, saturating_add(r.progress_at, *p.watchdog / 4));
  }
}

// What the service's machine wants done, and what follows from that.
void host::perform(config::index n) {
  service& s = services_[n];
  for (supervision::step step{}; s.machine.next(step);) {
    const std::size_t i = s.replicas[step.who];
    replica& r = replicas_[i];
    switch (step.what) {
      case supervision::order::start: start(i); break;
      case supervision::order::ask:
        if (r.in) r.last->request_stop();
        break;
      case supervision::order::insist:
        if (r.in) r.last->insist();
        break;
      case supervision::order::linger:
        log_error("services",
                  "{} was asked to stop, and insisted on, and does not end; nothing takes its place "
                  "until it is out",
                  who(r));
        break;
      case supervision::order::limit: limit_reached(n); break;
    }
  }
}

// A process has failed too often, or too many are in quarantine.
void host::limit_reached(config::index n) {
  // It may have been the last of its service.
  if (services_[n].at != phase::running && services_[n].at != phase::ended) return;
  if (plan_.supervisor.on_limit != config::limit_action::exit) return stop(n);
  log_error("services", "the program ends (on_limit = \"exit\")");
  for (config::index i = 0; i < services_.size(); ++i) stop(i);
}

std::string host::limit_text(config::index n) const {
  return plan_.supervisor.on_limit == config::limit_action::exit
             ? ": the program ends"
             : ": its service '" + plan_.services[n].name + "' stops";
}

void host::hear(const incarnation_news& news) {
  replica& r = replicas_[news.child];
  // One that was left behind may end after all.
  if (!r.alive || !r.in || news.number != r.number) return;
  if (news.what == incarnation_news::kind::overran) return overran(r, news);
  const bool failed = news.what == incarnation_news::kind::failed;
  out(news.child, failed ? process_end::failed : process_end::returned, news.why);
  perform(plan_.processes[r.process].service);
}

void host::overran(replica& r, const incarnation_news& news) {
  const config::index s = plan_.processes[r.process].service;
  process_account& a = processes_[r.process];
  std::string where = places(r.last->trace(news.step));
  if (!where.empty()) where = "; it stands in " + where;
  const std::string ran = format_duration(rounded(news.ran));
  r.fault = "it ran for " + ran + " without entering the runtime";
  switch (news.step) {
    case overrun_step::asked:
      ++a.overruns;
      log_warning("services", "{} has run for {} without entering the runtime: it is asked to stop{}", who(r),
                  ran, where);
      if (services_[s].at == phase::running) services_[s].machine.fault(r.child, leat::now());
      break;
    case overrun_step::insisted:
      log_warning("services", "{} has run for {}: it is thrown out at its next entry{}", who(r), ran, where);
      break;
    case overrun_step::quarantined:
    case overrun_step::frozen:
      ++a.quarantined;
      log_error("services", "{} has run for {} and never entered: it is {}; what it holds stays held{}",
                who(r), ran, news.step == overrun_step::frozen ? "frozen" : "quarantined", where);
      out(news.child, process_end::failed, {});
      break;
    case overrun_step::left_alone:
      failed_ = true;
      log_error("services",
                "{} has run for {} and never entered: it runs on, max_quarantined = {} is the limit{}{}",
                who(r), ran, plan_.runtime.max_quarantined, limit_text(s), where);
      limit_reached(s);
      break;
  }
  perform(s);
}

// The last incarnation is out.
void host::out(std::size_t n, process_end how, std::string why) {
  replica& r = replicas_[n];
  service& s = services_[plan_.processes[r.process].service];
  process_account& a = processes_[r.process];
  r.in = false;
  crash_account_.ended(n);
  if (r.last) a.longest_run = std::max(a.longest_run, r.last->longest_run());
  if (!r.fault.empty()) {
    how = process_end::failed;
    why = r.fault + (why.empty() ? "" : ", then: " + why);
  }
  left_as left = how == process_end::failed           ? left_as::failed
                 : r.last && r.last->stop_requested() ? left_as::interrupted
                                                      : left_as::done;
  if (how == process_end::returned &&
      plan_.processes[r.process].restart.when == config::restart_when::always &&
      wiring_.inputs_over(r.process))
    how = process_end::finished;
  const restart_decision d = s.machine.over(r.child, how, leat::now());
  if (how == process_end::failed) ++a.failures;
  const bool another = s.machine.at(r.child) != supervision::status::ended;
  report(r, how, why, d);
  const port_records::outcome o = r.ports->settle(left, another, r.name);
  a.redelivered += o.redelivered;
  a.dead_letters += o.given_up;
  r.down = how == process_end::failed;
  if (another) return;
  if (how == process_end::failed) r.failed = failed_ = true;
  gone(r);
}

void host::report(const replica& r, process_end how, const std::string& why, const restart_decision& d) {
  const config::process_plan& p = plan_.processes[r.process];
  service& s = services_[p.service];
  if (how != process_end::failed) {
    if (d.what == restart_decision::kind::restarts)
      log_info("services", "{} has ended; {}", who(r),
               what_follows(d, restart_policy_of(p.restart), s.machine.together()));
    return;
  }
  std::string follows = what_follows(d, restart_policy_of(p.restart), s.machine.together());
  if (d.what == restart_decision::kind::limit_reached) follows += limit_text(p.service);
  log_error("services", "{} failed: {}; {}", who(r), why, follows);
}

// --- progress ---------------------------------------------------------------------------------------

void host::watch(std::size_t n, time_point at) {
  time_point& mine = replicas_[n].watch_at;
  if (mine != never) watches_.erase({mine, n});
  mine = at;
  if (at != never) watches_.insert({at, n});
}

void host::look_at_watchdogs(time_point now) {
  while (!watches_.empty() && watches_.begin()->first <= now) {
    const std::size_t n = watches_.begin()->second;
    watch(n, never);
    replica& r = replicas_[n];
    const config::index s = plan_.processes[r.process].service;
    if (!r.in || !r.fault.empty() || services_[s].at != phase::running) continue;
    const std::uint64_t progress = r.ports->progress();
    const nanoseconds limit = *plan_.processes[r.process].watchdog;
    if (progress != r.progress) {
      r.progress = progress;
      r.progress_at = now;
    } else if (saturating_sub(now, r.progress_at) >= limit) {
      r.fault = "it has neither received nor sent for " + format_duration(limit);
      services_[s].machine.fault(r.child, now);
      perform(s);
      continue;
    }
    watch(n, std::min(saturating_add(now, limit / 4 + nanoseconds(1)), saturating_add(r.progress_at, limit)));
  }
}

// For systemd: nothing runs too long, or stands still for too long, without having been replaced yet; and
// each critical process is there.
bool host::all_make_progress() const noexcept {
  return std::all_of(replicas_.begin(), replicas_.end(), [&](const replica& r) {
    const config::process_plan& p = plan_.processes[r.process];
    if (p.critical && r.failed) return false;
    if (services_[p.service].at != phase::running) return true;
    if (r.in && !r.fault.empty()) return false;
    return !p.critical || r.in || !r.alive;
  });
}

}  // namespace leat::services
