// SPDX-License-Identifier: BSL-1.0
//
// A service that runs, as its shell and systemd see it: signals, notifications, the exit status.
#include <doctest/doctest.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <iterator>
#include <string>
#include <thread>
#include <vector>

#include "cli_fixture.hpp"

using namespace leat::services::test;
using namespace std::chrono_literals;
using leat::test::child_result;
using leat::test::run_program;

TEST_CASE("a program that exec runs has its time to end, although other processes have 200 ms") {
  const scratch_folder folder;
  const std::string ended = folder.path() + "/ended";
  // It asks for the end of all itself, and then takes longer than other processes may.
  const std::string file = folder.file("run.toml", R"(leat = 1
[service]
drain = "100ms"
[process.child]
use = "exec"
config = { command = ["sh", "-c", """
trap 'sleep 1; echo orderly >)" + ended + R"(; exit 0' TERM
kill -TERM $PPID
while :; do sleep 0.1; done
"""] }
)");
  const child_result r = run_program(leat_program, {"run", file}, {.environment = {"NO_COLOR", "LEAT_LOG"}});
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK_FALSE(r.said("left behind"));
  CHECK(std::filesystem::exists(ended));
}

TEST_CASE("SIGINT, SIGTERM and SIGHUP drain, print the ledger and end with 0, and systemd is told") {
  for (const int number : {SIGINT, SIGTERM, SIGHUP}) {
    const scratch_folder folder;
    const notify_socket systemd(folder.path() + "/notify");
    program p({pipeline, "run", folder.file("load.toml", endless("1ms", "latest", "30s"))},
              {systemd.variable()});
    REQUIRE(systemd.next() == "READY=1");
    p.signal(number);
    CHECK(systemd.next() == "STOPPING=1");
    CHECK(p.end() == 0);
    CHECK(has(p.said, "sum of "));
    CHECK(has(p.said, "channel load/raw -> sum "));
    CHECK(has(p.said, " + dropped 0 + left 0\n"));
    CHECK_FALSE(has(p.said, "\033["));
  }
}

TEST_CASE("with nohup it outlives its terminal") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  program p(
      {"/usr/bin/env", "nohup", pipeline, "run", folder.file("load.toml", endless("1ms", "latest", "30s"))},
      {systemd.variable(), "WATCHDOG_USEC=200000"});
  REQUIRE(systemd.next() == "READY=1");
  p.signal(SIGHUP);
  for (int i = 0; i < 5; ++i) CHECK(systemd.next() == "WATCHDOG=1");
  p.signal(SIGTERM);
  std::string told;
  while ((told = systemd.next()) == "WATCHDOG=1") {
  }
  CHECK(told == "STOPPING=1");
  CHECK(p.end() == 0);
}

TEST_CASE("a reader of its output that goes away ends nothing: it goes on, and drains when it is told to") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  program p({pipeline, "run", folder.file("load.toml", endless("1ms", "latest", "30s"))},
            {systemd.variable()});
  REQUIRE(systemd.next() == "READY=1");
  p.stop_reading();
  p.signal(SIGQUIT);  // a dump that nobody takes
  p.signal(SIGTERM);
  CHECK(systemd.next() == "STOPPING=1");
  CHECK(p.end() >= 0);  // its ledger has nowhere to go; it was not killed by SIGPIPE
}

TEST_CASE("two signals at once are one; a further one a second later ends it, with 1") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  program p({pipeline, "run", folder.file("load.toml", endless("20h", "block", "20h"))},
            {systemd.variable()});
  REQUIRE(systemd.next() == "READY=1");
  // Before it has got its first value, the panel has nothing to drain. A dump tells.
  bool sleeps = false;
  for (int i = 0; i < 300 && !sleeps; ++i) {
    p.signal(SIGQUIT);
    sleeps = p.says("): waiting for sleep", 100ms);
  }
  REQUIRE(sleeps);
  p.signal(SIGINT);
  p.signal(SIGINT);
  REQUIRE(systemd.next() == "STOPPING=1");
  const auto begin = std::chrono::steady_clock::now();
  while (!p.says("left behind", 100ms) && std::chrono::steady_clock::now() - begin < 20s) p.signal(SIGINT);
  CHECK(std::chrono::steady_clock::now() - begin > 800ms);
  CHECK(p.end() == 1);
  CHECK(has(p.said, "channel load/raw -> panel"));
  CHECK(has(p.said, "left behind 1"));
}

TEST_CASE("systemd is told what goes through, and the journal keeps the summary of a quiet run") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  const std::string file = folder.file("load.toml", endless("1ms", "latest", "30s"));
  // A shell makes its standard error the stream that systemd would name.
  const std::string script = "exec 2>" + folder.path() + "/journal; JOURNAL_STREAM=$(stat -Lc %d:%i " +
                             folder.path() + "/journal) exec " + pipeline + " run --quiet " + file;
  program p({"/bin/sh", "-c", script}, {systemd.variable()});
  REQUIRE(systemd.next() == "READY=1");
  std::string told = systemd.status();
  CHECK(told.find(" values/s, 0 restarts") != std::string::npos);
  while (told.starts_with("STATUS=0 ")) told = systemd.status();
  CHECK(told.starts_with("STATUS="));
  p.signal(SIGTERM);
  CHECK(p.end() == 0);
  std::ifstream journal(folder.path() + "/journal");
  const std::string text((std::istreambuf_iterator<char>(journal)), std::istreambuf_iterator<char>());
  CHECK(has(text, "<6>services: channel load/raw -> sum "));
  CHECK(has(text, "<6>services: process load/"));
}

TEST_CASE("systemd's watchdog is fed as often as it asks, by the process that it asks") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  const std::string file = folder.file("load.toml", endless("1ms", "latest", "30s"));
  {
    const auto begin = std::chrono::steady_clock::now();
    program p({pipeline, "run", file}, {systemd.variable(), "WATCHDOG_USEC=40000"});
    REQUIRE(systemd.next() == "READY=1");
    for (int i = 0; i < 16; ++i) CHECK(systemd.next() == "WATCHDOG=1");
    // The first one comes at once, each of the others 20 ms later.
    CHECK(std::chrono::steady_clock::now() - begin >= 15 * 20ms);
    p.signal(SIGTERM);
    std::string told;
    while ((told = systemd.next()) == "WATCHDOG=1") {
    }
    CHECK(told == "STOPPING=1");
    CHECK(p.end() == 0);
  }
  for (const char* other : {"WATCHDOG_PID=1", "WATCHDOG_USEC=x"}) {
    const notify_socket alone(folder.path() + "/" + other);
    program p(
        {pipeline, "run", file},
        {alone.variable(), other, std::string(other) == "WATCHDOG_USEC=x" ? "A=b" : "WATCHDOG_USEC=1000"});
    REQUIRE(alone.next() == "READY=1");
    std::this_thread::sleep_for(30ms);
    p.signal(SIGTERM);
    CHECK(alone.next() == "STOPPING=1");
    CHECK(p.end() == 0);
  }
}
