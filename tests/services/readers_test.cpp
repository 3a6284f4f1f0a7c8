// SPDX-License-Identifier: BSL-1.0
//
// Readers that end before their writers do.
#include <leat/process/actor.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

// Takes some, then returns.
class head : public process {
  in<number> values{this, "values"};
  setting<int> takes{this, "takes", 10, "values it takes"};
  void run() override {
    for (int i = 0; i < takes; ++i) {
      const std::optional<number> v = values.recv();
      if (!v) return;
      notes.note(name(), v->n);
    }
  }
};

class careless : public process {
  in<number> from{this, "from"};
  out<number> to{this, "to"};
  void run() override {
    for (const number& v : from) to.send(v);
  }
};

class fails_after : public process {
  in<number> values{this, "values"};
  void run() override {
    for (int i = 0; i < 10; ++i) (void)values.recv();
    throw std::runtime_error("the display is gone");
  }
};

class closes_at_the_end : public process {
  out<number> values{this, "values"};
  void run() override {
    while (values.send({1}) == send_status::sent) {
    }
    values.close();
  }
};

struct question {
  int n = 0;
};
LEAT_MESSAGE(question, n);

std::atomic<int> refused{0};

class asks : public process {
  client<question, number> server{this, "server"};
  void run() override {
    std::optional<number> answer;
    const ask_status s = server.ask({1}, answer, deadline::never());
    if (s == ask_status::failed || s == ask_status::closed) ++refused;
  }
};

// Returns when requests wait, and answers none.
class answers_nobody : public process {
  inbox<ask<question, number>> requests{this, "requests"};
  in<number> leave{this, "leave"};
  void run() override { (void)leave.recv(); }
};

class leaves_late : public process {
  out<number> to{this, "to"};
  void run() override {
    (void)sleep_for(20ms);
    (void)to.send({1});
  }
};

}  // namespace

LEAT_PROCESS(head, "takes some, then ends");
LEAT_PROCESS(careless, "hands on, come what may");
LEAT_PROCESS(fails_after, "takes some, then fails");
LEAT_PROCESS(closes_at_the_end, "closes its channel when nobody wants more");
LEAT_PROCESS(asks, "asks once");
LEAT_PROCESS(answers_nobody, "does not answer");
LEAT_PROCESS(leaves_late, "a while later");

TEST_CASE("the classes of these tests are right") { CHECK(catalog_problems().empty()); }

TEST_CASE(
    "when the last reader has ended the writers end too, all along the chain, and what is left is told") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
out = { values = "a" }
[process.middle]
use = "relay"
in = { from = "a" }
out = { to = "b" }
[process.sink]
use = "head"
in = { values = "b" }
[channel.a]
capacity = 8
[channel.b]
capacity = 4
)");
  for (int round = 0; round < 50; ++round) {
    const ledger l = run_plan(p);
    CHECK(notes.of("s/sink") == from_one(10));
    const channel_stats b = account_of(l, p, "b").stats;
    CHECK(b.received == 10);
    CHECK(b.left == b.sent - 10);
    // Values that a block channel was to keep are lost, unless by chance there were none.
    std::uint64_t left = b.left + account_of(l, p, "a").stats.left;
    CHECK(exit_code(l) == (left > 0 ? 1 : 0));
    CHECK_FALSE(l.failed);
  }
}

TEST_CASE("a writer that does not look whether its values are taken reads on, and all comes to an end") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
config = { count = 500 }
[process.middle]
use = "careless"
in = { from = "source.values" }
[process.sink]
use = "head"
in = { values = "middle.to" }
)");
  const ledger l = run_plan(p);
  CHECK(notes.of("s/sink") == from_one(10));
  CHECK(account_of(l, p, "source.values").stats.received == 500);
}

TEST_CASE("the channel of several replicas closes after the last of them") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
replicas = 2
out = { values = "a" }
[process.sink]
use = "head"
config = { takes = 100 }
replicas = 3
in = { values = "a" }
[channel.a]
capacity = 2
)");
  const ledger l = run_plan(p);
  CHECK(notes.of("s/sink").size() == 300);
  CHECK(account_of(l, p, "a").stats.received == 300);
}

TEST_CASE("of two processes that compete, the channel closes after both") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
out = { values = "a" }
[process.one]
use = "head"
config = { takes = 5 }
in = { values = "a" }
[process.two]
use = "head"
config = { takes = 500 }
in = { values = "a" }
[channel.a]
)");
  const ledger l = run_plan(p);
  CHECK(notes.of("s/one").size() == 5);
  CHECK(notes.of("s/two").size() == 500);
}

TEST_CASE("a copying channel drops the share of a reader that has ended, and closes after the last") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
out = { values = "all" }
[process.one]
use = "head"
config = { takes = 5 }
in = { values = "all" }
[process.two]
use = "head"
config = { takes = 100 }
replicas = 2
in = { values = "all" }
[channel.all]
capacity = 4
fanout = "copy"
)");
  for (int round = 0; round < 50; ++round) {
    const ledger l = run_plan(p);
    CHECK(notes.of("s/one") == from_one(5));
    CHECK(sorted(notes.of("s/two")) == from_one(200));
    const channel_stats one = account_of(l, p, "all", "one").stats;
    CHECK(one.received == 5);
    CHECK(one.left <= 4);
    CHECK(account_of(l, p, "all", "two").stats.received == 200);
  }
}

TEST_CASE("a service whose readers in another one have all ended ends too") {
  const config::plan p = plan_of_files({{"maker.toml", R"(
[service]
name = "maker"
[process.source]
use = "counter"
out = { values = "made" }
[channel.made]
export = true
)"},
                                        {"taker.toml", R"(
[service]
name = "taker"
[process.sink]
use = "head"
in = { values = "maker/made" }
)"}});
  const ledger l = run_plan(p);
  CHECK(notes.of("taker/sink") == from_one(10));
  CHECK(process_of(l, p, "source").left_behind == 0);
}

TEST_CASE("a service that fails does not keep the one that it reads from waiting") {
  log_catcher log;
  const config::plan p = plan_of_files({{"maker.toml", R"(
[service]
name = "maker"
[process.source]
use = "counter"
out = { values = "made" }
[channel.made]
export = true
)"},
                                        {"taker.toml", R"(
[service]
name = "taker"
[process.sink]
use = "fails_after"
restart = { when = "never" }
in = { values = "maker/made" }
)"}});
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 1);
  CHECK(account_of(l, p, "made").stats.received == 10);
}

TEST_CASE("a port that sends to several channels goes on while one of them is read") {
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
config = { count = 300 }
out = { values = ["a", "b"] }
[process.short]
use = "head"
in = { values = "a" }
[process.long]
use = "noting"
in = { values = "b" }
[channel.a]
[channel.b]
)");
  (void)run_plan(p);
  CHECK(notes.of("s/short") == from_one(10));
  CHECK(notes.of("s/long") == from_one(300));
}

TEST_CASE("a writer may close its channel after the readers have gone") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "closes_at_the_end"
[process.sink]
use = "head"
in = { values = "source.values" }
)");
  (void)run_plan(p);
  CHECK(log.text().empty());
}

TEST_CASE("requests that wait when their server ends are answered with failure") {
  refused = 0;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.who]
use = "asks"
replicas = 4
out = { server = "requests" }
[process.server]
use = "answers_nobody"
in = { requests.question = "requests", leave = "later.to" }
[process.later]
use = "leaves_late"
[channel.requests]
capacity = 2
)");
  const ledger l = run_plan(p);
  CHECK(refused == 4);
  const channel_stats s = account_of(l, p, "requests").stats;
  CHECK(s.received == 0);
  CHECK(s.left == s.sent);
}
