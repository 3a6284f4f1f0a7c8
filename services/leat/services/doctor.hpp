// SPDX-License-Identifier: BSL-1.0
//
// What this machine lacks for what a deployment wants: limits, capabilities, features of the kernel, CPUs and
// files, each with the line that mends it. `leat doctor`. The facts of the machine are gathered apart, so that
// what follows from them can be tested.
#pragma once
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include <leat/config/plan.hpp>
#include <leat/sched/quarantine.hpp>

namespace leat::services {

struct machine_facts {
  static constexpr std::uint64_t no_limit = UINT64_MAX;

  std::uint64_t files = no_limit;          // RLIMIT_NOFILE
  std::uint64_t tasks = no_limit;          // the least of RLIMIT_NPROC and the cgroup's pids.max
  std::uint64_t address_space = no_limit;  // RLIMIT_AS
  std::uint64_t locked_memory = no_limit;  // RLIMIT_MEMLOCK
  std::uint64_t rt_priority = 0;           // RLIMIT_RTPRIO
  std::uint64_t memory = no_limit;         // the least of what the machine and the cgroup have
  bool may_set_priority = false;           // CAP_SYS_NICE
  bool may_lock = false;                   // CAP_IPC_LOCK
  bool may_bind_low_ports = false;         // CAP_NET_BIND_SERVICE
  unsigned first_free_port = 1024;         // net.ipv4.ip_unprivileged_port_start
  bool membarrier = true;
  int overcommit = 0;               // vm.overcommit_memory
  std::uint64_t maps = no_limit;    // vm.max_map_count
  std::vector<unsigned> cpus = {};  // those that this program may use
  // Of this program: why threads of processes that hang are never stopped.
  sched::unsettled unsettled = sched::unsettled::none;
};
machine_facts look_at_machine();

struct remedy {
  enum class grade : std::uint8_t { good, advice, lacking };
  grade how = grade::good;
  std::string what;     // "open files: 1024"
  std::string because;  // "the deployment may need 4200", and where that is written
  std::string mend;     // "LimitNOFILE=8192 in its unit, or ulimit -n 8192"
};

// `plan`: null: what every deployment needs.
std::vector<remedy> examine(const machine_facts& m, const config::plan* plan);
// Files that settings name; looked at here and now.
std::vector<remedy> examine_files(const config::plan& plan);

// Folders of states, stores and recorders: whether they can be written, or made.
std::vector<remedy> examine_folders(const config::plan& plan);
// Addresses at which it is to listen: whether they are this machine's, and nobody has them.
std::vector<remedy> examine_ports(const config::plan& plan);

std::string to_text(const std::vector<remedy>& all, bool colour);
std::string to_json(const std::vector<remedy>& all);
bool anything_lacking(const std::vector<remedy>& all) noexcept;

}  // namespace leat::services
