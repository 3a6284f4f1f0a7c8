// SPDX-License-Identifier: BSL-1.0
#include <cstdint>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/leat.hpp>
#include <leat/process/registry.hpp>
#include <leat/services/host.hpp>

#include "harness.hpp"

namespace leat::bench {
namespace {

struct reading {
  double celsius = 0;
  std::int64_t at = 0;
};
LEAT_MESSAGE(reading, celsius, at);

std::int64_t values_to_send = 0;
stopwatch since_first;
double whole_ns = 0;

// The work of the three, the same for both ways of wiring.
void produce(const out<reading>& to) {
  since_first.restart();
  for (std::int64_t i = 0; i < values_to_send; ++i) to.send({20.0, i});
}
void hand_on(const in<reading>& from, const out<reading>& to) {
  for (reading r : from) {
    r.celsius += 0.5;
    to.send(r);
  }
}
void consume(const in<reading>& from) {
  std::int64_t n = 0;
  for (const reading& r : from) n += r.at >= 0 ? 1 : 0;
  whole_ns = since_first.ns();
  if (n != values_to_send) throw std::logic_error("values are missing");
}

class bench_source : public process {
  out<reading> values{this, "values"};
  void run() override { produce(values); }
};
class bench_middle : public process {
  in<reading> raw{this, "raw"};
  out<reading> clean{this, "clean"};
  void run() override { hand_on(raw, clean); }
};
class bench_sink : public process {
  in<reading> values{this, "values"};
  void run() override { consume(values); }
};

// `more` is about the middle.
config::plan pipeline(const std::string& more = {}) {
  const std::string text = R"(leat = 1
[process.source]
use = "bench_source"
out = { values = "raw" }
[process.sink]
use = "bench_sink"
in  = { values = "clean" }
[channel.raw]
[channel.clean]
[process.middle]
use = "bench_middle"
in  = { raw = "raw" }
out = { clean = "clean" }
)";
  config::checked checked = config::check_text("bench.toml", text + more, program_catalog());
  if (!checked.plan) throw std::logic_error(render(checked.found, checked.sources));
  return std::move(*checked.plan);
}

void run_by_hand() {
  const channel_options one{.writers = 1, .readers = 1};
  channel<reading> raw(64, one);
  channel<reading> clean(64, one);
  task_group group;
  group.go("sink", [=] { consume(clean); });
  group.go("middle", [=] {
    hand_on(raw, clean);
    clean.close();
  });
  group.go("source", [=] {
    produce(raw);
    raw.close();
  });
  group.wait();
}

void run_toml(const config::plan& plan) {
  services::host h(plan);
  const services::ledger l = h.run(channel<int>(1));
  if (services::exit_code(l) != 0) throw std::runtime_error(services::to_text(l, plan));
}

}  // namespace
}  // namespace leat::bench

LEAT_PROCESS_AS("bench_source", leat::bench::bench_source, "sends");
LEAT_PROCESS_AS("bench_middle", leat::bench::bench_middle, "hands on");
LEAT_PROCESS_AS("bench_sink", leat::bench::bench_sink, "counts");

using namespace leat;
using namespace leat::bench;

LEAT_BENCH(toml_pipeline, "ns", "a message through three processes of a service, and the same wired by hand",
           at_most_times(1.05, "by_hand"), at_most_times(1.05, "by_hand").on("watchdog")) {
  const config::plan plain = pipeline();
  const config::plan watched = pipeline("watchdog = \"5s\"\n");
  const config::plan kept = pipeline("delivery = \"at-least-once\"\n");
  values_to_send = 100'000;
  runtime_options o;
  o.procs = static_cast<unsigned>(bench.procs());
  // In turns, many times: with two Ps a round depends on who comes to share a core with whom.
  std::vector<double> by_hand;
  std::vector<double> toml;
  std::vector<double> with_watchdog;
  std::vector<double> at_least_once;
  for (std::int64_t i = 0; i < bench.scaled(150); ++i) {
    run(o, run_by_hand);
    by_hand.push_back(whole_ns);
    run(o, [&] { run_toml(plain); });
    toml.push_back(whole_ns);
    run(o, [&] { run_toml(watched); });
    with_watchdog.push_back(whole_ns);
    run(o, [&] { run_toml(kept); });
    at_least_once.push_back(whole_ns);
  }
  const auto n = static_cast<double>(values_to_send);
  bench.report("by_hand", percentile(by_hand, 0.5) / n);
  bench.report("watchdog", percentile(with_watchdog, 0.5) / n);
  bench.report("at_least_once", percentile(at_least_once, 0.5) / n);
  return percentile(toml, 0.5) / n;
}
