// SPDX-License-Identifier: BSL-1.0
#include <memory>
#include <vector>

#include <leat/fiber/fiber.hpp>
#include <leat/fiber/stack_pool.hpp>

#include "harness.hpp"
#include "peers/raw_fcontext.hpp"

using namespace leat;
using namespace leat::bench;

namespace {

void bounce_for_ever(fiber::thread& t, void* arg) {
  auto& self = *static_cast<fiber::context*>(arg);
  fiber::thread* on = &t;
  for (;;) on = &fiber::switch_to(*on, self, on->self);
}

void end_at_once(fiber::thread& t, void* arg) {
  fiber::finish(t, *static_cast<fiber::context*>(arg), t.self, nullptr, nullptr);
}

fiber::stack& acquire(fiber::stack_pool& pool, std::size_t size) {
  fiber::stack_error error;
  fiber::stack* s = pool.acquire(size, error);
  if (!s) throw fiber::out_of_stacks(error);
  return *s;
}

constexpr std::size_t stack_size = 64 * 1024;

}  // namespace

LEAT_BENCH(fiber_switch, "ns", "one switch between two fibers", at_procs{1}, at_most_times(1.3, "raw")) {
  const auto n = bench.scaled(20'000'000);
  fiber::stack_pool pool;
  fiber::stack& s = acquire(pool, stack_size);
  fiber::thread me;
  me.attach();
  // Both in slices, turn and turn about, so that a change of clock speed hits both.
  constexpr int slices = 20;
  double raw = 0, ours = 0;
  for (int k = 0; k < slices; ++k) {
    stopwatch watch;
    raw_switches(n / slices, s.low() + s.size(), s.size());
    raw += watch.ns();
    fiber::context c;
    fiber::prepare(c, s, bounce_for_ever, &c, fiber::fp_state::read());
    fiber::switch_to(me, me.self, c);
    watch.restart();
    for (std::int64_t i = 0; i < n / slices; i += 2) fiber::switch_to(me, me.self, c);
    ours += watch.ns();
  }
  pool.release(&s);
  bench.report("raw", raw / static_cast<double>(n));
  return ours / static_cast<double>(n);
}

LEAT_BENCH(fiber_create, "ns", "create, run and finish a fiber on a warm pooled stack", at_procs{1},
           at_most(60, "ns")) {
  const auto n = bench.scaled(5'000'000);
  fiber::stack_pool pool;
  fiber::stack_error error;
  fiber::stack_cache cache;
  cache.bind(*pool.region_for(stack_size, error));
  fiber::thread me;
  me.attach();
  const auto fp = fiber::fp_state::read();
  stopwatch watch;
  for (std::int64_t i = 0; i < n; ++i) {
    fiber::stack* s = cache.acquire(error);
    fiber::context c;
    fiber::prepare(c, *s, end_at_once, &c, fp);
    fiber::switch_to(me, me.self, c);
    cache.release(s);
  }
  const double ns = watch.ns() / static_cast<double>(n);
  cache.clear();
  return ns;
}

LEAT_BENCH(park_fibers, "bytes", "resident memory of a parked fiber, a million at once", at_procs{1},
           fresh_process, no_warm_up, at_most(4608, "bytes")) {
  const auto n = static_cast<std::size_t>(bench.scaled(1'000'000));
  fiber::stack_pool pool;
  fiber::thread me;
  me.attach();
  const double before = resident_bytes();
  const auto fibers = std::make_unique<fiber::context[]>(n);
  stopwatch watch;
  for (std::size_t i = 0; i < n; ++i) {
    fiber::context& c = fibers[i];
    fiber::prepare(c, acquire(pool, stack_size), bounce_for_ever, &c, fiber::fp_state::read());
    fiber::switch_to(me, me.self, c);
  }
  bench.report("park_one", watch.ns() / static_cast<double>(n), "ns");
  const double each = (resident_bytes() - before) / static_cast<double>(n);
  for (std::size_t i = 0; i < n; ++i) fiber::stack_pool::release(fibers[i].stack);
  return each;
}
