// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <string>

#include "checking.hpp"

using namespace leat::config;
using namespace leat::config::test;

namespace {

using mode = options::stand_ins;

checked check_as(const std::string& text, mode how) {
  options o;
  o.simulation = how;
  return check_text("t.toml", text, classes(), o);
}

const process_plan* stand_in(const checked& c, const std::string& name) {
  for (const process_plan& p : c.plan->processes)
    if (p.name == name) return &p;
  return nullptr;
}

std::string class_of(const checked& c, const std::string& name) {
  const process_plan* const p = c.plan ? stand_in(c, name) : nullptr;
  return p ? p->type->name : "none";
}

// probe -> raw -> taker
std::string service(const std::string& more) {
  return "leat = 1\n"
         "[process.probe]\n"
         "use = \"ticker-sim\"\n"
         "out = { value = \"raw\" }\n"
         "[process.taker]\n"
         "use = \"sink\"\n"
         "in = { samples = \"raw\" }\n"
         "[channel.raw]\n" +
         more;
}

}  // namespace

TEST_CASE("a stand-in is used by a simulation alone") {
  const checked runs = check_as(
      service("[simulate.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"7s\" }\n"), mode::unused);
  CHECK(shown(runs) == "");
  REQUIRE(runs.plan);
  CHECK(runs.stand_ins.empty());
  const checked simulated =
      check_as(service("[simulate.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"7s\" }\n"), mode::used);
  CHECK(shown(simulated) == "");
  REQUIRE(simulated.plan);
  CHECK(stand_in(simulated, "probe")->settings.find("period")->get<leat::nanoseconds>() ==
        std::chrono::seconds(7));
  CHECK(stand_in(runs, "probe")->settings.find("period")->get<leat::nanoseconds>() !=
        std::chrono::seconds(7));
  REQUIRE(simulated.stand_ins.size() == 1);
  CHECK(simulated.stand_ins[0] == "t/probe");
}

TEST_CASE("a process that is left out of a simulation is still there when it runs") {
  const std::string text = service(
      "[process.other]\nuse = \"sink\"\nin = { samples = \"raw\" }\n[simulate.other]\nenabled = false\n");
  CHECK(class_of(check_as(text, mode::used), "other") == "none");
  CHECK(class_of(check_as(text, mode::checked), "other") == "sink");
}

TEST_CASE("a check finds what is wrong with stand-ins, at their places") {
  const auto told = [](const std::string& more) { return shown(check_as(service(more), mode::checked)); };
  CHECK(told("[simulate.prob]\nuse = \"ticker-sim\"\n")
            .find("t.toml:9:11: error: in a simulation: service 't' has no "
                  "process 'prob'; did you mean 'probe'?") != std::string::npos);
  CHECK(told("[simulate.probe]\nuse = \"ticker-sin\"\n").find("t.toml:10:7: error: in a simulation: ") !=
        std::string::npos);
  CHECK(
      told("[simulate.probe]\nuse = \"ticker-sim\"\nconfik = { }\n")
          .find("t.toml:11:1: error: in a simulation: unknown key 'confik' in [simulate.probe]; did you mean "
                "'config'?") != std::string::npos);
  CHECK(told("[simulate.probe]\nconfig = { }\n")
            .find("t.toml:9:11: error: in a simulation: [simulate.probe] says "
                  "nothing of what stands in for 'probe'") != std::string::npos);
  CHECK(told("[simulate]\nprobe = 3\n")
            .find("t.toml:10:9: error: in a simulation: [simulate.probe] must be a table, "
                  "not an integer") != std::string::npos);
  // Its one reader is not there then.
  CHECK(told("[simulate.taker]\nenabled = false\n").find("error: in a simulation: ") != std::string::npos);
  // Ports that do not fit.
  CHECK(told("[simulate.probe]\nuse = \"sink\"\nin = { samples = \"raw\" }\n")
            .find("error: in a simulation: ") != std::string::npos);
  CHECK(told("simulate = 3\n").find("error") != std::string::npos);
}

TEST_CASE("what runs is not held up by a wrong stand-in") {
  const checked c = check_as(service("[simulate.probe]\nuse = \"of another program\"\n"), mode::unused);
  CHECK(shown(c) == "");
  CHECK(c.plan);
}

TEST_CASE("a template has stand-ins, with names of its own") {
  const std::string text =
      "leat = 1\n"
      "[template.pump.param]\nperiod = \"duration\"\n"
      "[template.pump.process.probe]\nuse = \"ticker-sim\"\nout = { value = \"raw\" }\n"
      "[template.pump.process.taker]\nuse = \"sink\"\nin = { samples = \"raw\" }\n"
      "[template.pump.channel.raw]\n"
      "[template.pump.simulate.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"${period}\" }\nout = { "
      "value = "
      "\"raw\" }\n"
      "[use.pump.north]\nperiod = \"2s\"\n[use.pump.south]\nperiod = \"3s\"\n";
  const checked c = check_as(text, mode::used);
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.stand_ins.size() == 2);
  CHECK(stand_in(c, "south-probe")->settings.find("period")->get<leat::nanoseconds>() ==
        std::chrono::seconds(3));
  CHECK(shown(check_as(text, mode::checked)) == "");
}

TEST_CASE("a deployment has stand-ins for processes of its services, and * means all that fit") {
  const scratch_folder folder;
  folder.file("plant.toml", small_service("plant"));
  folder.file("all.toml",
              "leat = 1\nservices = [\"plant.toml\"]\n[simulate.\"pl*/pro*\"]\nuse = \"ticker-sim\"\n");
  folder.file("short.toml",
              "leat = 1\nservices = [\"plant.toml\"]\n[simulate.probe]\nuse = \"ticker-sim\"\n");
  options o;
  o.simulation = mode::used;
  const checked c = check({"all.toml"}, classes(), o);
  CHECK(shown(c) == "");
  REQUIRE(c.stand_ins.size() == 1);
  CHECK(c.stand_ins[0] == "plant/probe");
  CHECK(
      shown(check({"short.toml"}, classes(), o))
          .find(
              "short.toml:3:11: error: this file describes no service: write [simulate.\"SERVICE/probe\"]") !=
      std::string::npos);
}

TEST_CASE("--set comes after stand-ins") {
  options o;
  o.simulation = mode::used;
  o.set = {"t.process.probe.config.period=9s"};
  const checked c =
      check_text("t.toml", service("[simulate.probe]\nuse = \"ticker-sim\"\nconfig = { period = \"7s\" }\n"),
                 classes(), o);
  REQUIRE(c.plan);
  CHECK(stand_in(c, "probe")->settings.find("period")->get<leat::nanoseconds>() == std::chrono::seconds(9));
}

TEST_CASE("what is expanded has its stand-ins") {
  options o;
  o.expand = true;
  const checked c = check_text("t.toml", service("[simulate.probe]\nenabled = false\n"), classes(), o);
  REQUIRE(c.expanded.size() == 1);
  CHECK(c.expanded[0].text.find("[simulate.probe]\nenabled = false\n") != std::string::npos);
}
