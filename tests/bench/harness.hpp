// SPDX-License-Identifier: BSL-1.0
#pragma once

// The bench harness. It needs std alone, so that a figure never depends on the code it measures.
//
//   LEAT_BENCH(yield, "ns", "one switch between two Gs", at_most(25, "ns")) {
//     auto n = bench.scaled(5'000'000);
//     stopwatch watch;
//     ...
//     return watch.ns() / static_cast<double>(n);
//   }
//
// The body runs once per repetition and returns that repetition's figure. A workload with several figures
// calls bench.report("p99", value), which is listed as "name.p99", and returns only_named if none of them
// deserves the bare name. The words after the description are options, in any order:
//   at_procs{1, 2, 4}            the P counts to run with when --procs is not given (default 1 and 2)
//   at_most(25, "ns")            a bound on the median; at_least likewise
//   at_most_times(1.3, "raw")    a bound relative to name.raw, or to another workload of the same run
//     .on("p99") .with_procs(2)  which figure of the workload, at which P count (default: bare, every one)
//   fresh_process                every repetition in a process of its own: for memory figures, and for bodies
//                                that leave threads behind
//   no_warm_up                   the body warms up itself, or has nothing to warm
//   on_demand                    runs only when named

#include <chrono>
#include <cmath>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace leat::bench {

inline constexpr double only_named = std::numeric_limits<double>::quiet_NaN();

struct sample {
  std::string sub;   // empty: the bare name
  std::string unit;  // empty: the workload's
  double value;
};

// Thrown by context::skip.
struct skipped : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct manner {
  bool quick = false;
  bool alone = false;
};

// What a body sees of one repetition. Used by the thread that runs the body only.
class context {
 public:
  context(int procs, manner how) : procs_(procs), how_(how) {}

  int procs() const { return procs_; }
  bool quick() const { return how_.quick; }
  // With --alone: nothing is to be measured for comparison only.
  bool alone() const { return how_.alone; }

  // n, or a tenth of it with --quick.
  std::int64_t scaled(std::int64_t n) const { return how_.quick ? (n + 9) / 10 : n; }

  void report(std::string_view sub, double value, std::string_view unit = {}) {
    samples_.push_back({std::string(sub), std::string(unit), value});
  }

  // This machine cannot run the workload; the table says why, and nothing fails.
  [[noreturn]] void skip(const std::string& why) const { throw skipped(why); }

  std::vector<sample> take() { return std::move(samples_); }

 private:
  int procs_;
  manner how_;
  std::vector<sample> samples_;
};

struct bound {
  enum class side { most, least };
  side which;
  double value;
  std::string unit;   // of an absolute bound
  std::string other;  // of a relative bound: a figure of the same workload, or another workload's full name
  std::string sub;
  int procs = 0;  // 0: every P count

  bound on(std::string_view figure) && {
    sub = figure;
    return std::move(*this);
  }
  bound with_procs(int n) && {
    procs = n;
    return std::move(*this);
  }
};

inline bound at_most(double value, std::string_view unit) {
  return {bound::side::most, value, std::string(unit), {}, {}};
}
inline bound at_least(double value, std::string_view unit) {
  return {bound::side::least, value, std::string(unit), {}, {}};
}
inline bound at_most_times(double factor, std::string_view figure) {
  return {bound::side::most, factor, {}, std::string(figure), {}};
}
inline bound at_least_times(double factor, std::string_view figure) {
  return {bound::side::least, factor, {}, std::string(figure), {}};
}

struct at_procs {
  at_procs(std::initializer_list<int> counts) : list(counts) {}
  std::vector<int> list;
};
enum class flag { fresh_process, no_warm_up, on_demand };
inline constexpr flag fresh_process = flag::fresh_process;
inline constexpr flag no_warm_up = flag::no_warm_up;
inline constexpr flag on_demand = flag::on_demand;

using body = double (*)(context&);

struct workload {
  std::string name;
  std::string unit;
  std::string what;
  body run = nullptr;
  std::vector<int> procs{1, 2};
  std::vector<bound> bounds;
  bool fresh_process = false;
  bool warm_up = true;
  bool on_demand = false;

  void apply(at_procs counts) { procs = std::move(counts.list); }
  void apply(bound b) { bounds.push_back(std::move(b)); }
  void apply(flag f) {
    switch (f) {
      case flag::fresh_process: fresh_process = true; break;
      case flag::no_warm_up: warm_up = false; break;
      case flag::on_demand: on_demand = true; break;
    }
  }
};

// Every workload linked in, by name. A name that is registered twice ends the program.
std::span<const workload> all_workloads();
const workload* find_workload(std::string_view name);
void register_workload(workload w);

struct registration {
  template <class... Options>
  registration(std::string_view name, std::string_view unit, std::string_view what, body run,
               Options... options) {
    workload w{std::string(name), std::string(unit), std::string(what), run, {1, 2}, {}};
    (w.apply(std::move(options)), ...);
    register_workload(std::move(w));
  }
};

// Aids for bodies.

class stopwatch {
 public:
  using clock = std::chrono::steady_clock;
  double ns() const { return std::chrono::duration<double, std::nano>(clock::now() - start_).count(); }
  double us() const { return ns() / 1e3; }
  double ms() const { return ns() / 1e6; }
  void restart() { start_ = clock::now(); }

 private:
  clock::time_point start_ = clock::now();
};

// The compiler must produce the value, and may assume nothing about memory afterwards.
template <class T>
inline void keep(const T& value) {
  asm volatile("" : : "g"(&value) : "memory");
}

// The value below which the given share (0..1) of the values lies; sorts them. NaN of none.
double percentile(std::span<double> values, double share);
double resident_bytes();
double cpu_seconds();

}  // namespace leat::bench

#define LEAT_BENCH(name, unit, what, ...)                                                        \
  static double leat_bench_body_##name(::leat::bench::context& bench);                           \
  static const ::leat::bench::registration leat_bench_entry_##name = [] {                        \
    using namespace ::leat::bench; /* NOLINT(google-build-using-namespace): names the options */ \
    return ::leat::bench::registration(#name, unit, what,                                        \
                                       &leat_bench_body_##name __VA_OPT__(, ) __VA_ARGS__);      \
  }();                                                                                           \
  static double leat_bench_body_##name([[maybe_unused]] ::leat::bench::context& bench)
