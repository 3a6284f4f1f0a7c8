// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstddef>
#include <optional>
#include <vector>

#include <leat/base/chrono.hpp>
#include <leat/base/clock.hpp>

namespace leat {

// The keys of [runtime]; their limits are in runtime_keys.hpp. Empty optionals mean "auto". check_options
// (sched/options.hpp) says what is wrong with them; leat::run throws std::invalid_argument with that text.
struct runtime_options {
  std::optional<unsigned> procs = {};     // P count; auto: the CPUs we may use, capped by the cgroup's quota
  unsigned run_queue = 256;               // local queue capacity of a P
  std::optional<unsigned> spinning = {};  // most spinning Ms; auto: half of the busy Ps, 0: never
  unsigned max_threads = 10000;           // most Ms
  timespan slice = std::chrono::milliseconds(10);   // then the P is retaken
  std::size_t stack = 64 * 1024;                    // default stack of a G
  std::vector<unsigned> cpus = {};                  // affinity of the Ms; empty: as the process
  timespan trace = nanoseconds::zero();             // a line each interval; zero: off
  timespan grace = std::chrono::milliseconds(200);  // for Gs that are left when main returns
  unsigned max_quarantined = 64;                    // most Gs in quarantine: kept stacks and frozen threads
  bool stack_census = false;                        // measure stack use per name; costs a page fault per G

  static constexpr unsigned max_procs = 1024;
  static constexpr unsigned max_run_queue = 1u << 20;
  static constexpr std::size_t min_stack = 16 * 1024, max_stack = 8 * 1024 * 1024;
};

}  // namespace leat
