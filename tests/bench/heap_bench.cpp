// SPDX-License-Identifier: BSL-1.0
//
// What the marks of sched/heap_mark.hpp cost: the same pair of calls with them and past them, in turns of some tens
// of microseconds, so that both see the same machine.
#include <cstdlib>
#include <vector>

#include <leat/leat.hpp>

#include "harness.hpp"

using namespace leat;
using namespace leat::bench;

#if defined(__GLIBC__)
extern "C" {
void* __libc_malloc(std::size_t);
void __libc_free(void*);
}

namespace {

[[gnu::noinline]] double ns_per_pair(void* (*get)(std::size_t), void (*give)(void*)) {
  constexpr int n = 2000;
  stopwatch watch;
  for (int i = 0; i < n; ++i) {
    void* const p = get(64);
    asm volatile("" : : "r"(p) : "memory");
    give(p);
  }
  return watch.ns() / n;
}

}  // namespace

LEAT_BENCH(heap_marks, "ns", "what marks add to a malloc and a free of 64 bytes", at_procs{1}, on_demand,
           at_most(1.5, "ns")) {
  const auto turns = bench.scaled(5000);
  std::vector<double> with, without;
  run([&] {
    for (std::int64_t i = 0; i < turns; ++i) {
      without.push_back(ns_per_pair(__libc_malloc, __libc_free));
      with.push_back(ns_per_pair(std::malloc, std::free));
    }
  });
  const double marked = percentile(with, 0.5), plain = percentile(without, 0.5);
  bench.report("with", marked);
  bench.report("without", plain);
  return marked - plain;
}
#endif
