// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/options.hpp>

#include <sched.h>
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <sstream>
#include <thread>

#include <leat/base/units.hpp>
#include <leat/fiber/stack.hpp>

namespace leat {
namespace {

std::string out_of_range(const char* key, const std::string& value, const std::string& allowed) {
  return std::string(key) + " = " + value + " is out of range: " + allowed;
}

unsigned affinity_count() {
  cpu_set_t set;
  CPU_ZERO(&set);
  if (::sched_getaffinity(0, sizeof set, &set) == 0) return static_cast<unsigned>(CPU_COUNT(&set));
  return std::max(1u, std::thread::hardware_concurrency());
}

std::string read_line(const std::string& path) {
  std::ifstream in(path);
  std::string line;
  std::getline(in, line);
  return line;
}

// The smallest quota on the way from this process's cgroup to the root; 0 for none.
unsigned cgroup_quota() {
  std::ifstream in("/proc/self/cgroup");
  unsigned least = 0;
  const auto take = [&](unsigned q) {
    if (q > 0) least = least == 0 ? q : std::min(least, q);
  };
  for (std::string line; std::getline(in, line);) {
    const bool v2 = line.rfind("0::", 0) == 0;
    const bool v1 = line.find(":cpu,") != std::string::npos || line.find(",cpu:") != std::string::npos ||
                    line.find(":cpu:") != std::string::npos;
    const auto colon = line.rfind(':');
    if ((!v2 && !v1) || colon == std::string::npos) continue;
    for (std::string path = line.substr(colon + 1);;) {
      if (v2) {
        take(detail::quota_of_cpu_max(read_line("/sys/fs/cgroup" + path + "/cpu.max")));
      } else {
        const std::string dir = "/sys/fs/cgroup/cpu" + path;
        const std::string quota = read_line(dir + "/cpu.cfs_quota_us");
        if (!quota.empty() && quota[0] != '-')
          take(detail::quota_of_cpu_max(quota + " " + read_line(dir + "/cpu.cfs_period_us")));
      }
      if (path.size() <= 1) break;
      path.resize(path.rfind('/'));
      if (path.empty()) path.assign(1, '/');
    }
  }
  return least;
}

}  // namespace

unsigned detail::quota_of_cpu_max(const std::string& text) {
  std::istringstream in(text);
  long long quota = 0, period = 0;
  if (!(in >> quota >> period) || quota <= 0 || period <= 0) return 0;  // "max 100000" stops at max
  const long long cpus = quota / period + (quota % period != 0 ? 1 : 0);
  return static_cast<unsigned>(std::clamp<long long>(cpus, 1, runtime_options::max_procs));
}

auto_procs_result auto_procs() {
  const unsigned affinity = affinity_count();
  const unsigned quota = cgroup_quota();
  const unsigned n = std::min(quota > 0 ? std::min(affinity, quota) : affinity, runtime_options::max_procs);
  std::string why = "affinity " + std::to_string(affinity);
  if (quota > 0) why += ", cgroup quota " + std::to_string(quota);
  return {std::max(1u, n), why};
}

std::string check_options(const runtime_options& o) {
  using std::to_string;
  if (o.procs && (*o.procs < 1 || *o.procs > runtime_options::max_procs))
    return out_of_range("procs", to_string(*o.procs),
                        "1 to " + to_string(runtime_options::max_procs) + ", or auto");
  if (o.run_queue < 1 || o.run_queue > runtime_options::max_run_queue)
    return out_of_range("run_queue", to_string(o.run_queue),
                        "1 to " + to_string(runtime_options::max_run_queue));
  if (o.spinning && o.procs && *o.spinning > *o.procs)
    return out_of_range("spinning", to_string(*o.spinning),
                        "at most procs (" + to_string(*o.procs) + "), or auto");
  if (o.spinning && *o.spinning > runtime_options::max_procs)
    return out_of_range("spinning", to_string(*o.spinning),
                        "at most " + to_string(runtime_options::max_procs));
  if (o.max_threads < 1 || o.max_threads > 1'000'000)
    return out_of_range("max_threads", to_string(o.max_threads), "1 to 1000000");
  if (o.procs && o.max_threads < *o.procs)
    return out_of_range("max_threads", to_string(o.max_threads),
                        "at least procs (" + to_string(*o.procs) + "), since each P needs a thread to run");
  if (o.slice < std::chrono::microseconds(100) || o.slice > std::chrono::hours(1))
    return out_of_range("slice", format_duration(o.slice), "100us to 1h");
  if (o.stack < fiber::min_stack_size || o.stack > fiber::max_stack_size)
    return out_of_range("stack", format_size(o.stack), "16K to 8M");
  if (o.trace < nanoseconds::zero() ||
      (o.trace > nanoseconds::zero() && o.trace < std::chrono::milliseconds(1)))
    return out_of_range("trace", format_duration(o.trace), "at least 1ms, or off");
  if (o.grace < nanoseconds::zero()) return out_of_range("grace", "a negative time", "0 or more");
  if (o.max_quarantined > 1'000'000)
    return out_of_range("max_quarantined", to_string(o.max_quarantined), "0 to 1000000");
  if (!o.cpus.empty()) {
    cpu_set_t set;
    CPU_ZERO(&set);
    const bool known = ::sched_getaffinity(0, sizeof set, &set) == 0;
    for (const unsigned cpu : o.cpus) {
      if (cpu >= CPU_SETSIZE || (known && !CPU_ISSET(cpu, &set)))
        return out_of_range("cpus", to_string(cpu), "this process may not run on that CPU");
    }
  }
  return {};
}

}  // namespace leat
