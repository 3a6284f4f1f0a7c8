// SPDX-License-Identifier: BSL-1.0
#include <leat/services/host.hpp>

#include <sys/mman.h>
#include <algorithm>
#include <cerrno>
#include <chrono>
#include <cstring>
#include <exception>

#include <leat/base/log.hpp>
#include <leat/config/graph.hpp>
#include <leat/csp/select.hpp>
#include <leat/services/notify.hpp>

namespace leat::services {

using namespace std::chrono_literals;

namespace {

bool is_source(const config::process_plan& p) {
  return std::none_of(p.ports.begin(), p.ports.end(), [](const config::port_plan& port) {
    return port.schema->direction == port_direction::in && !port.channels.empty();
  });
}

void lock_memory() {
  if (::mlockall(MCL_CURRENT | MCL_FUTURE) != 0)
    log_warning("services",
                "memory = {{ lock = true }}: {}; raise the limit of locked memory (ulimit -l, LimitMEMLOCK=)",
                std::strerror(errno));
}

}  // namespace

runtime_options runtime_options_of(const config::plan& plan) {
  const config::runtime_plan& r = plan.runtime;
  runtime_options o;
  o.procs = r.procs;
  o.run_queue = r.run_queue;
  o.spinning = r.spinning;
  o.max_threads = r.max_threads;
  o.max_quarantined = r.max_quarantined;
  o.slice = r.slice;
  o.stack = r.stack;
  o.cpus = r.cpus;
  o.trace = r.trace;
  o.grace = r.grace;
  o.stack_census = r.stack_census;
  return o;
}

restart_policy restart_policy_of(const config::restart_plan& p) noexcept {
  restart_policy r;
  // The same, in the same order.
  r.when = static_cast<restart_when>(p.when);
  r.strategy = static_cast<restart_strategy>(p.strategy);
  r.burst = p.burst;
  r.window = p.window;
  r.backoff = p.backoff;
  r.longest_backoff = p.longest_backoff;
  return r;
}

host::host(const config::plan& plan)
    : plan_(plan), wiring_(plan), alive_of_(plan.processes.size()), services_(plan.services.size()) {
  std::size_t n = 0;
  for (config::index i = 0; i < plan.processes.size(); ++i) {
    processes_.push_back({.process = i});
    n += plan.processes[i].replicas;
  }
  for (service& s : services_)
    s.machine = supervision(static_cast<std::uint64_t>(now_ns() + (&s - services_.data())));
  // Room for all: whoever tells something never waits for the host.
  news_ = channel<incarnation_news>(n * incarnation::most_news + 1);
  replicas_.reserve(n);
  make_replicas();
}

host::~host() = default;

void host::make_replicas() {
  for (const config::index i : config::sinks_first(plan_)) {
    const config::process_plan& p = plan_.processes[i];
    service& s = services_[p.service];
    supervision::limits l;
    l.restart = restart_policy_of(p.restart);
    l.grace = p.grace;
    l.patience = plan_.runtime.grace;
    for (unsigned k = 0; k < p.replicas; ++k) {
      replica& r = replicas_.emplace_back();
      r.process = i;
      r.name = p.replicas > 1 ? p.name + '/' + std::to_string(k) : p.name;
      r.ports = std::make_unique<port_records>(plan_, wiring_, i);
      r.child = s.machine.add(l);
      s.replicas.push_back(replicas_.size() - 1);
      crash_account_.add(who(r), plan_, wiring_, i);
    }
    alive_ += p.replicas;
    alive_of_[i] += p.replicas;
    s.alive += p.replicas;
  }
}

// It has ended for good, or will do nothing any more as far as others are concerned.
void host::gone(replica& r) {
  service& s = services_[plan_.processes[r.process].service];
  r.alive = false;
  --alive_;
  if (--s.alive == 0) s.at = phase::ended;
  if (--alive_of_[r.process] > 0) return;
  wiring_.writer_ended(r.process);
  wiring_.reader_ended(r.process);
}

// Those that were to be started again have ended for good.
void host::end_restarts(config::index n) {
  for (const supervision::child c : services_[n].machine.close()) {
    replica& r = replicas_[services_[n].replicas[c]];
    processes_[r.process].dead_letters += r.ports->settle(left_as::interrupted, false, r.name).given_up;
    if (r.down) {
      r.failed = failed_ = true;
      log_warning("services", "{} had failed and was to be started again; now it stays ended", who(r));
    }
    gone(r);
  }
}

// The sources end, then what reads from them, and so on.
void host::drain(config::index n) {
  service& s = services_[n];
  if (s.at != phase::running) return;
  s.at = phase::draining;
  s.until = deadline(plan_.services[n].drain).at();
  end_restarts(n);
  for (const std::size_t i : s.replicas)
    if (replicas_[i].in && is_source(plan_.processes[replicas_[i].process]))
      replicas_[i].last->request_stop();
}

void host::stop(config::index n) {
  service& s = services_[n];
  if (s.at >= phase::stopping) return;
  if (s.at == phase::running) end_restarts(n);
  if (s.at == phase::ended) return;
  s.at = phase::stopping;
  nanoseconds grace{0};
  for (const std::size_t i : s.replicas) {
    const replica& r = replicas_[i];
    if (!r.alive || !r.in) continue;
    grace = std::max(grace, plan_.processes[r.process].grace);
    r.last->request_stop();
  }
  s.until = deadline(grace).at();
}

void host::insist(config::index n) {
  service& s = services_[n];
  s.at = phase::insisting;
  s.until = deadline(plan_.runtime.grace).at();
  for (const std::size_t i : s.replicas)
    if (replicas_[i].alive && replicas_[i].in) replicas_[i].last->insist();
}

void host::look_at_deadlines() {
  for (config::index i = 0; i < services_.size(); ++i) {
    service& s = services_[i];
    if (s.at <= phase::draining) {
      s.machine.pass(leat::now());
      perform(i);
    }
    if (s.alive == 0 || !deadline(s.until).expired()) continue;
    const std::string& name = plan_.services[i].name;
    switch (s.at) {
      case phase::draining:
        log_warning("services", "service '{}' did not drain in time; {} of its Gs are stopped", name,
                    s.alive);
        stop(i);
        break;
      case phase::stopping: insist(i); break;
      case phase::insisting:
        log_error("services", "service '{}': {} of its Gs do not end; they are left behind", name, s.alive);
        failed_ = true;
        for (const std::size_t n : s.replicas) {
          replica& r = replicas_[n];
          if (!r.alive) continue;
          ++processes_[r.process].left_behind;
          gone(r);
        }
        break;
      case phase::running:
      case phase::ended: break;
    }
  }
}

void host::look_for_deadlocks(time_point now) {
  std::vector<replica_sight> sights;
  std::vector<std::string> names;
  for (const replica& r : replicas_) {
    sights.push_back({r.process, r.in ? r.last->stop_state() : nullptr, !r.alive});
    names.push_back(r.name);
  }
  for (const deadlock_set& d : deadlocks_.look(sights, names, now)) {
    for (const std::string& line : d.text) log_error("services", "{}", line);
    if (plan_.supervisor.on_deadlock != config::deadlock_action::restart) continue;
    for (const std::size_t n : d.members) {
      replica& r = replicas_[n];
      const config::index s = plan_.processes[r.process].service;
      if (!r.in || services_[s].at != phase::running) continue;
      r.fault = "it waited for others that waited for it";
      services_[s].machine.fault(r.child, now);
      perform(s);
    }
  }
}

time_point host::next_deadline() const {
  time_point least = never;
  for (const service& s : services_) {
    if (s.alive == 0) continue;
    least = std::min(least, s.until);
    if (s.at <= phase::draining) least = std::min(least, s.machine.next_deadline());
  }
  return watches_.empty() ? least : std::min(least, watches_.begin()->first);
}

nanoseconds host::longest_drain() const {
  nanoseconds longest{0};
  for (config::index i = 0; i < services_.size(); ++i)
    if (services_[i].alive > 0) longest = std::max(longest, plan_.services[i].drain);
  return longest;
}

ledger host::run(const in<int>& stop_signals, const std::function<void(const host&)>& tick) {
  if (plan_.runtime.lock_memory) lock_memory();
  for (config::index i = 0; i < services_.size(); ++i) services_[i].machine.start(leat::now());
  for (config::index i = 0; i < services_.size(); ++i) perform(i);
  notify_systemd("READY=1");
  const nanoseconds alive_every = watchdog_interval() / 2;
  time_point next_sign = alive_every > 0s ? leat::now() : never;
  time_point next_tick = tick ? leat::now() + 1s : never;
  int asked = 0;
  while (alive_ > 0) {
    const time_point wake = std::min({next_deadline(), next_tick, next_sign, deadlocks_.next_look()});
    const int chosen = select(on_recv(news_, [&](const incarnation_news& n) { hear(n); }),
                              on_recv(stop_signals,
                                      [&](int) {
                                        if (++asked > 1) return;
                                        notify_systemd("STOPPING=1");
                                        log_info("services",
                                                 "asked to stop: sources end, channels drain for at most {}; "
                                                 "once more ends it at once",
                                                 format_duration(longest_drain()));
                                        for (config::index i = 0; i < services_.size(); ++i) drain(i);
                                      }),
                              on_timeout(deadline(wake), [] {}));
    if (asked > 1 || chosen == select_stopped) {
      failed_ = true;
      break;
    }
    // Each time: events that never cease must not keep a deadline from being seen.
    const time_point now = leat::now();
    if (now < wake) continue;
    look_at_deadlines();
    look_at_watchdogs(now);
    if (now >= deadlocks_.next_look()) look_for_deadlocks(now);
    if (now >= next_sign) {
      if (all_make_progress()) notify_systemd("WATCHDOG=1");
      next_sign = now + alive_every;
    }
    if (now >= next_tick) {
      tick(*this);
      next_tick = now + 1s;
    }
  }
  return account();
}

ledger host::account() const {
  ledger l;
  l.channels = wiring_.accounts();
  l.processes = processes_;
  l.failed = failed_;
  for (const replica& r : replicas_) {
    process_account& a = l.processes[r.process];
    if (r.alive && r.in) ++a.left_behind;  // after a second signal some may still run
    if (r.in) a.longest_run = std::max(a.longest_run, r.last->longest_run());
  }
  for (const channel_account& c : l.channels)
    if (c.full == config::overflow::block && c.stats.left > 0) l.promise = false;
  return l;
}

}  // namespace leat::services
