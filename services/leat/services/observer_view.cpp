// SPDX-License-Identifier: BSL-1.0
//
// What those see who look.
#include <leat/services/observer.hpp>

#include <unistd.h>
#include <algorithm>
#include <array>
#include <cstdio>
#include <mutex>

#include <leat/base/version.hpp>
#include <leat/config/graph.hpp>
#include <leat/sched/backtrace.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/info.hpp>

namespace leat::services {

using namespace std::chrono_literals;
using control::queue_index;
using namespace observing;

namespace {

std::uint64_t resident_bytes() {
  std::uint64_t size = 0, resident = 0;
  if (std::FILE* const f = std::fopen("/proc/self/statm", "re")) {
    if (std::fscanf(f, "%lu %lu", &size, &resident) != 2) resident = 0;
    (void)std::fclose(f);
  }
  return resident * static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
}

const char* to_string(deployment_phase p) noexcept {
  constexpr const char* names[] = {"starting", "running", "draining", "stopping", "ended"};
  return names[static_cast<std::size_t>(p)];
}

}  // namespace

// --- Who uses the CPU -------------------------------------------------------------------------------

void observer::remember_cpu(std::int64_t now) {
  cpu_meter::counts by_g;
  for (const sched::g_sight& g : sched::look_at_gs()) by_g.emplace(g.g, g.cpu_us);
  cpu_.mark(now, std::move(by_g));
}

// --- A view -----------------------------------------------------------------------------------------

void observer::add_processes(control::deployment_view& v, const std::vector<replica_row>& rows) {
  const sights gs;
  const waits_by_g at = waits_now();
  const std::int64_t now = now_ns();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const replica_row& r = rows[i];
    const config::process_plan& p = plan_.processes[process_of_[i]];
    control::process_view x;
    x.name = names_[i];
    x.process = plan_.full_name(p);
    if (p.replicas > 1)
      x.replica = static_cast<unsigned>(std::stoul(names_[i].substr(names_[i].rfind('/') + 1)));
    x.service = plan_.services[p.service].name;
    x.type = p.type->name;
    x.at = plan_.where(p.at);
    x.incarnation = r.number;
    x.restarts = r.restarts;
    x.failures = r.failures;
    x.overruns = r.overruns;
    x.quarantined = r.quarantined;
    x.redelivered = r.redelivered;
    x.dead_letters = r.dead_letters;
    if (r.failed_at != 0)
      x.last_failure = control::failure_view{std::string(r.failure.data()), seconds(now - r.failed_at)};
    x.critical = p.critical;
    for (const setting_schema& setting : p.type->settings)
      if (setting.live) x.live.push_back(setting.name);
    for (const config::port_plan& port : p.ports)
      for (const config::index c : port.channels)
        (port.schema->direction == port_direction::in ? x.in : x.out)
            .push_back(plan_.full_name(plan_.channels[c]));
    const sched::g_sight* const g = gs.find(r.g);
    switch (r.state) {
      case replica_state::waits_for_start: x.state = "ready"; break;
      case replica_state::restarts: x.state = "restarting"; break;
      case replica_state::ended: x.state = "ended"; break;
      case replica_state::failed: x.state = r.quarantined_now ? "quarantined" : "failed"; break;
      case replica_state::runs:
        if (!g) {
          x.state = "ready";
          break;
        }
        x.cpu = cpu_.share_of(r.g);
        switch (g->status) {
          case sched::g_status::running: x.state = "computing"; break;
          case sched::g_status::syscall:
            x.state = "blocking";
            x.waits = control::wait_view{"blocking call", "", "", seconds(now - g->since)};
            break;
          case sched::g_status::waiting: {
            x.state = "waiting";
            control::wait_view w;
            w.reason = sched::to_string(g->reason);
            w.since = seconds(now - g->since);
            if (const auto its = at.find(g->g); its != at.end()) {
              const auto& places = its->second.receives.empty() ? its->second.sends : its->second.receives;
              w.channel = plan_.full_name(plan_.channels[queues_[places.front()].channel]);
            }
            if (g->reason == sched::wait_reason::io) w.peer = peer_alone(sched::peer_of(*g));
            x.waits = std::move(w);
            break;
          }
          case sched::g_status::quarantined: x.state = "quarantined"; break;
          default: x.state = "ready"; break;
        }
        break;
    }
    v.processes.push_back(std::move(x));
  }
  add_channels(v, at, rows);
}

void observer::add_channels(control::deployment_view& v, const waits_by_g& at,
                            const std::vector<replica_row>& rows) {
  const std::vector<channel_account> now = wires_.accounts();
  const counters* const then = counted_.before();
  const double passed = then ? seconds(counted_.last().at - then->at) : 0;
  const auto names_at = [&](const std::vector<config::endpoint>& ends) {
    std::vector<std::string> all;
    for (const config::endpoint& e : ends) {
      std::string name = plan_.full_name(plan_.processes[e.process]);
      if (std::find(all.begin(), all.end(), name) == all.end()) all.push_back(std::move(name));
    }
    return all;
  };
  std::vector<std::vector<std::string>> blocked(queues_.size());
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (const auto w = at.find(rows[i].g); rows[i].g != 0 && w != at.end())
      for (const queue_index q : w->second.sends) blocked[q].push_back(names_[i]);
  for (queue_index q = 0; q < queues_.size(); ++q) {
    const config::channel_plan& c = plan_.channels[queues_[q].channel];
    const any_channel& end = end_of(queues_[q]);
    const channel_stats& s = now[q].stats;
    if (queues_[q].is_share && (q == 0 || queues_[q - 1].channel != queues_[q].channel)) {
      control::channel_view& whole = v.channels.emplace_back();
      whole.name = plan_.full_name(c);
      whole.at = c.at.known() ? plan_.where(c.at) : std::string();
      whole.message = c.message;
      whole.full = to_string(config::effective_policy(c));
      whole.kind = leat::to_string(wires_.whole(queues_[q].channel).flavour());
      whole.copy = true;
      whole.capacity = end.capacity();
      whole.injected = injected_[queues_[q].channel].load(std::memory_order_relaxed);
      whole.send_blocked = seconds(wires_.whole(queues_[q].channel).stats().send_blocked.count());
      whole.writers = names_at(c.writers);
    }
    control::channel_view x;
    x.name = plan_.full_name(c);
    x.at = c.at.known() ? plan_.where(c.at) : std::string();
    x.message = c.message;
    x.full = to_string(policy_of(queues_[q]));
    x.kind = leat::to_string(end.flavour());
    x.copy = c.copy;
    x.capacity = end.capacity();
    x.length = end.size();
    x.sent = s.sent;
    x.received = s.received;
    x.dropped = s.dropped;
    x.refused = s.refused;
    x.high_water = s.high_water;
    x.send_blocked = seconds(s.send_blocked.count());
    for (const channel_account::loss& l : now[q].losses) {
      x.lost += l.lost;
      x.rejected += l.rejected;
    }
    if (const std::optional<store_account>& kept = now[q].store) {
      x.kind = to_string(leat::flavour::stored);
      // Its bound is in bytes: as many as would fill it, if they are like those that are there.
      const std::uint64_t each = kept->kept > 0 ? kept->bytes / kept->kept : c.value_size;
      x.capacity = static_cast<std::size_t>(c.store->max / std::max<std::uint64_t>(each, 1));
      x.store = control::store_view{kept->kept,       kept->bytes,    kept->restored, kept->written,
                                    kept->unreadable, kept->failures, kept->failing};
    }
    x.injected = injected_[queues_[q].channel].load(std::memory_order_relaxed);
    if (passed > 0) {
      const channel_stats &a = then->accounts[q].stats, &b = counted_.last().accounts[q].stats;
      x.rate_in = growth(a.sent, b.sent) / passed;
      x.rate_out = growth(a.received, b.received) / passed;
      x.rate_dropped = growth(a.dropped, b.dropped) / passed;
    }
    if (full_since_[q] != 0 && end.capacity() > 0 && is_full(queues_[q]))
      x.full_for = seconds(now_ns() - full_since_[q]);
    x.senders_blocked = std::move(blocked[q]);
    x.writers = names_at(c.writers);
    x.readers = names_at(c.readers);
    if (queues_[q].is_share) {
      x.reader = plan_.full_name(plan_.processes[c.readers[queues_[q].share].process]);
      x.readers = {x.reader};
    }
    v.channels.push_back(std::move(x));
  }
  // A channel that copies, as a whole: what concerns all shares, and the worst of what each has of its own.
  for (std::size_t i = 0; i < v.channels.size(); ++i) {
    control::channel_view& whole = v.channels[i];
    if (!whole.copy || !whole.reader.empty()) continue;
    for (std::size_t k = i + 1; k < v.channels.size() && v.channels[k].name == whole.name; ++k) {
      const control::channel_view& share = v.channels[k];
      whole.length = std::max(whole.length, share.length);
      whole.received = k == i + 1 ? share.received : std::min(whole.received, share.received);
      whole.rate_out = k == i + 1 ? share.rate_out : std::min(whole.rate_out, share.rate_out);
      whole.rate_in = std::max(whole.rate_in, share.rate_in);
      whole.sent = std::max(whole.sent, share.sent);
      whole.dropped += share.dropped;
      whole.rate_dropped += share.rate_dropped;
      whole.refused += share.refused;
      whole.lost += share.lost;
      whole.rejected += share.rejected;
      whole.high_water = std::max(whole.high_water, share.high_water);
      whole.full_for = std::max(whole.full_for, share.full_for);
      whole.readers.push_back(share.reader);
      for (const std::string& s : share.senders_blocked)
        if (std::find(whole.senders_blocked.begin(), whole.senders_blocked.end(), s) ==
            whole.senders_blocked.end())
          whole.senders_blocked.push_back(s);
    }
  }
}

void observer::add_health(control::deployment_view& v, const std::vector<replica_row>& rows) const {
  deployment_phase furthest = deployment_phase::starting, least = deployment_phase::ended;
  const std::vector<board::service_row> services = board_.services();
  for (std::size_t i = 0; i < services.size(); ++i) {
    v.services.push_back({plan_.services[i].name, to_string(services[i].phase), services[i].alive});
    furthest = std::max(furthest, services[i].phase);
    least = std::min(least, services[i].phase);
  }
  v.phase = to_string(furthest == deployment_phase::ended ? least : furthest);
  std::string why;
  const auto add = [&](const std::string& text) { why += (why.empty() ? "" : "; ") + text; };
  const std::int64_t now = now_ns();
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const std::string wrong = rows[i].state == replica_state::failed ? "has failed and stays ended"
                                                                     : restarts_.why(i, rows[i], now);
    if (!wrong.empty()) add("process '" + names_[i] + "' " + wrong);
  }
  for (std::size_t i = 0; i < services.size(); ++i)
    if (services[i].phase > deployment_phase::running && services[i].phase != deployment_phase::ended)
      add("service '" + plan_.services[i].name + "' is " + to_string(services[i].phase));
  if (board_.host_late()) {
    add("the host makes no step: nothing is restarted, and no signal is answered");
  } else if (!board_.live()) {
    add("a process runs or waits for too long, or a critical one is not there");
  }
  v.live = board_.live();
  v.why = std::move(why);
  v.healthy = v.why.empty();
}

control::deployment::health_view observer::health() const {
  control::deployment_view v;
  const std::lock_guard held(lock_);
  add_health(v, board_.rows());
  return {v.live, v.healthy && v.phase == "running", v.why.empty() ? v.phase : v.why};
}

control::deployment_view observer::look() {
  control::deployment_view v;
  sched::watch_cpu(cpu_watch);
  const std::lock_guard held(lock_);
  const std::int64_t now = now_ns();
  if (now - looked_at_ >= cpu_watch.count()) remember_cpu(now);
  looked_at_ = now;
  v.version = LEAT_VERSION;
  v.name = program_.who.name;
  v.pid = static_cast<int>(::getpid());
  v.files = program_.who.files;
  v.since = program_.begun_utc;
  v.uptime = seconds(now - program_.begun);
  const runtime_stats s = stats();
  v.runtime = {s.procs,          s.threads, s.live,   cpu_.program_share(),
               resident_bytes(), delay_,    s.fenced, s.frozen};
  const std::vector<replica_row> rows = board_.rows();
  add_health(v, rows);
  add_processes(v, rows);
  v.blame = blame_;
  return v;
}

std::vector<std::string> observer::trace(std::size_t replica) const {
  std::array<void*, 32> frames{};
  const std::size_t n = sched::frames_of(board_.rows()[replica].g, frames);
  // Names are looked up in files.
  return leat::blocking([&] {
    std::vector<std::string> all;
    for (std::size_t i = 0; i < n; ++i) {
      fixed_text<1000> line;
      sched::append_frame(line, frames[i], sched::frame_names::demangled);
      all.emplace_back(line.view());
    }
    return all;
  });
}

}  // namespace leat::services
