// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <chrono>
#include <string>
#include <vector>

#include "checking.hpp"

using namespace leat::config;
using namespace leat::config::test;
using namespace std::chrono_literals;

namespace {

const char* const climate =
    "leat = 1\n[service]\nname = \"climate\"\n[process.probe]\nuse = \"ticker-sim\"\nconfig = { period = "
    "\"5s\" }\n"
    "out = { value = \"raw\" }\n[process.filter]\nuse = \"smooth\"\nconfig = { window = 16 }\nin = { raw = "
    "\"raw\" "
    "}\nout = { clean = \"clean\" }\n[process.panel]\nuse = \"http-json\"\nconfig = { listen = \"a:1\" }\nin "
    "= { live = "
    "\"clean\" }\n[process.taker]\nuse = \"sink\"\nin = { samples = \"clean\" "
    "}\n[channel.raw]\n[channel.clean]\nfanout "
    "= \"copy\"\nreader = { panel = \"latest\", taker = \"block\" }\n";

checked with(const std::string& more, const std::vector<std::string>& set = {}) {
  return check_text("t.toml", climate + more, classes(), {.set = set});
}

const process_plan* process_named(const checked& c, std::string_view name) {
  if (!c.plan) return nullptr;
  for (const process_plan& p : c.plan->processes)
    if (p.name == name) return &p;
  return nullptr;
}

std::string set_fault(const std::string& argument) { return shown(with("", {argument})); }

}  // namespace

TEST_CASE("a process that is switched off is not there, nor is its policy missed") {
  const checked c = with("[override.climate.process.panel]\nenabled = false\n");
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->processes.size() == 3);
  CHECK_FALSE(process_named(c, "panel"));
  CHECK(c.plan->channels[1].readers.size() == 1);
}

TEST_CASE("a channel that nobody has to do with any more is not there either") {
  const checked c = with(
      "[override.climate.process.\"p*\"]\nenabled = false\n[override.climate.process.filter]\n"
      "enabled = false\n[override.climate.process.taker]\nin = { samples = \"other.value\" }\n"
      "[process.other]\nuse = \"ticker-sim\"\n");
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(c.plan->processes.size() == 2);
  CHECK(c.plan->channels.size() == 1);
}

TEST_CASE("the settings of a class that is not there are no matter when it is switched off") {
  const checked c = with("[process.plc]\nuse = \"no-such-class\"\nconfig = { x = 1 }\nenabled = false\n");
  CHECK(shown(c) == "");
  CHECK(c.plan);
}

TEST_CASE("another class in an override: old settings go, ports of the same name stay") {
  const checked same = with(
      "[override.climate.process.filter]\nuse = \"relay\"\nin = { left = \"raw\" }\nout = { "
      "right = \"clean\" }\n");
  CHECK(shown(same) == "");
  REQUIRE(same.plan);
  CHECK(process_named(same, "filter")->type->name == "relay");

  scratch_folder f;
  f.file("a.toml",
         "leat = 1\n[process.one]\nuse = \"sensor-sim\"\nout = { values = \"v\" }\nreplicas = "
         "2\n[process.two]\nuse = "
         "\"recorder\"\nin = { values = \"v\" }\nmap = { values = { at = \"at\" } }\n[channel.v]\n");
  f.file("b.toml",
         "leat = 1\n[override.a.process.one]\nuse = \"line-reader\"\nconfig = { from = \"a:1\" }\n"
         "[override.a.process.two]\nuse = \"trend\"\n");
  const checked c = check({"a.toml", "b.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(process_named(c, "one")->type->name == "line-reader");
  CHECK(process_named(c, "one")->replicas == 2);
  CHECK(process_named(c, "one")->ports[0].channels.size() == 1);
  CHECK(process_named(c, "two")->type->name == "trend");
}

TEST_CASE("unset takes keys away before others are put in") {
  const checked c = with(
      "[override.climate.process.filter]\nunset = [\"config.window\"]\n"
      "[override.climate.channel.clean]\nunset = [\"reader\", \"fanout\"]\nfanout = \"compete\"\n");
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(process_named(c, "filter")->settings.find("window")->get<std::int64_t>() == 8);
  CHECK_FALSE(c.plan->channels[1].copy);
}

TEST_CASE(
    "[runtime] of a later file counts, and of a deployment that of its services; both are told on demand") {
  scratch_folder f;
  f.file(
      "a.toml",
      small_service("a", "[runtime]\nprocs = 2\nmemory = { max = \"1M\" }\n[supervisor]\nhang = \"1s\"\n"));
  f.file("b.toml", "leat = 1\n[runtime]\nprocs = 3\nmemory = { max = \"2M\", lock = true }\n");
  f.file("c.toml", "leat = 1\nservices = [\"a.toml\"]\n[runtime]\nprocs = 4\n[supervisor]\nhang = \"3s\"\n");
  const checked later = check({"a.toml", "b.toml"}, classes());
  CHECK(shown(later) == "");
  REQUIRE(later.plan);
  CHECK(later.plan->runtime.procs == 3u);
  CHECK(later.plan->runtime.max_memory == std::uint64_t{2} << 20);
  CHECK(render_remarks(later.found, later.sources) ==
        "b.toml:3:1: note: 'procs' of [runtime] is replaced\n"
        "    3 | procs = 3\n"
        "      | ^^^^^ this counts\n"
        "      in a.toml:10:1:\n"
        "   10 | procs = 2\n"
        "      | ^^^^^ and not this\n"
        "b.toml:4:12: note: 'max' of [runtime] memory is replaced\n"
        "    4 | memory = { max = \"2M\", lock = true }\n"
        "      |            ^^^ this counts\n"
        "      in a.toml:11:12:\n"
        "   11 | memory = { max = \"1M\" }\n"
        "      |            ^^^ and not this\n");
  CHECK(check({"b.toml", "a.toml"}, classes()).plan->runtime.procs == 2u);
  const checked deployment = check({"c.toml"}, classes());
  REQUIRE(deployment.plan);
  CHECK(deployment.plan->runtime.procs == 4u);
  CHECK(deployment.plan->processes[0].hang == 3s);
  CHECK(render_json(later.found, later.sources).find("remarks") == std::string::npos);
  CHECK(render_json(later.found, later.sources, true).find("\"remarks\":[{\"severity\":\"note\"") !=
        std::string::npos);
}

TEST_CASE("of two files that override the same key the later one counts") {
  scratch_folder f;
  f.file("a.toml", climate);
  f.file("b.toml", "leat = 1\n[override.climate.process.filter]\nconfig = { window = 4 }\nreplicas = 2\n");
  f.file("c.toml", "leat = 1\n[override.climate.process.filter]\nconfig = { window = 5 }\n");
  const checked c = check({"a.toml", "b.toml", "c.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(process_named(c, "filter"));
  CHECK(process_named(c, "filter")->settings.find("window")->get<std::int64_t>() == 5);
  CHECK(process_named(c, "filter")->replicas == 2);
}

TEST_CASE("--set sets one key after all files") {
  const checked c =
      with("[override.climate.process.filter]\nconfig = { window = 5 }\n[runtime]\nprocs = 2\n",
           {"climate.process.filter.config.window=4", "runtime.procs=1", "climate.service.drain=3s",
            "climate.process.panel.config.listen=b:2", "climate.process.\"panel\".config.paths=[\"a\", 'b']",
            "climate.channel.raw.capacity= 7", "climate.process.*e*.stack=32K",
            "climate.process.probe.critical=true", "climate.process.panel.enabled=true",
            "climate.process.filter.config.window=6"});
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  CHECK(process_named(c, "filter")->settings.find("window")->get<std::int64_t>() == 6);
  CHECK(process_named(c, "panel")->settings.find("listen")->get<std::string>() == "b:2");
  CHECK(process_named(c, "panel")->settings.find("paths")->get<leat::value::list>().size() == 2);
  CHECK(process_named(c, "panel")->stack == 32 * 1024);
  CHECK(process_named(c, "probe")->critical);
  CHECK(c.plan->runtime.procs == 1u);
  CHECK(c.plan->services[0].drain == 3s);
  CHECK(c.plan->channels[0].capacity == 7);
  const checked swapped =
      with("", {"climate.process.filter.use=relay", "climate.process.filter.in={ left = \"raw\" }",
                "climate.process.filter.out.right=clean"});
  CHECK(shown(swapped) == "");
  REQUIRE(process_named(swapped, "filter"));
  CHECK(process_named(swapped, "filter")->type->name == "relay");
}

TEST_CASE("what is wrong with --set is shown in the argument") {
  CHECK(set_fault("climate.process.filter.config.window=many") ==
        "--set:1:38: error: 'window' must be an integer, not text\n"
        "    1 | climate.process.filter.config.window=many\n"
        "      |                                      ^^^^\n");
  CHECK(set_fault("climate.process.filter.config.wndow=4") ==
        "--set:1:31: error: unknown setting 'wndow' of 'smooth'; did you mean 'window'?\n"
        "    1 | climate.process.filter.config.wndow=4\n"
        "      |                               ^^^^^\n");
  CHECK(set_fault("climte.process.filter.replicas=2") ==
        "--set:1:1: error: unknown service 'climte'; did you mean 'climate'?\n"
        "    1 | climte.process.filter.replicas=2\n"
        "      | ^^^^^^\n");
  CHECK(set_fault("runtme.procs.x.y=2") ==
        "--set:1:1: error: unknown service 'runtme'; did you mean 'runtime'?\n"
        "    1 | runtme.procs.x.y=2\n"
        "      | ^^^^^^\n");
  CHECK(set_fault("climate.process.fitler.replicas=2") ==
        "--set:1:17: error: service 'climate' has no process 'fitler'; did you mean 'filter'?\n"
        "    1 | climate.process.fitler.replicas=2\n"
        "      |                 ^^^^^^\n");
  CHECK(set_fault("climate.proces.filter.replicas=2") ==
        "--set:1:9: error: unknown key 'proces' of service 'climate'; did you mean 'process'?\n"
        "    1 | climate.proces.filter.replicas=2\n"
        "      |         ^^^^^^\n");
  CHECK(set_fault("climate.process.filter.replicas=0") ==
        "--set:1:33: error: 'replicas' is 0; allowed: 1 to 65536\n"
        "    1 | climate.process.filter.replicas=0\n"
        "      |                                 ^\n");
  const std::string forms =
      "; write SERVICE.process.NAME.KEY=VALUE, SERVICE.channel.NAME.KEY=VALUE, SERVICE.service.KEY=VALUE or "
      "runtime.KEY=VALUE\n";
  CHECK(set_fault("climate.window=4") == "--set:1:1: error: 'climate.window' names no key" + forms +
                                             "    1 | climate.window=4\n"
                                             "      | ^^^^^^^^^^^^^^\n");
  CHECK(set_fault("runtime.procs") == "--set:1:1: error: '=' and a value are missing" + forms +
                                          "    1 | runtime.procs\n"
                                          "      | ^^^^^^^^^^^^^\n");
  CHECK(set_fault("runtime..procs=1") == "--set:1:9: error: a name is missing here" + forms +
                                             "    1 | runtime..procs=1\n"
                                             "      |         ^\n");
  CHECK(set_fault("runtime.\"procs=1") ==
        "--set:1:9: error: this quote is not closed\n"
        "    1 | runtime.\"procs=1\n"
        "      |         ^^^^^^^^\n");
  CHECK(set_fault("runtime.\"procs\"x=1") ==
        "--set:1:16: error: '.' or '=' is missing here\n"
        "    1 | runtime.\"procs\"x=1\n"
        "      |                ^\n");
  CHECK(set_fault("runtime.cpus=[1, 2") ==
        "--set:1:19: error: bad TOML: array: encountered end-of-file\n"
        "    1 | runtime.cpus=[1, 2\n"
        "      |                   ^\n");
  CHECK(set_fault("runtime.procs=1\nx") ==
        "--set:1:1: error: a value to set has one line\n"
        "    1 | runtime.procs=1\n"
        "      | ^\n");
  CHECK(set_fault("=1").starts_with("--set:1:1: error: a name is missing here"));
}

TEST_CASE("a number or a boolean may come from a variable, and is checked as one that is written") {
  const checked good =
      check_this(std::string(climate) +
                     "[runtime]\nprocs = \"${N}\"\ncpus = [\"${C}\", 1]\n"
                     "[override.climate.process.panel]\nconfig = { scale = \"${S}\", verbose = "
                     "\"${V}\" }\n[override.climate.process.filter]\nconfig = { window = \"${W:-12}\" "
                     "}\n[override.climate.channel.raw]\ncapacity = \"1${W:-0}\"\n",
                 {{"N", "3"}, {"C", "0"}, {"S", "1.25"}, {"V", "true"}});
  CHECK(shown(good) == "");
  REQUIRE(good.plan);
  CHECK(good.plan->runtime.procs == 3u);
  CHECK(good.plan->runtime.cpus == std::vector<unsigned>{0, 1});
  CHECK(process_named(good, "panel")->settings.find("scale")->get<double>() == 1.25);
  CHECK(process_named(good, "panel")->settings.find("verbose")->get<bool>());
  CHECK(process_named(good, "filter")->settings.find("window")->get<std::int64_t>() == 12);
  CHECK(good.plan->channels[0].capacity == 10);
}
