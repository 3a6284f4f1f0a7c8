// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include <leat/base/clock.hpp>

namespace leat {

// The keys of [runtime]. Empty optionals mean "auto". check_options says what is wrong with them;
// leat::run throws std::invalid_argument with that text.
struct runtime_options {
  std::optional<unsigned> procs = {};     // P count; auto: the CPUs we may use, capped by the cgroup's quota
  unsigned run_queue = 256;               // local queue capacity of a P
  std::optional<unsigned> spinning = {};  // most spinning Ms; auto: half of the busy Ps, 0: never
  unsigned max_threads = 10000;           // most Ms
  nanoseconds slice = std::chrono::milliseconds(10);   // then the P is retaken
  std::size_t stack = 64 * 1024;                       // default stack of a G
  std::vector<unsigned> cpus = {};                     // affinity of the Ms; empty: as the process
  nanoseconds trace = nanoseconds::zero();             // a line each interval; zero: off
  nanoseconds grace = std::chrono::milliseconds(200);  // for Gs that are left when main returns
  unsigned max_quarantined = 64;  // most Gs in quarantine: kept stacks and frozen threads
  bool stack_census = false;      // measure stack use per name; costs a page fault per G

  static constexpr unsigned max_procs = 1024;
  static constexpr unsigned max_run_queue = 1u << 20;
};

// Empty when all is well, else one sentence that names the key, the value and what is allowed.
std::string check_options(const runtime_options& o);

// What procs = auto means here, and why: "2 (affinity 4, cgroup quota 2.0)".
struct auto_procs_result {
  unsigned procs;
  std::string why;
};
auto_procs_result auto_procs();

namespace detail {
// The quota of a cgroup v2 `cpu.max` text in whole CPUs, rounded up; 0 for none.
unsigned quota_of_cpu_max(const std::string& text);
}  // namespace detail

}  // namespace leat
