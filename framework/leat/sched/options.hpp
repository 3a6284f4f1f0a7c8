// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <string>

#include <leat/base/runtime_options.hpp>

namespace leat {

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
