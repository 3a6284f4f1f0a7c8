// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <chrono>
#include <filesystem>
#include <string>

#include "checking.hpp"
#include "support/paths.hpp"

#include <leat/process/restart_policy.hpp>

using namespace leat::config;
using leat::restart_policy;
using leat::restart_strategy;
using leat::restart_when;
using namespace leat::config::test;
using namespace std::chrono_literals;
using indices = std::vector<leat::config::index>;  // not the index() of <strings.h>

TEST_CASE("everything that a deployment says is in its plan") {
  std::filesystem::current_path(leat::test::in_source("tests/config"));
  const checked c = check({"good/board/deployment.toml"}, classes());
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  const plan& p = *c.plan;

  CHECK_FALSE(p.runtime.procs);
  CHECK(p.runtime.run_queue == 256);
  CHECK_FALSE(p.runtime.spinning);
  CHECK(p.runtime.max_threads == 64);
  CHECK(p.runtime.slice == 10ms);
  CHECK(p.runtime.stack == 65536);
  CHECK(p.runtime.cpus == std::vector<unsigned>{2, 3});
  CHECK(p.runtime.lock_memory);
  CHECK(p.runtime.max_memory == std::uint64_t{64} << 20);
  CHECK(p.runtime.trace == 0ns);
  CHECK(p.supervisor.on_limit == limit_action::stop_service);
  CHECK(p.supervisor.on_deadlock == deadlock_action::report);

  REQUIRE(p.services.size() == 2);
  CHECK(p.services[0].name == "climate");
  CHECK(p.services[0].drain == 10s);
  CHECK(p.services[1].name == "uplink");
  REQUIRE(p.processes.size() == 4);
  CHECK(p.services[0].processes == indices{0, 1, 2});

  const process_plan& probe = p.processes[0];
  CHECK(probe.name == "probe");
  CHECK(probe.type == classes().find_class("ticker-sim"));
  CHECK(probe.settings.find("period")->get<leat::nanoseconds>() == 250ms);
  CHECK(probe.hang == 2s);
  CHECK(probe.stack == 65536);

  const process_plan& filter = p.processes[1];
  CHECK(filter.replicas == 2);
  CHECK(filter.settings.find("window")->get<std::int64_t>() == 4);  // overridden
  CHECK(filter.hang == 500ms);
  CHECK(filter.grace == 200ms);
  CHECK_FALSE(filter.watchdog);
  CHECK(filter.restart.when == restart_when::failure);
  CHECK(filter.restart.burst == 5);
  CHECK(filter.restart.window == 60s);
  CHECK(filter.restart.backoff == 100ms);
  CHECK(filter.restart.longest_backoff == 10s);
  REQUIRE(filter.ports.size() == 2);
  CHECK(filter.ports[0].schema->name == "raw");
  CHECK(filter.ports[0].channels == indices{0});
  CHECK(filter.ports[1].channels == indices{1});

  const process_plan& panel = p.processes[2];
  CHECK(panel.thread.own);
  CHECK(panel.thread.cpu == 3u);
  CHECK(panel.thread.priority == 40u);
  CHECK(panel.settings.find("scale") == nullptr);  // neither given nor with a default

  REQUIRE(p.channels.size() == 2);
  const channel_plan& raw = p.channels[0];
  CHECK(p.full_name(raw) == "climate/raw");
  CHECK(raw.capacity == 256);
  CHECK(raw.full == leat::full::drop_oldest);
  CHECK(std::string(to_string(raw.full)) == "drop-oldest");
  CHECK(raw.message == "sample");
  CHECK(raw.value_size == 16);
  CHECK(p.where(raw.at) == "good/board/../climate.toml:28");
  const channel_plan& clean = p.channels[1];
  CHECK(clean.copy);
  CHECK(clean.exported);
  REQUIRE(clean.readers.size() == 2);
  CHECK(p.processes[clean.readers[0].process].name == "panel");
  CHECK(clean.readers[0].full == leat::full::latest);
  CHECK(p.full_name(p.processes[clean.readers[1].process]) == "uplink/sender");
  CHECK(clean.readers[1].full == leat::full::block);
}

TEST_CASE("without a word on restarts they are as the framework has them") {
  const checked c = check_this(small_service("s"));
  REQUIRE(c.plan);
  const restart_policy& r = c.plan->processes[0].restart;
  const leat::restart_policy same;
  CHECK(r.burst == same.burst);
  CHECK(r.window == same.window);
  CHECK(r.backoff == same.backoff);
  CHECK(r.longest_backoff == same.longest_backoff);
}

TEST_CASE(
    "limits are those of the process, else the longer of what the supervisor says and the class asks for") {
  const auto limits = [](const std::string& process, const std::string& supervisor,
                         const char* use = "slow") {
    const checked c = check_this("leat = 1\n[process.p]\nuse = \"" + std::string(use) + "\"\n" + process +
                                 (supervisor.empty() ? "" : "\n[supervisor]\n" + supervisor));
    CHECK(shown(c) == "");
    REQUIRE(c.plan);
    return c.plan->processes[0];
  };
  const process_plan asked = limits("", "");
  CHECK(asked.hang == 30s);
  CHECK(asked.grace == 5s);
  CHECK(asked.watchdog == 1min);
  const process_plan more = limits("", "hang = \"1m\"\ngrace = \"6s\"\nwatchdog = \"2m\"");
  CHECK(more.hang == 1min);
  CHECK(more.grace == 6s);
  CHECK(more.watchdog == 2min);
  const process_plan less = limits("", "hang = \"1s\"\ngrace = \"1s\"\nwatchdog = \"1s\"");
  CHECK(less.hang == 30s);
  CHECK(less.grace == 5s);
  CHECK(less.watchdog == 1min);
  const process_plan own = limits("hang = \"1s\"\ngrace = \"2s\"\nwatchdog = \"3s\"", "grace = \"1h\"");
  CHECK(own.hang == 1s);
  CHECK(own.grace == 2s);
  CHECK(own.watchdog == 3s);
  const process_plan plain = limits("", "", "slow-by-setting");
  CHECK(plain.hang == 2s);
  CHECK(plain.grace == 4s);
  CHECK_FALSE(plain.watchdog);
  CHECK(limits("config = { patience = \"9s\" }", "", "slow-by-setting").grace == 10s);
}

TEST_CASE("a process has what the supervisor has, except for what it says itself") {
  const checked c = check_this(small_service("s",
                                             "hang = \"1s\"\nwatchdog = \"9s\"\nrestart = { when = "
                                             "\"always\", backoff = [\"1ms\", \"2ms\"] }\n[supervisor]\nhang "
                                             "= \"3s\"\ngrace = \"1s\"\nwatchdog = \"8s\"\nrestart = { when "
                                             "= \"never\", strategy = \"rest-for-one\", burst = 7 }\n"
                                             "on_limit = \"exit\"\non_deadlock = \"restart\"\n"));
  CHECK(shown(c) == "");
  REQUIRE(c.plan);
  const process_plan& plain = c.plan->processes[0];
  CHECK(plain.hang == 3s);
  CHECK(plain.grace == 1s);
  CHECK(plain.watchdog == 8s);
  CHECK(plain.restart.when == restart_when::not_at_all);
  CHECK(plain.restart.strategy == restart_strategy::rest_for_one);
  CHECK(plain.restart.backoff == 100ms);
  const process_plan& own = c.plan->processes[1];
  CHECK(own.hang == 1s);
  CHECK(own.watchdog == 9s);
  CHECK(own.restart.when == restart_when::always);
  CHECK(own.restart.strategy == restart_strategy::rest_for_one);
  CHECK(own.restart.burst == 7);
  CHECK(own.restart.longest_backoff == 2ms);
  CHECK(c.plan->supervisor.on_limit == limit_action::exit);
  CHECK(c.plan->supervisor.on_deadlock == deadlock_action::restart);
}

TEST_CASE("delivery is per port, and dead letters have their channel") {
  std::filesystem::current_path(leat::test::in_source("tests/config"));
  const checked c = check({"good/actor.toml"}, classes());
  REQUIRE(c.plan);
  const process_plan& boss = c.plan->processes[0];
  REQUIRE(boss.ports.size() == 3);
  CHECK(boss.ports[0].delivery == delivery::at_least_once);
  CHECK(boss.ports[2].delivery == delivery::at_most_once);
  CHECK(boss.ports[1].channels.empty());
  CHECK(boss.attempts == 2);
  REQUIRE(boss.dead_letter);
  CHECK(c.plan->channels[*boss.dead_letter].name == "given_up");
  CHECK(c.plan->processes[2].critical);
  CHECK(c.plan->processes[2].watchdog == 5s);
}

TEST_CASE("an unnamed channel joins a port to all who name it") {
  const checked c = check_this(
      "leat = 1\n[process.p]\nuse = \"ticker-sim\"\n[process.a]\nuse = \"sink\"\nin = { samples = "
      "\"p.value\" }\n"
      "[process.b]\nuse = \"sink\"\nin = { samples = \"p.value\" }\n");
  REQUIRE(c.plan);
  REQUIRE(c.plan->channels.size() == 1);
  const channel_plan& channel = c.plan->channels[0];
  CHECK(channel.unnamed);
  CHECK(channel.name == "p.value");
  CHECK(channel.capacity == 64);
  CHECK(channel.readers.size() == 2);
  CHECK(channel.writers.size() == 1);
  CHECK(c.plan->processes[0].ports[0].channels == indices{0});
}

TEST_CASE("a port may be joined to several channels, named and unnamed") {
  std::filesystem::current_path(leat::test::in_source("tests/config"));
  const checked c = check({"good/several.toml"}, classes());
  REQUIRE(c.plan);
  CHECK(c.plan->processes[0].ports[0].channels == indices{0, 1, 2});
  CHECK(c.plan->processes[2].ports[0].channels == indices{0, 1});
  const leat::value& settings = c.plan->processes[3].settings;
  CHECK(settings.find("scale")->get<double>() == 1.0);
  CHECK(settings.find("buffer")->get<leat::byte_size>().bytes == 65536);
  CHECK(settings.find("tls")->find("depth")->get<std::int64_t>() == 3);
  CHECK(leat::to_text(*settings.find("delays")) == "[\"0\", \"1s\"]");
}

TEST_CASE("fields are followed through a long chain, or given up") {
  std::string text = "leat = 1\n[process.last]\nuse = \"recorder\"\nin = { values = \"p0.out\" }\n";
  constexpr int length = 5000;
  for (int i = 0; i < length; ++i) {
    const std::string from = i + 1 < length ? "p" + std::to_string(i + 1) + ".out" : "sim.values";
    text += "[process.p" + std::to_string(i) + "]\nuse = \"deadband\"\nin = { values = \"" + from + "\" }\n";
  }
  const checked c = check_this(text + "[process.sim]\nuse = \"sensor-sim\"\n");
  CHECK(c.found.errors() == 0);
}

TEST_CASE("[control] says which doors there are, and what is for another door is an error") {
  const std::string small =
      "leat = 1\n[process.p]\nuse = \"ticker-sim\"\n[process.a]\nuse = \"sink\"\nin = { samples = "
      "\"p.value\" }\n";
  const checked none = check_this(small);
  REQUIRE(none.plan);
  CHECK(none.plan->control.socket);
  CHECK(none.plan->control.listen.empty());
  CHECK(none.plan->control.blame_after == 5s);
  const checked all = check_this(
      small +
      "[control]\nname = \"plant-7\"\nsocket = false\nlisten = \"[::1]:9464\"\n"
      "hosts = [\"plant-7.example\"]\ntoken_file = \"/etc/t\"\nclients = 3\nblame_after = \"1s\"\n");
  REQUIRE(all.plan);
  const control_plan& c = all.plan->control;
  CHECK(c.name == "plant-7");
  CHECK_FALSE(c.socket);
  CHECK(c.listen == "[::1]:9464");
  CHECK(c.hosts == std::vector<std::string>{"plant-7.example"});
  CHECK(c.token_file == "/etc/t");
  CHECK(c.clients == 3);
  CHECK(c.blame_after == 1s);
  for (const char* wrong :
       {"listen = \"nowhere\"", "listen = \":80\"", "listen = \"a:70000\"", "name = \"../x\"", "name = \"\"",
        "token_file = \"t\"", "hosts = [\"h\"]", "clients = 0", "sockets = true", "blame_after = 5"}) {
    CAPTURE(wrong);
    CHECK(check_this(small + "[control]\n" + wrong + "\n").found.errors() == 1);
  }
}
