// SPDX-License-Identifier: BSL-1.0
//
// A checked deployment in a simulated world (sched/world.hpp): the same host as that of `leat run`, with time and order
// from a seed.
//
// Three kinds of Gs beside the host's are part of the world, and so of what is repeated:
//
//   the clock    wakes each second of the world's time; asks the host to stop when the time is over, when the
//                condition is true, or when somebody outside has set `interrupted`
//   faults       one for each table of the script (fault_script.hpp): sleeps, and tells the host what to do to whom
//
// What is not of the world is left out (simulated_plan): states and stores are not kept in files, memory is not
// locked, threads and CPUs are not chosen, nobody is told by a control door or by systemd.
#pragma once
#include <atomic>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/config/plan.hpp>
#include <leat/process/record.hpp>
#include <leat/services/fault_script.hpp>
#include <leat/services/host.hpp>

namespace leat::services {

struct simulation_options {
  std::uint64_t seed = 1;
  nanoseconds time = std::chrono::hours(1);  // then it is asked to stop
  const fault_script* faults = nullptr;
  // Asked each second of the world's time with what state_of says; true: it is asked to stop. What it throws comes out
  // of simulate.
  std::function<bool(const record& state)> until = {};
  const std::atomic<bool>* interrupted = nullptr;
};

struct simulation_outcome {
  services::ledger ledger = {};
  nanoseconds elapsed{0};                   // of the world's time, with the end
  std::uint64_t switches = 0;               // of Gs
  std::optional<nanoseconds> true_at = {};  // when `until` was
  bool interrupted = false;
  std::vector<fault_count> faults = {};  // as in the script
};

config::plan simulated_plan(const config::plan& plan);

// What a condition may ask for:
//
//   elapsed                                  duration
//   failures, restarts, overruns             of all processes, so far
//   process["plant/bus"].failures            and so on, of one
//   channel["plant/readings"].sent           received, dropped, left
record state_of(const host& h, nanoseconds elapsed);

// `plan`: a simulated_plan. Not from inside a runtime. Throws what the host throws when it cannot be made.
simulation_outcome simulate(const config::plan& plan, const simulation_options& o);

// Behind the ledger: how full channels were, how long their ends waited, how often each fault was made.
std::string to_text(const simulation_outcome& o, const config::plan& plan);

}  // namespace leat::services
