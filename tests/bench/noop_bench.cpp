// SPDX-License-Identifier: BSL-1.0
#include "harness.hpp"

using namespace leat::bench;

LEAT_BENCH(noop, "ns", "one reading of the clock: what a figure cannot be finer than", on_demand,
           at_procs{1}) {
  const auto n = bench.scaled(100'000);
  stopwatch watch;
  for (std::int64_t i = 0; i < n; ++i) keep(stopwatch::clock::now());
  return watch.ns() / static_cast<double>(n);
}
