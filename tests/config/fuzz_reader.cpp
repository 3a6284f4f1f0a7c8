// SPDX-License-Identifier: BSL-1.0
//
// Any bytes at all: they are read, checked and shown, and nothing but findings may come of it.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include <leat/config/config.hpp>
#include <leat/config/graph.hpp>
#include <leat/config/render.hpp>

#include "fixture.hpp"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const leat::config::test::test_catalog classes;
  const leat::config::options options{.environment = [](std::string_view name) -> std::optional<std::string> {
    if (name == "SET") return "value";
    return std::nullopt;
  }};
  const leat::config::checked r = leat::config::check_text(
      "fuzz.toml", std::string(reinterpret_cast<const char*>(data), size), classes, options);
  const std::string text = render(r.found, r.sources, true);
  const std::string json = render_json(r.found, r.sources);
  if (r.plan.has_value() != (r.found.errors() == 0)) std::abort();
  if (!r.found.all().empty() && (text.empty() || json.empty())) std::abort();
  if (!r.plan) return 0;
  for (const leat::config::channel_plan& c : r.plan->channels) (void)choose_flavour(*r.plan, c);
  if (sinks_first(*r.plan).size() != r.plan->processes.size()) std::abort();
  return 0;
}
