// SPDX-License-Identifier: BSL-1.0
#include <leat/services/simulation.hpp>

#include <algorithm>
#include <chrono>
#include <exception>
#include <string_view>
#include <utility>

#include <leat/base/units.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/sched/random.hpp>
#include <leat/sched/simulate.hpp>
#include <leat/sched/time.hpp>

namespace leat::services {
namespace {

using namespace std::chrono_literals;

// The Gs beside the host.
class simulation_driver {
 public:
  simulation_driver(host& h, const simulation_options& o, simulation_outcome& out)
      : host_(h), options_(o), out_(out), replicas_(h.processes_of_replicas()) {}

  ledger run() {
    const channel<int> stop(1);
    task_group beside;
    beside.go("simulation", [this, stop] { watch(stop); });
    if (options_.faults) {
      out_.faults.resize(options_.faults->faults.size());
      for (std::size_t i = 0; i < out_.faults.size(); ++i)
        beside.go("fault", [this, i] { make_faults(options_.faults->faults[i], out_.faults[i]); });
    }
    ledger l = host_.run(stop);
    beside.stop();
    (void)beside.wait();
    if (failure_) std::rethrow_exception(failure_);
    return l;
  }

 private:
  // Whatever ends it, the host is asked to stop: it would go on for ever. It may have ended; nobody takes it then.
  void watch(const channel<int>& stop) {
    try {
      wait_for_end();
    } catch (...) {
      failure_ = std::current_exception();
    }
    (void)stop.try_send(1);
  }

  void wait_for_end() {
    const time_point end = saturating_add(start_, options_.time);
    while (leat::now() < end) {
      if (sleep_until(std::min(saturating_add(leat::now(), 1s), end)) == sleep_result::stopped) return;
      if (options_.interrupted && options_.interrupted->load(std::memory_order_relaxed)) {
        out_.interrupted = true;
        return;
      }
      const nanoseconds elapsed = leat::now() - start_;
      if (!options_.until || !options_.until(state_of(host_, elapsed))) continue;
      out_.true_at = elapsed;
      return;
    }
  }

  void make_faults(const scripted_fault& f, fault_count& count) {
    const time_point end = saturating_add(start_, options_.time);
    std::vector<std::size_t> among;
    for (std::size_t i = 0; i < replicas_.size(); ++i)
      if (std::find(f.processes.begin(), f.processes.end(), replicas_[i]) != f.processes.end())
        among.push_back(i);
    for (std::size_t n = 0; f.every > 0ns || n < f.at.size(); ++n) {
      const time_point due = f.every > 0ns ? saturating_add(leat::now(), pause(f.every)) : start_ + f.at[n];
      if (due >= end || sleep_until(due) == sleep_result::stopped) return;
      ++count.due;
      const std::size_t who = among[random() % among.size()];
      const std::uint64_t g = host_.seen().g_of(who);
      if (!ask(f.what == fault_kind::hangs ? wish::kind::hang : wish::kind::fail, who)) continue;
      ++count.made;
      if (f.what != fault_kind::hangs) continue;
      if (sleep_for(host_.plan().processes[replicas_[who]].hang) == sleep_result::stopped) return;
      if (host_.seen().g_of(who) == g) (void)ask(wish::kind::overran, who);
    }
  }

  // From half of it to one and a half, in steps of a millionth.
  static nanoseconds pause(nanoseconds every) {
    const auto share = static_cast<std::int64_t>(random() % 1'000'000);
    return std::max<nanoseconds>(every / 2 + every / 1'000'000 * share, 1ns);
  }

  bool ask(wish::kind what, std::size_t replica) const {
    const channel<bool> granted(1);
    if (host_.wishes().send({what, replica, granted}) != send_status::sent) return false;
    return granted.recv().value_or(false);
  }

  host& host_;
  const simulation_options& options_;
  simulation_outcome& out_;
  const std::vector<config::index> replicas_;
  const time_point start_ = leat::now();
  std::exception_ptr failure_;  // what `until` threw
};

std::string padded_to(std::string text, std::size_t width) {
  text.resize(std::max(text.size(), width), ' ');
  return text;
}

std::string rounded(nanoseconds d) {
  return format_duration(d >= 1s ? std::chrono::floor<std::chrono::seconds>(d)
                                 : nanoseconds(std::chrono::floor<std::chrono::milliseconds>(d)));
}

}  // namespace

config::plan simulated_plan(const config::plan& plan) {
  config::plan out = plan;
  out.runtime.procs = 1;
  out.runtime.cpus.clear();
  out.runtime.cpus_at.clear();
  out.runtime.lock_memory = false;
  out.runtime.trace = 0ns;
  out.runtime.stack_census = false;
  for (config::process_plan& p : out.processes) {
    p.state.reset();
    p.thread = {};
  }
  for (config::channel_plan& c : out.channels) c.store.reset();
  return out;
}

record state_of(const host& h, nanoseconds elapsed) {
  const config::plan& plan = h.plan();
  struct counts {
    std::uint64_t failures = 0, restarts = 0, overruns = 0;
    void put_into(record& r) const {
      r.append("failures", failures);
      r.append("restarts", restarts);
      r.append("overruns", overruns);
    }
  };
  counts all;
  std::vector<counts> by_process(plan.processes.size());
  const std::vector<config::index> of = h.processes_of_replicas();
  const std::vector<replica_row> rows = h.seen().rows();
  for (std::size_t i = 0; i < rows.size(); ++i)
    for (counts* const c : {&all, &by_process[of[i]]}) {
      c->failures += rows[i].failures;
      c->restarts += rows[i].restarts;
      c->overruns += rows[i].overruns;
    }
  record processes, channels, out;
  for (std::size_t i = 0; i < by_process.size(); ++i) {
    record one;
    by_process[i].put_into(one);
    processes.append(plan.full_name(plan.processes[i]), std::move(one));
  }
  // A channel with several readers that each get all has an account for each.
  for (const channel_account& a : h.wires().accounts()) {
    std::string name = plan.full_name(plan.channels[a.channel]);
    if (channels.find(name)) continue;
    channels.append(std::move(name), record{{"sent", a.stats.sent},
                                            {"received", a.stats.received},
                                            {"dropped", a.stats.dropped},
                                            {"left", a.stats.left}});
  }
  out.append("elapsed", elapsed);
  all.put_into(out);
  out.append("process", std::move(processes));
  out.append("channel", std::move(channels));
  return out;
}

simulation_outcome simulate(const config::plan& plan, const simulation_options& o) {
  simulation_outcome out;
  testing::world_options w;
  w.seed = o.seed;
  w.keeps_decisions = false;
  w.gives_way_one_in = 64;  // hours of it, not each step of a microsecond
  w.runtime = runtime_options_of(plan);
  const testing::world_report r = testing::simulate(w, [&] {
    host h(plan);
    out.ledger = simulation_driver(h, o, out).run();
  });
  out.elapsed = r.elapsed;
  out.switches = r.switches;
  return out;
}

std::string to_text(const simulation_outcome& o, const config::plan& plan) {
  std::string text;
  std::vector<std::string> names;
  std::size_t width = 0;
  for (const channel_account& c : o.ledger.channels) {
    names.push_back(plan.full_name(plan.channels[c.channel]) + (c.reader.empty() ? "" : " -> " + c.reader));
    width = std::max(width, names.back().size());
  }
  for (std::size_t i = 0; i < names.size(); ++i) {
    const channel_account& c = o.ledger.channels[i];
    text.append("queue   ").append(padded_to(names[i], width));
    text.append("  most ").append(std::to_string(c.stats.high_water));
    text.append(" of ").append(std::to_string(plan.channels[c.channel].capacity));
    text.append(", senders waited ").append(rounded(c.stats.send_blocked));
    text.append(", readers ").append(rounded(c.stats.recv_blocked)).append("\n");
  }
  for (std::size_t i = 0; i < o.faults.size(); ++i) {
    const fault_count& c = o.faults[i];
    text.append("fault   ").append(std::to_string(i + 1)).append(": made ").append(std::to_string(c.made));
    text.append(" of ").append(std::to_string(c.due)).append(" that were due\n");
  }
  return text;
}

}  // namespace leat::services
