// SPDX-License-Identifier: BSL-1.0
#include "harness.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>

namespace leat::bench {

namespace {
std::vector<workload>& registry() {
  static std::vector<workload> list;
  return list;
}
}  // namespace

void register_workload(workload w) {
  auto& list = registry();
  auto at = std::lower_bound(list.begin(), list.end(), w.name,
                             [](const workload& a, const std::string& name) { return a.name < name; });
  if (at != list.end() && at->name == w.name) {
    std::fprintf(stderr, "leat-bench: workload '%s' is registered twice\n", w.name.c_str());
    std::abort();
  }
  list.insert(at, std::move(w));
}

std::span<const workload> all_workloads() { return registry(); }

const workload* find_workload(std::string_view name) {
  for (const workload& w : registry()) {
    if (w.name == name) return &w;
  }
  return nullptr;
}

double percentile(std::span<double> values, double share) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  std::sort(values.begin(), values.end());
  const auto last = static_cast<double>(values.size() - 1);
  return values[static_cast<std::size_t>(std::clamp(share, 0.0, 1.0) * last + 0.5)];
}

double resident_bytes() {
  long pages = 0;
  if (std::FILE* f = std::fopen("/proc/self/statm", "r")) {
    if (std::fscanf(f, "%*d %ld", &pages) != 1) pages = 0;
    std::fclose(f);
  }
  return static_cast<double>(pages) * static_cast<double>(sysconf(_SC_PAGESIZE));
}

double cpu_seconds() {
  rusage use{};
  getrusage(RUSAGE_SELF, &use);
  auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + static_cast<double>(t.tv_usec) / 1e6;
  };
  return seconds(use.ru_utime) + seconds(use.ru_stime);
}

}  // namespace leat::bench
