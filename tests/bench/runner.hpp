// SPDX-License-Identifier: BSL-1.0
#pragma once

// Runs workloads and gathers their figures. One thread.

#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "harness.hpp"

namespace leat::bench {

struct run_options {
  int reps = 5;
  int warm_ups = 1;
  manner how;
};

// One figure over all repetitions of a workload at one P count.
struct figure {
  std::string workload;
  std::string sub;
  std::string unit;
  int procs = 0;
  std::vector<double> values;  // by repetition
  std::string failure;         // why there are none
  enum class outcome { measured, skipped, failed } result = outcome::measured;

  std::string name() const { return sub.empty() ? workload : workload + "." + sub; }
  double median() const;
  double min() const;
  double max() const;
};

// Told before each repetition; 0 is the warm-up.
using progress = std::function<void(const workload&, int procs, int rep, int reps)>;

std::vector<figure> run(const workload& w, int procs, const run_options& options, const progress& tell);

// The child's side of fresh_process: one repetition, whose figures go to the descriptor. Returns the exit
// code.
int run_as_child(const workload& w, int procs, manner how, int fd);

struct verdict {
  std::string bound;  // "<= 25 ns", "<= 1.3 x raw"
  double value;       // what is compared with it: the median, or the ratio
  bool relative;      // value is a ratio
  bool met;
  std::string problem;  // why it could not be judged; then met is false
};

// Judges a figure by its workload's bounds; other workloads are looked up among all figures. Units convert.
std::vector<verdict> judge(const figure& f, const std::vector<figure>& all);

}  // namespace leat::bench
