// SPDX-License-Identifier: BSL-1.0
//
// Any bytes at all as a file of faults (services/fault_script.hpp): a script that can be made, or diagnostics
// that are shown.
#include <leat/config/config.hpp>
#include <leat/config/render.hpp>
#include <leat/services/fault_script.hpp>

#include "config/fixture.hpp"
#include "fuzz/fuzz.hpp"

namespace leat::fuzz {
namespace {

const config::plan& fault_plan() {
  static const config::test::test_catalog classes;
  static const config::checked c = config::check_text(
      "t.toml",
      "leat = 1\n[process.probe]\nuse = \"ticker-sim\"\n[process.taker]\nuse = \"sink\"\nin = { samples = "
      "\"probe.value\" }\n",
      classes);
  return *c.plan;
}

void run_faults(std::string_view input) {
  config::source_set sources;
  config::diagnostics found;
  const services::fault_script s =
      services::read_faults("f.toml", std::string(input), fault_plan(), sources, found);
  if (!found.all().empty()) {
    require(!render(found, sources, true).empty(), "diagnostics are shown");
    return;
  }
  require(!s.faults.empty(), "there is a fault or an error");
  for (const services::scripted_fault& f : s.faults) {
    require(!f.processes.empty(), "a fault is made in a process");
    require(f.at.empty() == (f.every > nanoseconds::zero()), "a fault has times or a rate");
  }
}

inputs seeds_of_faults() {
  return {"[[fault]]\nprocess = \"probe\"\nwhat = \"throw\"\nat = [\"1s\", \"2h\"]\n",
          "[[fault]]\nprocess = \"t/*\"\nwhat = \"hang\"\nevery = \"1ms\"\n",
          "[[fault]]\nprocess = 3\nwhat = 4\nat = {}\nevery = 0\n",
          "fault = [1, {}]\n",
          "[fault]\nprocess = \"probe\"\n",
          ""};
}

LEAT_FUZZ_TARGET("faults", run_faults, seeds_of_faults);

}  // namespace
}  // namespace leat::fuzz
