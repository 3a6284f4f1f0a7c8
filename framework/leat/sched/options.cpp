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

#include <leat/base/runtime_keys.hpp>
#include <leat/base/units.hpp>
#include <leat/fiber/stack.hpp>

namespace leat {
namespace {

std::string out_of_range(const char* key, const std::string& value, const std::string& allowed) {
  return std::string(key) + " = " + value + " is out of range: " + allowed;
}

std::string text_of(value_kind, nanoseconds d) { return format_duration(d); }
std::string text_of(value_kind kind, std::uint64_t n) {
  return kind == value_kind::size ? format_size(n) : std::to_string(n);
}

// "" if the key's value is right.
template <class T>
std::string out_of_limits(const runtime_key<T>& key, const runtime_options& o) {
  if constexpr (!std::is_same_v<T, bool>) {
    const T& value = o.*key.member;
    if (value == runtime_options{}.*key.member) return {};
    const typename runtime_key<T>::limit given(value);
    if ((!key.least || *given >= *key.least) && (!key.most || *given <= *key.most)) return {};
    std::string allowed = key.least ? text_of(key.kind, *key.least) : "";
    const std::string most = key.most ? text_of(key.kind, *key.most) : "";
    if (!key.least || !key.most)
      allowed = (key.least ? "at least " : "at most ") + allowed + most;
    else
      allowed += " to " + most;
    if (key.word) allowed += std::string(", or ") + key.word;
    return out_of_range(key.name, text_of(key.kind, *given), allowed);
  }
  return {};
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

static_assert(runtime_options::min_stack == fiber::min_stack_size);
static_assert(runtime_options::max_stack == fiber::max_stack_size);

std::string check_options(const runtime_options& o) {
  using std::to_string;
  std::string wrong;
  for_each_runtime_key([&](const auto& key) {
    if (wrong.empty()) wrong = out_of_limits(key, o);
  });
  if (!wrong.empty()) return wrong;
  if (o.procs && o.spinning && *o.spinning > *o.procs)
    return out_of_range("spinning", to_string(*o.spinning),
                        "at most procs (" + to_string(*o.procs) + "), or auto");
  if (o.procs && o.max_threads < *o.procs)
    return out_of_range("max_threads", to_string(o.max_threads),
                        "at least procs (" + to_string(*o.procs) + "), since each P needs a thread to run");
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
