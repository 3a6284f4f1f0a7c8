// SPDX-License-Identifier: BSL-1.0
//
// A service as users have it: ten stock processes from TOML, one behind the other.
#include <cstdint>
#include <stdexcept>
#include <string>

#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/leat.hpp>
#include <leat/process/registry.hpp>
#include <leat/services/host.hpp>
#include <leat/stock.hpp>

#include "harness.hpp"

namespace leat::bench {
namespace {

std::int64_t records_to_send = 0;
stopwatch running;
double took_ns = 0;

// No two values next to each other are alike, so that every stage passes each of them on.
class record_source : public process {
  out<record> values{this, "values"};
  void run() override {
    running.restart();
    for (std::int64_t i = 0; i < records_to_send; ++i)
      if (values.send({{"sensor", "boiler"}, {"value", static_cast<double>(i)}, {"n", i}}) !=
          send_status::sent)
        return;
  }
};
class record_sink : public process {
  in<record> values{this, "values"};
  void run() override {
    std::int64_t n = 0;
    for (const record& r : values) n += r.size() > 0 ? 1 : 0;
    took_ns = running.ns();
    if (n != records_to_send) throw std::logic_error("records are missing");
  }
};

config::plan ten_stages() {
  const char* const stages[] = {
      R"(use = "select-fields"
config = { constants = [{ field = "site", text = "house" }] })",
      R"(use = "moving-average"
config = { window = 4, key = "sensor" })",
      R"(use = "deadband"
config = { key = "sensor" })",       R"(use = "sample")", R"(use = "tee")",
      R"(use = "select-fields"
config = { drop = ["site"] })",
      R"(use = "moving-average"
config = { window = 8, key = "sensor" })",
      R"(use = "deadband"
config = { key = "sensor" })",       R"(use = "sample")", R"(use = "tee")",
  };
  std::string text =
      "leat = 1\n[process.source]\nuse = \"record_source\"\nout = { values = \"c0\" }\n[channel.c0]\n";
  std::string last = "c0";
  int n = 0;
  for (const char* stage : stages) {
    const std::string next = "c" + std::to_string(++n);
    text += "[process.s" + std::to_string(n) + "]\n" + stage + "\nin = { values = \"" + last +
            "\" }\nout = { out = \"" + next + "\" }\n[channel." + next + "]\n";
    last = next;
  }
  text += "[process.sink]\nuse = \"record_sink\"\nin = { values = \"" + last + "\" }\n";
  config::checked checked = config::check_text("bench.toml", text, program_catalog());
  if (!checked.plan) throw std::logic_error(render(checked.found, checked.sources));
  return std::move(*checked.plan);
}

}  // namespace
}  // namespace leat::bench

LEAT_PROCESS_AS("record_source", leat::bench::record_source, "sends");
LEAT_PROCESS_AS("record_sink", leat::bench::record_sink, "counts");

using namespace leat;
using namespace leat::bench;

LEAT_BENCH(service, "ns", "a record through ten stock processes from TOML") {
  stock::use();
  static const config::plan plan = ten_stages();
  records_to_send = bench.scaled(20'000);
  runtime_options o;
  o.procs = static_cast<unsigned>(bench.procs());
  run(o, [&] {
    services::host h(plan);
    const services::ledger l = h.run(channel<int>(1));
    if (services::exit_code(l) != 0) throw std::runtime_error(services::to_text(l, plan));
  });
  return took_ns / static_cast<double>(records_to_send);
}
