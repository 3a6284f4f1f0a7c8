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
#include <leat/process/registry.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/services/notify.hpp>

namespace leat::services {

using namespace std::chrono_literals;

struct host::replica {
  config::index process = 0;
  std::string name;
  std::unique_ptr<leat::process> object;  // until it is started; then its G has it
  stop_source stop;
  bool alive = false;
};

// What the G of a replica runs. It has all it needs, since it may outlive the host: the object, which is
// destroyed on its own G, or never if that never ends, and where to tell its end.
class host::runner {
 public:
  runner(std::size_t replica, std::unique_ptr<leat::process> object, channel<event> events)
      : replica_(replica), object_(std::move(object)), events_(std::move(events)) {}
  runner(runner&&) noexcept = default;
  runner& operator=(runner&&) = delete;
  // A G that cannot be given its thread or its stack drops what it was to run.
  ~runner() {
    if (object_) tell("it could not be started");
  }

  void operator()() {
    std::string failure;
    try {
      object_->run();
    } catch (const stopped&) {
    } catch (...) {
      failure = text_of(std::current_exception());
    }
    object_.reset();
    tell(std::move(failure));
  }

 private:
  static std::string text_of(const std::exception_ptr& e) {
    try {
      std::rethrow_exception(e);
    } catch (const std::exception& x) {
      return *x.what() ? x.what() : "an exception without a text";
    } catch (...) {
      return "an exception that is not a std::exception";
    }
  }
  void tell(std::string failure) { (void)events_.try_send(event{replica_, std::move(failure)}); }

  std::size_t replica_;
  std::unique_ptr<leat::process> object_;
  channel<event> events_;
};

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
  o.slice = r.slice;
  o.stack = r.stack;
  o.cpus = r.cpus;
  o.trace = r.trace;
  o.grace = r.grace;
  o.stack_census = r.stack_census;
  return o;
}

host::host(const config::plan& plan)
    : plan_(plan), wiring_(plan), alive_of_(plan.processes.size()), services_(plan.services.size()) {
  std::size_t n = 0;
  for (config::index i = 0; i < plan.processes.size(); ++i) {
    processes_.push_back({.process = i});
    n += plan.processes[i].replicas;
  }
  // Room for all: a replica that ends never waits for the host.
  events_ = channel<event>(n + 1);
}

host::~host() = default;

void host::make_objects() {
  for (const config::index i : config::sinks_first(plan_)) {
    const config::process_plan& p = plan_.processes[i];
    for (unsigned k = 0; k < p.replicas; ++k) {
      auto r = std::make_unique<replica>();
      r->process = i;
      r->name = p.replicas > 1 ? p.name + '/' + std::to_string(k) : p.name;
      r->alive = true;
      replicas_.push_back(std::move(r));
    }
    alive_ += p.replicas;
    alive_of_[i] += p.replicas;
    services_[p.service].alive += p.replicas;
  }
  for (std::size_t n = 0; n < replicas_.size(); ++n) {
    replica& r = *replicas_[n];
    const config::process_plan& p = plan_.processes[r.process];
    if (services_[p.service].at != phase::running) continue;
    try {
      const process_class* const type = find_process_class(p.type->name);
      if (!type) throw wiring_error("there is no class '" + p.type->name + "'");
      r.object = type->make({plan_.full_name(p), p.settings, wiring_.bindings(r.process)});
    } catch (const std::exception& e) {
      report_failure(r, e.what());
      services_[p.service].at = phase::stopping;
    }
  }
}

void host::start(std::size_t n) {
  replica& r = *replicas_[n];
  const config::process_plan& p = plan_.processes[r.process];
  if (services_[p.service].at != phase::running) {
    r.object.reset();
    gone(r);
    return;
  }
  ++processes_[r.process].runs;
  spawn_options o{.name = r.name, .stack = p.stack, .stop = r.stop};
  if (p.thread.own)
    o.thread = own_thread{p.thread.cpu ? static_cast<int>(*p.thread.cpu) : -1,
                          static_cast<int>(p.thread.priority.value_or(0))};
  try {
    go(o, runner(n, std::move(r.object), events_));
  } catch (const std::exception& e) {
    // The runner has told.
    log_error("services", "process '{}': {}", r.name, e.what());
  }
}

// It will do nothing any more, as far as others are concerned.
void host::gone(replica& r) {
  service& s = services_[plan_.processes[r.process].service];
  r.alive = false;
  --alive_;
  if (--s.alive == 0) s.at = phase::ended;
  if (--alive_of_[r.process] > 0) return;
  wiring_.writer_ended(r.process);
  wiring_.reader_ended(r.process);
}

void host::report_failure(const replica& r, const std::string& why) {
  const config::process_plan& p = plan_.processes[r.process];
  failed_ = true;
  ++processes_[r.process].failures;
  log_error("services", "process '{}' ({}, {}) failed: {}; its service '{}' stops", r.name, p.type->name,
            plan_.where(p.at), why, plan_.services[p.service].name);
}

void host::ended(const event& e) {
  replica& r = *replicas_[e.replica];
  if (!r.alive) return;  // it was left behind, and has ended after all
  gone(r);
  if (e.failure.empty()) return;
  report_failure(r, e.failure);
  const config::index n = plan_.processes[r.process].service;
  if (services_[n].at < phase::stopping) stop(n);
}

// The sources end, then what reads from them, and so on.
void host::drain(config::index n) {
  service& s = services_[n];
  if (s.at != phase::running) return;
  s.at = phase::draining;
  s.until = deadline(plan_.services[n].drain).at();
  for (const auto& r : replicas_)
    if (r->alive && plan_.processes[r->process].service == n && is_source(plan_.processes[r->process]))
      r->stop.request_stop();
}

void host::stop(config::index n) {
  service& s = services_[n];
  s.at = phase::stopping;
  nanoseconds grace{0};
  for (const auto& r : replicas_) {
    const config::process_plan& p = plan_.processes[r->process];
    if (!r->alive || p.service != n) continue;
    grace = std::max(grace, p.grace);
    r->stop.request_stop();
  }
  s.until = deadline(grace).at();
}

void host::insist(config::index n) {
  service& s = services_[n];
  s.at = phase::insisting;
  s.until = deadline(plan_.runtime.grace).at();
  for (const auto& r : replicas_)
    if (r->alive && plan_.processes[r->process].service == n) r->stop.insist();
}

void host::look_at_deadlines() {
  for (config::index i = 0; i < services_.size(); ++i) {
    service& s = services_[i];
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
        for (const auto& r : replicas_) {
          if (!r->alive || plan_.processes[r->process].service != i) continue;
          ++processes_[r->process].left_behind;
          gone(*r);
        }
        break;
      case phase::running:
      case phase::ended: break;
    }
  }
}

time_point host::next_deadline() const {
  time_point least = never;
  for (const service& s : services_)
    if (s.alive > 0) least = std::min(least, s.until);
  return least;
}

ledger host::run(const in<int>& stop_signals, const std::function<void(const host&)>& tick) {
  if (plan_.runtime.lock_memory) lock_memory();
  make_objects();
  for (std::size_t i = 0; i < replicas_.size(); ++i) start(i);
  notify_systemd("READY=1");
  const nanoseconds alive_every = watchdog_interval() / 2;
  time_point next_sign = alive_every > 0s ? leat::now() : never;
  time_point next_tick = tick ? leat::now() + 1s : never;
  int asked = 0;
  while (alive_ > 0) {
    const time_point wake = std::min({next_deadline(), next_tick, next_sign});
    const int chosen = select(on_recv(events_, [&](const event& e) { ended(e); }),
                              on_recv(stop_signals,
                                      [&](int) {
                                        if (++asked > 1) return;
                                        notify_systemd("STOPPING=1");
                                        log_info("services", "asked to stop: sources end, channels drain");
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
    if (now >= next_sign) {
      notify_systemd("WATCHDOG=1");
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
  // After a second signal some may still run.
  for (const auto& r : replicas_)
    if (r->alive) ++l.processes[r->process].left_behind;
  for (const channel_account& c : l.channels)
    if (c.full == config::overflow::block && c.stats.left > 0) l.promise = false;
  return l;
}

}  // namespace leat::services
