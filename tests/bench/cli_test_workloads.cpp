// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>

#include <csignal>

#include "harness.hpp"

using namespace leat::bench;

LEAT_BENCH(t_met, "ns", "bounds that hold, in other units and relative", at_procs{3}, at_most(1, "us"),
           at_least(2, "ns"), at_most_times(0.5, "half_of"), at_most(4, "KiB").on("size"),
           at_most(1, "ns").with_procs(9)) {
  bench.report("half_of", 2000, "ns");
  bench.report("size", 4096, "B");
  return 1000;
}

LEAT_BENCH(t_missed, "ns", "a bound that does not hold", at_procs{1}, at_most(9, "ns").on("p99")) {
  bench.report("p99", 10);
  return only_named;
}

LEAT_BENCH(t_unjudged, "ns", "a bound relative to something never measured", at_procs{1},
           at_most_times(1, "nothing")) {
  return 1;
}

LEAT_BENCH(t_throws, "ns", "fails", at_procs{1}) { throw std::runtime_error("on purpose"); }
LEAT_BENCH(t_nan, "ns", "reports nothing", at_procs{1}) { return only_named; }
LEAT_BENCH(t_skips, "ns", "cannot run here", at_procs{1}) { bench.skip("no such \"thing\""); }

namespace {
int calls = 0;
}

LEAT_BENCH(t_counts, "calls", "how often it was called, warm-up included", at_procs{1, 2}) {
  return static_cast<double>(++calls);
}
LEAT_BENCH(t_fresh, "calls", "is called once in each process", at_procs{1}, fresh_process) {
  bench.report("procs", bench.procs());
  bench.report("work", static_cast<double>(bench.scaled(1000)));
  return static_cast<double>(++calls);
}
LEAT_BENCH(t_dies, "ns", "its process is killed", at_procs{1}, fresh_process) {
  std::raise(SIGKILL);
  return 1;
}
LEAT_BENCH(t_fresh_throws, "ns", "fails in its process", at_procs{1}, fresh_process) {
  throw std::runtime_error("far away");
}
