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

runtime_options runtime_options_of(const config::plan& plan) { return plan.runtime; }

host::host(const config::plan& plan) : plan_(plan), wiring_(plan), alive_of_(plan.processes.size()) {
  std::size_t n = 0;
  for (config::index i = 0; i < plan.processes.size(); ++i) {
    processes_.push_back({.process = i});
    settings_.push_back(std::make_shared<setting_store>());
    n += plan.processes[i].replicas;
  }
  for (config::index i = 0; i < plan.services.size(); ++i) services_.emplace_back(*this, i);
  // Room for all: whoever tells something never waits for the host.
  news_ = channel<incarnation_news>(n * incarnation::most_news + 1);
  board_ = std::make_shared<services::board>(n, plan.services.size());
  replicas_.reserve(n);
  make_replicas();
}

// News may hold successors, and those hold the channel: what nobody will hear any more is dropped here, and
// what comes later, from those that were left behind, finds the channel closed.
host::~host() {
  watch_.unwatch();
  news_.close();
  while (news_.try_recv()) {
  }
  wishes_.close();
}

std::vector<std::string> host::replica_names() const {
  std::vector<std::string> all;
  for (const replica& r : replicas_)
    all.push_back(plan_.services[plan_.processes[r.process].service].name + '/' + r.name);
  return all;
}

std::vector<config::index> host::processes_of_replicas() const {
  std::vector<config::index> all;
  for (const replica& r : replicas_) all.push_back(r.process);
  return all;
}

// What those see who look from outside.
void host::post(config::index n) noexcept {
  const service& s = services_[n];
  const auto p = s.at == phase::running    ? deployment_phase::running
                 : s.at == phase::draining ? deployment_phase::draining
                 : s.at == phase::ended    ? deployment_phase::ended
                                           : deployment_phase::stopping;
  board_->set_phase(n, p, s.alive);
}

void host::grant(const wish& w) {
  if (w.claim && !w.claim->begin()) return;
  bool done = true;
  switch (w.what) {
    case wish::kind::restart: {
      replica& r = replicas_[w.replica];
      service& s = service_of(r);
      done = r.alive && s.at == phase::running && s.driver.renew(r.child);
      if (done) log_notice("services", "{} is restarted, as was asked at the control door", r.who);
      break;
    }
    case wish::kind::stop: asked_to_stop_ = std::max(asked_to_stop_, 1); break;
    case wish::kind::stop_now: asked_to_stop_ = 2; break;
    case wish::kind::fail:
    case wish::kind::hang:
    case wish::kind::overran: done = make_fault(w); break;
  }
  (void)w.granted.try_send(done);
}

void host::make_replicas() {
  for (const config::index i : config::sinks_first(plan_)) {
    const config::process_plan& p = plan_.processes[i];
    service& s = services_[p.service];
    supervision::limits l;
    l.restart = p.restart;
    l.grace = p.grace;
    l.patience = plan_.runtime.grace;
    for (unsigned k = 0; k < p.replicas; ++k) {
      replica& r = replicas_.emplace_back();
      r.process = i;
      r.number = k;
      r.name = p.replicas > 1 ? p.name + '/' + std::to_string(k) : p.name;
      r.who = name_and_place(r);
      states_.give(i, k, r.who, r.states);
      r.ports = std::make_unique<port_records>(plan_, wiring_, i, k);
      r.child = s.driver.add(l, p.watchdog);
      s.replicas.push_back(replicas_.size() - 1);
      crash_account_.add(r.who, plan_, wiring_, i);
    }
    alive_ += p.replicas;
    alive_of_[i] += p.replicas;
    s.alive += p.replicas;
  }
}

// It has ended for good, or will do nothing any more as far as others are concerned.
void host::gone(replica& r) {
  service& s = service_of(r);
  r.alive = false;
  --alive_;
  if (--s.alive == 0) s.at = phase::ended;
  board_->change(index_of(r), [&](replica_row& row) {
    row.state = r.failed ? replica_state::failed : replica_state::ended;
  });
  post(plan_.processes[r.process].service);
  wiring_.replica_ended(r.process, r.number);
  if (--alive_of_[r.process] > 0) return;
  wiring_.writer_ended(r.process);
  wiring_.reader_ended(r.process);
}

// Those that were to be started again have ended for good.
void host::end_restarts(config::index n) {
  for (const supervision::child c : services_[n].driver.close()) {
    replica& r = replicas_[services_[n].replicas[c]];
    processes_[r.process].dead_letters += r.ports->settle(left_as::interrupted, false, r.name).given_up;
    if (r.down) {
      r.failed = failed_ = true;
      log_warning("services", "{} had failed and was to be started again; now it stays ended", r.who);
    }
    gone(r);
  }
}

// The sources end, then what reads from them, and so on.
void host::drain(config::index n) {
  service& s = services_[n];
  if (s.at != phase::running) return;
  s.at = phase::draining;
  post(n);
  s.until = deadline(plan_.services[n].drain).at();
  end_restarts(n);
  for (const std::size_t i : s.replicas)
    if (incarnation* const run = running(replicas_[i]);
        run && is_source(plan_.processes[replicas_[i].process]))
      run->request_stop();
}

void host::stop(config::index n) {
  service& s = services_[n];
  if (s.at >= phase::stopping) return;
  if (s.at == phase::running) end_restarts(n);
  if (s.at == phase::ended) return;
  s.at = phase::stopping;
  post(n);
  nanoseconds grace{0};
  for (const std::size_t i : s.replicas) {
    const replica& r = replicas_[i];
    incarnation* const run = running(r);
    if (!r.alive || !run) continue;
    grace = std::max(grace, plan_.processes[r.process].grace);
    run->request_stop();
  }
  s.until = deadline(grace).at();
}

void host::insist(config::index n) {
  service& s = services_[n];
  s.at = phase::insisting;
  s.until = deadline(plan_.runtime.grace).at();
  for (const std::size_t i : s.replicas)
    if (incarnation* const run = running(replicas_[i]); run && replicas_[i].alive) run->insist();
}

// "'a', 'b' and 12 more". Without the heap, which somebody who does not end may have locked.
void host::append_names_alive(text_buffer& to, const service& s) const noexcept {
  constexpr std::size_t most = 5;
  std::size_t named = 0;
  for (const std::size_t n : s.replicas) {
    if (!replicas_[n].alive) continue;
    if (named == most && s.alive > most + 1) {
      to.format(" and {} more", s.alive - most);
      return;
    }
    if (named > 0) to.append(named + 1 == s.alive ? " and " : ", ");
    to.format("'{}'", std::string_view(replicas_[n].name));
    ++named;
  }
}

void host::leave_behind(const replica& r, process_account& a) {
  ++a.left_behind;
  const unsigned n = r.ports->in_hand();
  if (n == 0) return;
  a.left_in_hand += n;
  log_error("services", "{} has {} {} in hand and is left behind: nobody hands {} out again", r.who, n,
            n == 1 ? "value" : "values", n == 1 ? "it" : "them");
}

void host::look_at_deadlines() {
  for (config::index i = 0; i < services_.size(); ++i) {
    service& s = services_[i];
    // From stopping on all are insisted on, and put out, together.
    if (s.at <= phase::draining) s.driver.pass();
    if (s.alive == 0 || !deadline(s.until).expired()) continue;
    const std::string& name = plan_.services[i].name;
    fixed_text<512> names;
    fixed_text<32> drain;
    switch (s.at) {
      case phase::draining:
        append_duration(drain, plan_.services[i].drain);
        append_names_alive(names, s);
        log_warning("services", "service '{}' did not drain within {}; stopping {}", name, drain.view(),
                    names.view());
        stop(i);
        break;
      case phase::stopping: insist(i); break;
      case phase::insisting:
        s.at = phase::fencing;
        // This is sysmon's work and not the process's: a machine without time must not cut it short.
        s.until = deadline(std::max<nanoseconds>(plan_.runtime.grace, 1s)).at();
        for (const std::size_t n : s.replicas)
          if (incarnation* const run = running(replicas_[n]); run && replicas_[n].alive) run->want_out();
        break;
      case phase::fencing:
        append_names_alive(names, s);
        log_error("services", "service '{}': {} did not end and {} left behind", name, names.view(),
                  s.alive == 1 ? "is" : "are");
        failed_ = true;
        for (const std::size_t n : s.replicas) {
          replica& r = replicas_[n];
          if (!r.alive) continue;
          leave_behind(r, processes_[r.process]);
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
    const incarnation* const run = running(r);
    sights.push_back({r.process, run ? run->stop_state() : nullptr, !r.alive});
    names.push_back(r.name);
  }
  for (const deadlock_set& d : deadlocks_.look(sights, names, now)) {
    for (const std::string& line : d.text) log_error("services", "{}", line);
    if (plan_.supervisor.on_deadlock != config::deadlock_action::restart) continue;
    for (const std::size_t n : d.members)
      service_of(replicas_[n]).driver.fault(replicas_[n].child, {failure_cause::kind::deadlock});
  }
}

time_point host::next_deadline() const {
  time_point least = never;
  for (const service& s : services_) {
    if (s.alive == 0) continue;
    least = std::min(least, s.until);
    if (s.at <= phase::draining) least = std::min(least, s.driver.next_deadline());
  }
  return least;
}

nanoseconds host::longest_drain() const {
  nanoseconds longest{0};
  for (config::index i = 0; i < services_.size(); ++i)
    if (services_[i].alive > 0) longest = std::max(longest, plan_.services[i].drain);
  return longest;
}

ledger host::run(const in<int>& stop_signals, const std::function<void(const host&)>& tick) {
  if (plan_.runtime.lock_memory) lock_memory();
  std::vector<std::string> names;
  for (const replica& r : replicas_) names.push_back(r.who);
  names_.start(std::move(names));
  states_.start();
  wiring_.stores().start();
  for (service& s : services_) s.driver.start();
  for (config::index i = 0; i < services_.size(); ++i) post(i);
  notify_systemd("READY=1");
  const nanoseconds alive_every = watchdog_interval() / 2;
  time_point next_sign = alive_every > 0s ? leat::now() : never;
  time_point next_tick = tick ? leat::now() + 1s : never;
  time_point asked_at = never;
  const auto begin_to_end = [&] {
    asked_at = leat::now();
    sched::hurry_to_end();
    notify_systemd("STOPPING=1");
    log_info("services",
             "asked to stop: sources end, channels drain for at most {}; another signal, a second or more "
             "from now, ends it at once",
             format_duration(longest_drain()));
    for (config::index i = 0; i < services_.size(); ++i) drain(i);
  };
  const sched::watching watches;
  watch_.watch();
  while (alive_ > 0) {
    watch_.rest();
    const time_point wake = std::min({next_deadline(), next_tick, next_sign, deadlocks_.next_look()});
    const int chosen = select(on_recv(news_,
                                      [&](const incarnation_news& n) {
                                        watch_.step();
                                        hear(n);
                                      }),
                              on_recv(stop_signals,
                                      [&](int) {
                                        watch_.step();
                                        // Two at once are one wish; a second one later is impatience.
                                        if (asked_to_stop_ == 1 && leat::now() - asked_at < 1s) return;
                                        ++asked_to_stop_;
                                      }),
                              on_recv(wishes_,
                                      [&](const wish& w) {
                                        watch_.step();
                                        grant(w);
                                      }),
                              on_timeout(deadline(wake), [] {}));
    watch_.step();
    if (asked_to_stop_ > 1 || chosen == select_stopped) {
      failed_ = true;
      break;
    }
    if (asked_to_stop_ == 1 && asked_at == never) begin_to_end();
    board_->set_live(all_make_progress());
    // Each time: events that never cease must not keep a deadline from being seen.
    const time_point now = leat::now();
    if (now < wake) continue;
    look_at_deadlines();
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
  watch_.unwatch();
  if (!states_.finish()) failed_ = true;
  if (!wiring_.stores().finish()) failed_ = true;
  return account();
}

ledger host::account() const {
  ledger l;
  l.channels = wiring_.accounts();
  l.processes = processes_;
  l.failed = failed_;
  const runtime_stats now = stats();
  l.fenced = now.fenced;
  l.frozen = now.frozen;
  const auto all = static_cast<unsigned>(now.quarantined);
  l.back = all - std::min(now.fenced + now.frozen, all);  // one may be settled between two looks
  for (const replica& r : replicas_) {
    process_account& a = l.processes[r.process];
    const incarnation* const run = running(r);
    if (!run) continue;
    if (r.alive) leave_behind(r, a);  // after a second signal some may still run
    a.longest_run = std::max(a.longest_run, run->longest_run());
  }
  for (const channel_account& c : l.channels)
    if (c.full == leat::full::block &&
        (c.store ? c.store->finish_failed && c.store->kept > 0 : c.stats.left > 0))
      l.promise = false;
  return l;
}

}  // namespace leat::services
