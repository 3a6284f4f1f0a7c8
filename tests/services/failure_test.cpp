// SPDX-License-Identifier: BSL-1.0
//
// Processes that fail, and what becomes of their service and of the others.
#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

std::atomic<bool> refuse_to_construct{false};

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

}  // namespace

LEAT_PROCESS(failing, "fails");
LEAT_PROCESS(throws_a_number, "fails with no std::exception");
LEAT_PROCESS(will_not_be_made, "whose constructor throws");

TEST_CASE("the classes of these tests are right") { CHECK(catalog_problems().empty()); }

TEST_CASE("a process that fails too often stops its service with a report, and another service goes on") {
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
restart = { burst = 0 }
in = { values = "source.values" }
)"}});
    const ledger l = run_plan(p);
    CHECK(exit_code(l) == 1);
    CHECK(notes.of("good/sink") == from_one(3000));
    CHECK(log.said("process 'probe' (failing, "));
    CHECK(log.said(
        "bad.toml:7) failed: the sensor is gone; 0 restarts in 5m are the limit: its service 'bad' stops"));
    for (const process_account& a : l.processes)
      CHECK(a.failures == (p.processes[a.process].name == "probe" ? 1 : 0));
  }
  SUBCASE("thrown by a constructor") {
    log_catcher log;
    const config::plan p = plan_of_files({{"good.toml", good}, {"bad.toml", R"(
[service]
name = "bad"
[process.gate]
use = "will_not_be_made"
restart = { burst = 0 }
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
    CHECK(log.said(
        "bad.toml:5) failed: no such device; 0 restarts in 5m are the limit: its service 'bad' stops"));
    CHECK(process_of(l, p, "gate").failures == 1);
  }
}

TEST_CASE("an exception that is not a std::exception is reported too") {
  log_catcher log;
  const ledger l = run_plan(
      plan_of("[service]\nname = \"s\"\n[process.p]\nuse = \"throws_a_number\"\nrestart = { burst = 0 }\n"));
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
restart = { burst = 0 }
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
restart = { burst = 0 }
)");
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "alone").failures >= 1);
  CHECK(log.said("failed: it could not be started"));
}
