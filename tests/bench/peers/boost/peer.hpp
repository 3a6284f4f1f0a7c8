// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <chrono>
#include <cstdint>
#include <limits>
#include <string>
#include <vector>

namespace peer {

struct sample {
  std::string sub;
  std::string unit;
  double value;
};

struct run {
  int procs;
  bool quick;
  std::vector<sample> samples;

  std::int64_t scaled(std::int64_t n) const { return quick ? (n + 9) / 10 : n; }
  void report(const char* sub, const char* unit, double value) { samples.push_back({sub, unit, value}); }
};

inline constexpr double only_named = std::numeric_limits<double>::quiet_NaN();

struct workload {
  const char* name;
  const char* unit;
  std::vector<int> procs;
  bool fresh;  // each repetition in a process of its own
  bool warm_up;
  bool shared;  // the threads serve the same fibers; else the body makes its own threads
  double (*body)(run&);
};

extern const std::vector<workload> workloads;

// A wrong result ends the program.
void check(bool ok, const char* what);

class stopwatch {
 public:
  double ns() const {
    return std::chrono::duration<double, std::nano>(std::chrono::steady_clock::now() - start_).count();
  }
  double per(std::int64_t n) const { return ns() / static_cast<double>(n); }
  double ms() const { return ns() / 1e6; }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace peer
