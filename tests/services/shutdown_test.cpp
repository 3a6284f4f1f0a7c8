// SPDX-License-Identifier: BSL-1.0
//
// Services that are asked to stop: they drain, or are stopped, insisted on, left behind.
#include <thread>
#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

std::atomic<bool> released{false};
std::atomic<int> objects{0};

// Sits in a declared blocking call until the test lets it go.
class deaf : public process {
  in<number> values{this, "values", optional_port};
  out<number> to{this, "to", optional_port};

 public:
  deaf() { ++objects; }
  ~deaf() override { --objects; }

 private:
  int touched = 0;
  void run() override {
    leat::blocking([this] {
      while (!released) {
        std::this_thread::sleep_for(1ms);
        ++touched;
      }
    });
  }
};

std::atomic<bool> holding{false};

// Takes a value, and neither ends nor enters the runtime any more.
class holds : public process {
  in<number> values{this, "values"};
  void run() override {
    (void)values.recv();
    holding = true;
    for (;;) std::this_thread::sleep_for(1ms);
  }
};

std::atomic<bool> call_may_end{false};

// Takes a value into a declared blocking call, where nobody can put it out.
class holds_in_a_call : public process {
  in<number> values{this, "values"};
  void run() override {
    (void)values.recv();
    leat::blocking([] {
      holding = true;
      while (!call_may_end) std::this_thread::sleep_for(1ms);
    });
  }
};

std::atomic<int> sent{0};

class fills : public process {
  out<number> values{this, "values"};
  void run() override {
    while (values.send({1}) == send_status::sent) ++sent;
  }
};

// Asks for more than it is told to: goes on until it is insisted on.
class stubborn : public process {
  void run() override {
    for (;;) (void)sleep_for(1ms);
  }
};

class failing : public process {
  void run() override { throw std::runtime_error("the sensor is gone"); }
};

}  // namespace

LEAT_PROCESS(deaf, "never ends");
LEAT_PROCESS(holds, "takes one value and keeps it");
LEAT_PROCESS(holds_in_a_call, "takes one value into a blocking call");
LEAT_PROCESS(fills, "counts what it sends");
LEAT_PROCESS(stubborn, "does not listen");
LEAT_PROCESS(failing, "fails");

TEST_CASE("the classes of these tests are right") { CHECK(catalog_problems().empty()); }

TEST_CASE("a sink that stopped reading: the drain limit holds, what was left is listed, the exit code is 1") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "150ms"
[process.source]
use = "fills"
out = { values = "raw" }
[process.sink]
use = "waits"
config = { takes = 10 }
in = { values = "raw" }
[channel.raw]
capacity = 16
)");
  nanoseconds took{};
  sent = 0;
  const ledger l = run_plan(
      p,
      [](const channel<int>& stop) {
        CHECK(eventually([] { return sent == 26; }));
        stop.send(2);
      },
      &took);
  CHECK(took >= 150ms);
  CHECK(took < 10s);
  CHECK(exit_code(l) == 1);
  CHECK_FALSE(l.failed);
  const channel_stats raw = account_of(l, p, "raw").stats;
  CHECK(raw.received == 10);
  CHECK(raw.left == 16);
  CHECK(
      to_text(l, p).find("channel s/raw  sent 26 = received 10 + dropped 0 + left 16  (lost: it was to keep "
                         "them)\n") != std::string::npos);
  CHECK(log.said("service 's' did not drain within 150ms; stopping 'sink'"));
}

TEST_CASE("a process that ignores the stop is insisted on, which is no failure") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "10ms"
[supervisor]
grace = "20ms"
[process.mule]
use = "stubborn"
)");
  const ledger l = run_plan(p, [](const channel<int>& stop) { stop.send(15); });
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "mule").left_behind == 0);
}

TEST_CASE("a process that never ends is left behind after drain and grace, and outlives the host unharmed") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "50ms"
[supervisor]
grace = "50ms"
[runtime]
procs = 2
[process.rock]
use = "deaf"
replicas = 2
[process.after]
use = "noting"
in = { values = "rock.to" }
)");
  nanoseconds took{};
  const ledger l = run_plan(p, [](const channel<int>& stop) { stop.send(15); }, &took);
  CHECK(took >= 50ms + 50ms);
  CHECK(took < 10s);
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "rock").left_behind == 2);
  CHECK(process_of(l, p, "after").left_behind == 0);
  CHECK(log.said("service 's': 'rock/0' and 'rock/1' did not end and are left behind"));
  CHECK(to_text(l, p).find("process s/rock   runs 2, failures 0, left behind 2, longest run ") !=
        std::string::npos);
  released = true;  // whose runtime has ended stays where it is, with its object
}

TEST_CASE("what a process has in hand when it must be put out at the end is told") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "20ms"
[supervisor]
grace = "20ms"
hang = "1h"
[runtime]
procs = 2
grace = "20ms"
[process.source]
use = "counter"
out = { values = "raw" }
[process.rock]
use = "holds"
in = { values = "raw" }
delivery = "at-least-once"
[channel.raw]
capacity = 4
)");
  const ledger l = run_plan(p, [](const channel<int>& stop) {
    CHECK(eventually([] { return holding.load(); }));
    stop.send(15);
  });
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "rock").quarantined == 1);
  CHECK(process_of(l, p, "rock").left_behind == 0);
  CHECK(process_of(l, p, "rock").dead_letters == 1);
  CHECK(log.said("port 'values': a value is given up after "));
  CHECK(log.said("{\"n\":1}"));
}

TEST_CASE("what a process has in hand that is left behind is counted") {
  log_catcher log;
  holding = false;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "20ms"
[supervisor]
grace = "20ms"
[runtime]
procs = 2
grace = "20ms"
[process.source]
use = "counter"
out = { values = "raw" }
[process.rock]
use = "holds_in_a_call"
in = { values = "raw" }
delivery = "at-least-once"
[channel.raw]
capacity = 4
)");
  const ledger l = run_plan(p, [](const channel<int>& stop) {
    CHECK(eventually([] { return holding.load(); }));
    stop.send(15);
  });
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "rock").left_behind == 1);
  CHECK(process_of(l, p, "rock").left_in_hand == 1);
  CHECK(process_of(l, p, "rock").dead_letters == 0);
  CHECK(log.said(
      "process 'rock' (holds_in_a_call, t.toml:14) has 1 value in hand and is left behind: nobody hands it "
      "out again"));
  CHECK(to_text(l, p).find(", left behind 1, values in hand there 1, longest run ") != std::string::npos);
  call_may_end = true;  // before the program ends
}

TEST_CASE("one that was left behind and ends after all does not disturb the service that goes on") {
  log_catcher log;
  const config::plan p = plan_of_files({{"a.toml", R"(
[service]
name = "a"
drain = "10ms"
[supervisor]
grace = "10ms"
[process.rock]
use = "deaf"
[process.bad]
use = "failing"
restart = { burst = 0 }
)"},
                                        {"b.toml", R"(
[service]
name = "b"
[process.source]
use = "counter"
[process.sink]
use = "noting"
in = { values = "source.values" }
)"}});
  released = false;
  const int before = objects;
  const ledger l = run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([&] { return log.said("left behind"); }));
    released = true;
    CHECK(eventually([&] { return objects == before; }));
    const int seen = notes.total;
    CHECK(eventually([&] { return notes.total > seen + 100; }));
    stop.send(15);
  });
  released = false;
  CHECK(exit_code(l) == 1);
  CHECK(account_of(l, p, "source.values").stats.left == 0);
}

TEST_CASE(
    "a second signal, a second later, ends the wait at once, with the sums right and those that run "
    "counted") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "1h"
[runtime]
procs = 2
[process.source]
use = "counter"
out = { values = "raw" }
[process.sink]
use = "waits"
in = { values = "raw" }
[channel.raw]
capacity = 8
)");
  const ledger l = run_plan(p, [](const channel<int>& stop) {
    // Two at once are one wish; one that comes more than a second later is not.
    const time_point begin = now();
    do {
      stop.send(2);
    } while (sleep_for(50ms) != sleep_result::stopped && now() - begin < 10s);
  });
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "sink").left_behind == 1);
}

// LeakSanitizer sees it if they hold each other: news of a successor in a channel that the successor holds.
TEST_CASE("processes that begin after their host has gone are not kept") {
  const config::plan p = plan_of("[service]\nname = \"s\"\n[process.p]\nuse = \"waits\"\nreplicas = 3\n");
  leat::run({.procs = 1}, [&] {
    stop_source at_once;
    at_once.request_stop();
    const ledger l = spawn({.stop = at_once}, [&] { return host(p).run(channel<int>(1)); }).get();
    CHECK(process_of(l, p, "p").runs == 3);
    CHECK(process_of(l, p, "p").left_behind == 3);
  });
}

TEST_CASE("shut down under full load, a block channel loses nothing, time after time") {
  // A runtime each.
  const int rounds = fiber::under_tsan ? 20 : 200;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[runtime]
procs = 2
[process.source]
use = "counter"
out = { values = "raw" }
[process.middle]
use = "relay"
replicas = 2
in = { from = "raw" }
out = { to = "done" }
[process.sink]
use = "noting"
in = { values = "done" }
[process.mirror]
use = "noting"
in = { values = "done" }
[channel.raw]
capacity = 16
[channel.done]
capacity = 4
fanout = "copy"
)");
  for (int round = 0; round < rounds; ++round) {
    const ledger l = run_plan(p, [&](const channel<int>& stop) {
      CHECK(eventually([&] { return notes.total > 20 * (round % 10); }));
      stop.send(15);
    });
    const auto raw = static_cast<int>(account_of(l, p, "raw").stats.sent);
    REQUIRE(exit_code(l) == 0);
    REQUIRE(sorted(notes.of("s/sink")) == from_one(raw));
    REQUIRE(sorted(notes.of("s/mirror")) == from_one(raw));
  }
}
