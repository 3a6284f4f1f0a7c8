// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <numeric>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

std::atomic<bool> refuse_to_construct{false};
std::atomic<bool> released{false};
std::atomic<int> objects{0};

class failing : public process {
  in<number> values{this, "values", optional_port};
  setting<int> after{this, "after", 0, "values it takes before"};
  void run() override {
    for (int i = 0; i < after; ++i) (void)values.recv();
    throw std::runtime_error("the sensor is gone");
  }
};

class throws_a_number : public process {
  void run() override { throw 7; }
};

class will_not_be_made : public process {
 public:
  will_not_be_made() {
    if (refuse_to_construct) throw std::runtime_error("no such device");
  }

 private:
  in<number> values{this, "values", optional_port};
  void run() override {}
};

class waits : public process {
  in<number> values{this, "values", optional_port};
  setting<int> takes{this, "takes", 0, "values it takes before"};
  void run() override {
    for (int i = 0; i < takes; ++i) (void)values.recv();
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};

// Neither ends nor enters the runtime until the test lets it.
class deaf : public process {
  in<number> values{this, "values", optional_port};
  out<number> to{this, "to", optional_port};

 public:
  deaf() { ++objects; }
  ~deaf() override { --objects; }

 private:
  int touched = 0;
  void run() override {
    while (!released) {
      std::this_thread::sleep_for(1ms);
      ++touched;
    }
  }
};

// Asks for more than it is told to: goes on until it is insisted on.
class stubborn : public process {
  void run() override {
    for (;;) (void)sleep_for(1ms);
  }
};

class closes : public process {
  out<number> values{this, "values"};
  void run() override {
    values.send({1});
    values.close();
  }
};

std::vector<int> sorted(std::vector<int> v) {
  std::sort(v.begin(), v.end());
  return v;
}
std::vector<int> from_one(int n) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1);
  return v;
}

const process_account& process_of(const ledger& l, const config::plan& p, const std::string& name) {
  for (const process_account& a : l.processes)
    if (p.processes[a.process].name == name) return a;
  throw std::runtime_error("no process " + name);
}

void deaf_ones_end() {
  released = true;
  CHECK(eventually([] { return objects == 0; }));
  released = false;
}

}  // namespace

LEAT_PROCESS(failing, "fails");
LEAT_PROCESS(throws_a_number, "fails with no std::exception");
LEAT_PROCESS(will_not_be_made, "whose constructor throws");
LEAT_PROCESS(waits, "takes some, then waits");
LEAT_PROCESS(deaf, "never ends");
LEAT_PROCESS(stubborn, "does not listen");
LEAT_PROCESS(closes, "closes its own channel");

TEST_CASE("the classes of these tests are right") { CHECK(catalog_problems().empty()); }

TEST_CASE("a finite source ends its service, with every value delivered and exit code 0") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
config = { count = 1000 }
[process.middle]
use = "relay"
in = { from = "source.values" }
[process.sink]
use = "noting"
in = { values = "middle.to" }
)");
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(notes.of("s/sink") == from_one(1000));
  CHECK(account_of(l, p, "source.values").stats.received == 1000);
  CHECK(account_of(l, p, "middle.to").stats.left == 0);
  for (const process_account& a : l.processes) {
    CHECK(a.runs == 1);
    CHECK(a.failures == 0);
  }
}

TEST_CASE("replicas compete: each value goes to one of them, and the channel closes after the last") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
config = { count = 500 }
replicas = 2
[process.middle]
use = "relay"
replicas = 3
in = { from = "source.values" }
[process.sink]
use = "noting"
in = { values = "middle.to" }
)");
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  std::vector<int> twice;
  for (int i = 1; i <= 500; ++i) twice.insert(twice.end(), {i, i});
  CHECK(sorted(notes.of("s/sink")) == twice);
  CHECK(process_of(l, p, "middle").runs == 3);
}

TEST_CASE(
    "each reading process of a copying channel gets all, its replicas compete, a slow one only drops its "
    "own") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "100ms"
[process.source]
use = "counter"
config = { count = 300 }
out = { values = "all" }
[process.one]
use = "noting"
in = { values = "all" }
[process.two]
use = "noting"
replicas = 2
in = { values = "all" }
[process.slow]
use = "waits"
config = { takes = 1 }
in = { values = "all" }
[channel.all]
capacity = 4
fanout = "copy"
reader = { one = "block", two = "block", slow = "drop-oldest" }
)");
  // The slow one waits until it is stopped.
  const ledger l = run_plan(p, [](const channel<int>& stop) {
    CHECK(eventually([] { return notes.total == 600; }));
    stop.send(15);
  });
  CHECK(notes.of("s/one") == from_one(300));
  CHECK(sorted(notes.of("s/two")) == from_one(300));
  const channel_stats slow = account_of(l, p, "all", "slow").stats;
  CHECK(slow.sent == 300);
  CHECK(slow.dropped >= 300 - 1 - 4);
  CHECK(account_of(l, p, "all", "one").stats.received == 300);
  // What is left for a reader that may lose values breaks no promise.
  CHECK(l.promise);
  CHECK(exit_code(l) == 0);
}

TEST_CASE("a port with several channels reads from all, and sends to each") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.low]
use = "counter"
config = { count = 100 }
out = { values = "a" }
[process.high]
use = "counter"
config = { count = 100, first = 101 }
out = { values = "b" }
[process.middle]
use = "relay"
in = { from = ["a", "b"] }
out = { to = ["c", "d"] }
[process.left]
use = "noting"
in = { values = "c" }
[process.right]
use = "noting"
in = { values = "d" }
[channel.a]
[channel.b]
[channel.c]
[channel.d]
)");
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(sorted(notes.of("s/left")) == from_one(200));
  CHECK(notes.of("s/left") == notes.of("s/right"));
}

TEST_CASE("a service reads what another one exports, and ends when that has ended") {
  const config::plan p = plan_of_files({{"maker.toml", R"(
[service]
name = "maker"
[process.source]
use = "counter"
config = { count = 200 }
out = { values = "made" }
[channel.made]
export = true
)"},
                                        {"taker.toml", R"(
[service]
name = "taker"
[process.sink]
use = "noting"
in = { values = "maker/made" }
)"}});
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(notes.of("taker/sink") == from_one(200));
}

TEST_CASE("a failing process stops its service with a report, and another service goes on") {
  const char* const good = R"(
[service]
name = "good"
[process.source]
use = "counter"
config = { count = 3000 }
[process.sink]
use = "noting"
in = { values = "source.values" }
)";
  SUBCASE("thrown by run") {
    log_catcher log;
    const config::plan p = plan_of_files({{"good.toml", good}, {"bad.toml", R"(
[service]
name = "bad"
[process.source]
use = "counter"
[process.probe]
use = "failing"
config = { after = 5 }
in = { values = "source.values" }
)"}});
    const ledger l = run_plan(p);
    CHECK(exit_code(l) == 1);
    CHECK(notes.of("good/sink") == from_one(3000));
    CHECK(log.said("process 'probe' (failing, "));
    CHECK(log.said("bad.toml:7) failed: the sensor is gone; its service 'bad' stops"));
    for (const process_account& a : l.processes)
      CHECK(a.failures == (p.processes[a.process].name == "probe" ? 1 : 0));
  }
  SUBCASE("thrown by a constructor: nothing of the service is started") {
    log_catcher log;
    const config::plan p = plan_of_files({{"good.toml", good}, {"bad.toml", R"(
[service]
name = "bad"
[process.gate]
use = "will_not_be_made"
in = { values = "feed.values" }
[process.feed]
use = "counter"
)"}});
    refuse_to_construct = true;
    const ledger l = run_plan(p);
    refuse_to_construct = false;
    CHECK(exit_code(l) == 1);
    CHECK(notes.of("good/sink") == from_one(3000));
    CHECK(log.said("process 'gate' (will_not_be_made, "));
    CHECK(log.said("bad.toml:5) failed: no such device; its service 'bad' stops"));
    CHECK(process_of(l, p, "feed").runs == 0);
    CHECK(process_of(l, p, "gate").failures == 1);
  }
}

TEST_CASE("an exception that is no std::exception is reported too") {
  log_catcher log;
  const ledger l = run_plan(plan_of("[service]\nname = \"s\"\n[process.p]\nuse = \"throws_a_number\"\n"));
  CHECK(exit_code(l) == 1);
  CHECK(log.said("t.toml:4) failed: an exception that is not a std::exception"));
}

TEST_CASE("readers of a service that could not be made end, since nobody will ever write") {
  log_catcher log;
  const config::plan p = plan_of_files({{"maker.toml", R"(
[service]
name = "maker"
[process.gate]
use = "will_not_be_made"
in = { values = "source.values" }
[process.source]
use = "counter"
[process.other]
use = "counter"
out = { values = "made" }
[channel.made]
export = true
)"},
                                        {"taker.toml", R"(
[service]
name = "taker"
[process.sink]
use = "noting"
in = { values = "maker/made" }
)"}});
  refuse_to_construct = true;
  const ledger l = run_plan(p);
  refuse_to_construct = false;
  CHECK(exit_code(l) == 1);
  CHECK(notes.of("taker/sink").empty());
  CHECK(process_of(l, p, "sink").runs == 1);
}

TEST_CASE("a process that got no thread of its own has failed") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[runtime]
procs = 1
max_threads = 3
[process.alone]
use = "waits"
replicas = 4
thread = { own = true }
)");
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "alone").failures >= 1);
  CHECK(log.said("failed: it could not be started"));
}

TEST_CASE("a process may close its channel itself") {
  log_catcher log;
  const ledger l = run_plan(plan_of(R"(
[service]
name = "s"
[process.source]
use = "closes"
[process.sink]
use = "noting"
in = { values = "source.values" }
)"));
  CHECK(exit_code(l) == 0);
  CHECK(notes.of("s/sink") == from_one(1));
  CHECK(log.text().empty());
}

TEST_CASE("a sink that stopped reading: the drain limit holds, what was left is listed, the exit code is 1") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "150ms"
[process.source]
use = "counter"
out = { values = "raw" }
[process.sink]
use = "waits"
config = { takes = 10 }
in = { values = "raw" }
[channel.raw]
capacity = 16
)");
  nanoseconds took{};
  const ledger l = run_plan(
      p,
      [](const channel<int>& stop) {
        (void)sleep_for(20ms);
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
  CHECK(log.said("service 's' did not drain in time; 1 of its Gs are stopped"));
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
  const ledger l = run_plan(
      p, [](const channel<int>& stop) { stop.send(15); }, &took);
  CHECK(took >= 50ms + 50ms);
  CHECK(took < 10s);
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "rock").left_behind == 2);
  CHECK(process_of(l, p, "after").left_behind == 0);
  CHECK(log.said("service 's': 2 of its Gs do not end; they are left behind"));
  CHECK(to_text(l, p).find("process s/rock   runs 2, failures 0, left behind 2\n") != std::string::npos);
  deaf_ones_end();
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
  const ledger l = run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([&] { return log.said("left behind"); }));
    released = true;
    CHECK(eventually([] { return objects == 0; }));
    const int seen = notes.total;
    CHECK(eventually([&] { return notes.total > seen + 100; }));
    stop.send(15);
  });
  released = false;
  CHECK(exit_code(l) == 1);
  CHECK(account_of(l, p, "source.values").stats.left == 0);
}

TEST_CASE("a second signal ends the wait at once, with the sums right and those that run counted") {
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
    stop.send(2);
    stop.send(2);
  });
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "sink").left_behind == 1);
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
    const auto sent = static_cast<std::size_t>(account_of(l, p, "raw").stats.sent);
    REQUIRE(exit_code(l) == 0);
    REQUIRE(sorted(notes.of("s/sink")) == from_one(static_cast<int>(sent)));
    REQUIRE(sorted(notes.of("s/mirror")) == from_one(static_cast<int>(sent)));
  }
}
