// SPDX-License-Identifier: BSL-1.0
//
// The way of values through services that end by themselves.
#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

class closes : public process {
  out<number> values{this, "values"};
  void run() override {
    values.send({1});
    values.close();
  }
};

}  // namespace

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
