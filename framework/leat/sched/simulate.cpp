// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/simulate.hpp>

#include <cstdio>
#include <cstdlib>
#include <optional>
#include <stdexcept>
#include <string>

#include <leat/base/units.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/world.hpp>

namespace leat::testing {
namespace {

sched::order_options order_of(const world_options& o) {
  return {
      .seed = o.seed,
      .strategy = o.order == strategy::pct ? sched::order_strategy::pct : sched::order_strategy::random_walk,
      .depth = o.depth,
      .steps = o.steps,
      .gives_way_one_in = o.gives_way_one_in,
      .keeps_decisions = o.keeps_decisions};
}

nanoseconds begins_of(const world_options& o) { return saturate_ns(o.begins.time_since_epoch()); }

struct main_call {
  detail::main_fn fn;
  void* arg;
};

// What came out of it, if anything did.
std::exception_ptr run_in(sched::world& w, const world_options& o, main_call c) {
  runtime_options runtime = o.runtime;
  runtime.procs = 1;
  w.let_real_io(o.real_io);
  sched::world::set_next(&w);
  try {
    (void)leat::run(runtime, [c] { c.fn(c.arg); });
    return nullptr;
  } catch (...) {
    (void)sched::world::take_next();  // if it did not even begin
    return std::current_exception();
  }
}

std::string text_of(const std::exception_ptr& e) {
  try {
    std::rethrow_exception(e);
  } catch (const std::exception& x) {
    return x.what();
  } catch (...) {
    return "an exception that is not a std::exception";
  }
}

std::optional<std::uint64_t> number_in(const char* variable) {
  const char* const text = std::getenv(variable);
  if (!text || !*text) return std::nullopt;
  char* end = nullptr;
  const unsigned long long n = std::strtoull(text, &end, 0);
  if (*end != 0)
    throw std::invalid_argument(std::string(variable) + "=" + text + ": expected a whole number");
  return n;
}

// The least list of decisions that fails with the same text, and who ran then.
void tell_shortest(const world_options& o, main_call c, std::vector<sched::decision> made,
                   const std::string& text) {
  const std::size_t before = made.size();
  const auto fails = [&](const std::vector<sched::decision>& script) {
    sched::world w(sched::world_order(order_of(o), script), begins_of(o));
    const std::exception_ptr e = run_in(w, o, c);
    return e && text_of(e) == text;
  };
  if (!fails(made)) {
    std::fprintf(stderr,
                 "simulate: the same decisions do not fail again: something in it is not the world's\n");
    return;
  }
  const std::vector<sched::decision> least = sched::shrink(std::move(made), fails);
  sched::world w(sched::world_order(order_of(o), least), begins_of(o));
  w.tell_story();
  (void)run_in(w, o, c);
  std::fprintf(stderr, "simulate: %zu of %zu decisions are enough; who ran:\n", least.size(), before);
  if (w.before_story() > 0)
    std::fprintf(stderr, "  (%llu switches before these)\n",
                 static_cast<unsigned long long>(w.before_story()));
  for (const sched::world::turns& t : w.story()) {
    if (t.times > 1)
      std::fprintf(stderr, "  %s (%llu times)\n", t.who.c_str(), static_cast<unsigned long long>(t.times));
    else
      std::fprintf(stderr, "  %s\n", t.who.c_str());
  }
}

}  // namespace

world_report detail::simulate(const world_options& o, main_fn fn, void* arg) {
  sched::world w(sched::world_order(order_of(o)), begins_of(o));
  const std::exception_ptr failure = run_in(w, o, {fn, arg});
  if (failure) std::rethrow_exception(failure);
  return {o.seed, w.elapsed(), w.switches(), w.order().made().size()};
}

void detail::for_each_seed(unsigned seeds, const world_options& options, main_fn fn, void* arg) {
  world_options o = options;
  const std::optional<std::uint64_t> only = number_in("LEAT_SEED");
  const std::uint64_t first = only.value_or(options.seed);
  for (std::uint64_t i = 0; i < (only ? 1 : seeds); ++i) {
    o.seed = first + i;
    sched::world w(sched::world_order(order_of(o)), begins_of(o));
    const std::exception_ptr failure = run_in(w, o, {fn, arg});
    if (!failure) continue;
    const std::string text = text_of(failure);
    std::fprintf(
        stderr,
        "simulate: seed %llu (%s) fails after %s of its time and %llu switches: %s\n"
        "simulate: LEAT_SEED=%llu runs it again; with LEAT_SHRINK=1 it looks for the fewest decisions\n",
        static_cast<unsigned long long>(o.seed), o.order == strategy::pct ? "PCT" : "random walk",
        format_duration(w.elapsed()).c_str(), static_cast<unsigned long long>(w.switches()), text.c_str(),
        static_cast<unsigned long long>(o.seed));
    if (number_in("LEAT_SHRINK").value_or(0) != 0) tell_shortest(o, {fn, arg}, w.order().made(), text);
    std::rethrow_exception(failure);
  }
}

void settle() {
  sched::world* const w = sched::world::here();
  if (!w) throw std::logic_error("leat::testing::settle is for Gs inside leat::testing::simulate");
  w->settle();
}

}  // namespace leat::testing
