// SPDX-License-Identifier: BSL-1.0
//
// Any bytes at all: they are read, checked and shown, and nothing but diagnostics may come of it. What is right
// is right, and the same, when it is printed without templates, variables and overrides. Lines that begin with
// "#set " are arguments of --set.
#include <algorithm>

#include <leat/config/config.hpp>
#include <leat/config/graph.hpp>
#include <leat/config/render.hpp>

#include "config/fixture.hpp"
#include "config/plan_text.hpp"
#include "config/toml_cases.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

void run(std::string_view input) {
  static const config::test::test_catalog classes;
  config::options options{.environment = [](std::string_view name) -> std::optional<std::string> {
                            if (name == "SET") return "value";
                            if (name == "NUMBER") return "3";
                            return std::nullopt;
                          },
                          .expand = true,
                          .simulation = config::options::stand_ins::checked};
  constexpr std::string_view set = "#set ";
  for (std::size_t i = 0; i < input.size() && options.set.size() < 8;) {
    const std::size_t end = std::min(input.find('\n', i), input.size());
    if (input.substr(i).starts_with(set) && end > i + set.size())
      options.set.emplace_back(input.substr(i + set.size(), end - i - set.size()));
    i = end + 1;
  }
  const config::checked r = config::check_text("fuzz.toml", std::string(input), classes, options);
  const std::string text = render(r.found, r.sources, true);
  const std::string json = render_json(r.found, r.sources);
  require(r.plan.has_value() == (r.found.errors() == 0), "there is a plan or an error");
  require(r.found.all().empty() || (!text.empty() && !json.empty()), "diagnostics are shown");
  (void)render_remarks(r.found, r.sources, true);
  if (!r.plan) return;
  for (const config::channel_plan& c : r.plan->channels) (void)choose_flavour(*r.plan, c);
  require(sinks_first(*r.plan).size() == r.plan->processes.size(), "each process has its place");
  require(r.expanded.size() == 1, "one service is one plain file");
  options.set.clear();
  const config::checked again = config::check_text(r.expanded[0].name, r.expanded[0].text, classes, options);
  require(again.plan.has_value(), "what is expanded is right");
  require(config::test::plan_text(*again.plan).text() == config::test::plan_text(*r.plan).text(),
          "what is expanded is the same");
}

inputs seeds() {
  inputs all = files_in(leat::test::in_source("tests/config/good"));
  for (std::string& text : files_in(leat::test::in_source("tests/config/broken")))
    all.push_back(std::move(text));
  for (const config::test::toml_case& c : config::test::accepted_toml) all.emplace_back(c.text);
  for (const std::string_view text : config::test::refused_toml_values)
    all.push_back("a = " + std::string(text));
  for (const std::string_view text : config::test::refused_toml) all.emplace_back(text);
  const std::string small =
      "leat = 1\n[service]\nname = \"s\"\n[process.probe]\nuse = \"ticker-sim\"\nreplicas = \"${NUMBER}\"\n"
      "[process.taker]\nuse = \"sink\"\nin = { samples = \"probe.value\" }\n";
  for (const char* argument :
       {"s.process.probe.replicas=2", "runtime.procs=1", "s.process.*.stack=32K",
        "s.process.probe.enabled=false", "s.service.drain=${SET}",
        "s.process.\"probe\".config={ period = \"1s\" }", "s.process.probe.use=counter", "control.name=x",
        "s.process.probe.unset=['replicas']", "a.b", "=", ".=", "\"x", "s.process.probe.config.period="})
    all.push_back(small + "#set " + argument + '\n');
  for (const char* stand_in :
       {"[simulate.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"1s\" }\n",
        "[simulate.\"*\"]\nenabled = false\n", "[simulate.\"s/taker\"]\nuse = \"sink\"\n",
        "[simulate]\nprobe = 3\n", "[simulate.\"/\"]\nuse = 1\n",
        "[template.t.process.p]\nuse = \"ticker-sim\"\n[template.t.simulate.p]\nenabled = "
        "false\n[use.t.x]\n"})
    all.push_back(small + stand_in);
  return all;
}

LEAT_FUZZ_TARGET("config", run, seeds);

}  // namespace
}  // namespace leat::fuzz
