// SPDX-License-Identifier: BSL-1.0
//
// `leat simulate`, as a user calls it.
#include <doctest/doctest.h>
#include <csignal>
#include <string>
#include <vector>

#include "cli_fixture.hpp"
#include "support/paths.hpp"

using namespace leat::services::test;
using leat::test::child_result;
using leat::test::run_program;

namespace {

const std::string climate = leat::test::in_source("examples/climate/climate.toml");

child_result simulate(std::vector<std::string> words, const scratch_folder& records) {
  words.insert(words.begin(), "simulate");
  return run_program(
      leat_program, words,
      {.environment = {"CLIMATE_RECORDS=" + records.path() + "/real", "NO_COLOR", "LEAT_LOG"}});
}

std::string sensors(const std::string& more) {
  return "leat = 1\n[service]\nname = \"s\"\n"
         "[process.probe]\nuse = \"sensor-sim\"\nout = { values = \"raw\" }\n"
         "[process.page]\nuse = \"http-post\"\nconfig = { url = \"http://localhost:1/\" }\nin = { values = "
         "\"raw\" }\n"
         "[channel.raw]\n" +
         more;
}
const std::string with_log = "[simulate.page]\nuse = \"log\"\n";

}  // namespace

TEST_CASE("simulate: the climate example, and the same again") {
  const scratch_folder one, two;
  const child_result first = simulate({climate, "--for", "2m", "--seed", "7"}, one);
  INFO(first.output);
  REQUIRE(first.exited(0));
  CHECK(first.said("channel climate/raw "));
  CHECK(first.said("queue   climate/raw "));
  CHECK(first.said("process climate/record"));
  CHECK_FALSE(first.said("climate/page"));
  CHECK(first.said("simulated 2m"));
  CHECK(first.said("2026-01-01 00:02:00.000 info services: asked to stop"));
  CHECK(std::filesystem::exists(one.path() + "/real-simulated/records-000001.csv"));
  CHECK_FALSE(std::filesystem::exists(one.path() + "/real"));
  CHECK(simulate({climate, "--for", "2m", "--seed", "7"}, two).output == first.output);
}

TEST_CASE("simulate: what cannot be simulated is told before anything starts") {
  const scratch_folder folder;
  const std::string file = folder.file("s.toml", sensors(""));
  const child_result r = simulate({file}, folder);
  INFO(r.output);
  CHECK(r.exited(78));
  CHECK(r.said(
      "s.toml:7:10: error: process 'page' cannot be simulated as it is: 'http-post', it talks to a server; "
      "write [simulate.page] with use = \"CLASS\""));
  CHECK_FALSE(r.said(" switches"));
  const child_result recorded =
      simulate({folder.file("r.toml", sensors("[simulate.page]\nuse = \"recorder\"\nconfig = { folder = \"" +
                                              folder.path() + "/there\" }\n")),
                "--for", "10s"},
               folder);
  INFO(recorded.output);
  CHECK(recorded.exited(0));
}

TEST_CASE("simulate: who listens on a socket does so in the network of the world") {
  const scratch_folder folder;
  const child_result r =
      simulate({folder.file("p.toml",
                            "leat = 1\n[service]\nname = \"p\"\n"
                            "[process.probe]\nuse = \"sensor-sim\"\nout = { values = \"raw\" }\n"
                            "[process.page]\nuse = \"http-json\"\nconfig = { listen = \"127.0.0.1:80\" }\n"
                            "in = { values = \"raw\" }\n[channel.raw]\n"),
                "--for", "10m"},
               folder);
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("process p/page"));
}

TEST_CASE("simulate: a condition ends it, seeds are searched, faults must be made") {
  const scratch_folder folder;
  const std::string file = folder.file("s.toml", sensors(with_log));
  const child_result found = simulate({file, "--until", "channel[\"s/raw\"].sent >= 5"}, folder);
  INFO(found.output);
  CHECK(found.exited(0));
  CHECK(found.said("the condition is true after "));
  const child_result never = simulate({file, "--until", "restarts > 0", "--for", "5s", "--quiet"}, folder);
  CHECK(never.exited(1));
  CHECK(never.said("the condition was never true"));
  const child_result wrong = simulate({file, "--until", "restart > 0"}, folder);
  INFO(wrong.output);
  CHECK(wrong.exited(2));
  CHECK(wrong.said("there are elapsed, failures, restarts"));
  CHECK(simulate({file, "--until", "restarts >"}, folder).exited(2));

  const std::string faults =
      folder.file("faults.toml", "[[fault]]\nprocess = \"probe\"\nwhat = \"throw\"\nevery = \"10s\"\n");
  const child_result sought = simulate(
      {file, "--faults", faults, "--seeds", "1..50", "--until", "restarts >= 3", "--for", "30s"}, folder);
  INFO(sought.output);
  CHECK(sought.exited(0));
  CHECK(sought.said("this seed again: --seed "));
  const child_result none = simulate({file, "--seeds", "1..3", "--for", "10s"}, folder);
  CHECK(none.exited(0));
  CHECK(none.said("none of the seeds 1..3 fails"));

  const std::string late =
      folder.file("late.toml", "[[fault]]\nprocess = \"probe\"\nwhat = \"hang\"\nat = \"3h\"\n");
  const child_result unmade = simulate({file, "--faults", late, "--for", "10s"}, folder);
  INFO(unmade.output);
  CHECK(unmade.exited(1));
  CHECK(unmade.said("late.toml:1, hang in 'probe') was never made"));
}

TEST_CASE("simulate: bad words") {
  const scratch_folder folder;
  const std::string file = folder.file("s.toml", sensors(with_log));
  for (const std::vector<std::string>& words :
       std::vector<std::vector<std::string>>{{file, "--for", "0s"},
                                             {file, "--for", "soon"},
                                             {file, "--seed", "-1"},
                                             {file, "--seeds", "5..1"},
                                             {file, "--seeds", "5"},
                                             {file, "--faults", folder.path() + "/none.toml"},
                                             {}}) {
    const child_result r = simulate(words, folder);
    INFO(r.output);
    CHECK(r.exited(2));
  }
}

TEST_CASE("simulate: Ctrl-C ends it well") {
  const scratch_folder folder;
  program p({leat_program, "simulate", folder.file("s.toml", sensors(with_log)), "--for", "8000h"}, {});
  REQUIRE(p.says("\"sensor\""));
  p.signal(SIGINT);
  CHECK(p.end() == 0);
  INFO(p.said);
  CHECK(p.says("interrupted"));
}
