// SPDX-License-Identifier: BSL-1.0
//
// Processes that wait only for one another, while others go on.
#include <leat/csp/select.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

std::atomic<bool> goes_on{false};

// Sends all of the first before the second.
class one_after_the_other : public process {
  out<number> first{this, "first"};
  out<number> second{this, "second"};
  void run() override {
    for (int i = 0; i < 100; ++i)
      if (first.send({i}) != send_status::sent) return;
    for (int i = 0; i < 100; ++i)
      if (second.send({i}) != send_status::sent) return;
  }
};

class the_other_way_round : public process {
  in<number> first{this, "first"};
  in<number> second{this, "second"};
  void run() override {
    for (const number& v : second) notes.note(name(), v.n);
    for (const number& v : first) notes.note(name(), v.n);
  }
};

std::atomic<int> learnt{0};

// The first object reads in the wrong order.
class learns : public process {
  in<number> first{this, "first"};
  in<number> second{this, "second"};
  void run() override {
    if (learnt++ == 0)
      for (const number& v : second) notes.note(name(), v.n);
    for (const number& v : first) {
      notes.note(name(), v.n);
      if (v.n == 99) break;
    }
    for (const number& v : second) notes.note(name(), v.n);
  }
};

// Hands on what it selects; waits for both without a deadline.
class joins : public process {
  in<number> a{this, "a"};
  in<number> b{this, "b"};
  out<number> to{this, "to"};
  void run() override {
    const auto hand_on = [&](const number& v) { to.send(v); };
    while (select(on_recv(a, hand_on), on_recv(b, hand_on)) >= 0) {
    }
  }
};

// In a circle like the others, but looks up from time to time.
class looks_up : public process {
  in<number> from{this, "from"};
  out<number> to{this, "to"};
  void run() override {
    std::optional<number> v;
    for (;;) {
      const recv_status s = from.recv(v, deadline(100ms));
      if (s == recv_status::closed || s == recv_status::stopped) return;
      if (goes_on && to.send({1}) != send_status::sent) return;
    }
  }
};

class paced : public process {
  out<number> values{this, "values"};
  void run() override {
    for (int i = 0; values.send({i}) == send_status::sent; ++i)
      if (sleep_for(1ms) == sleep_result::stopped) return;
  }
};

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = 0; (at = text.find(part, at)) != std::string::npos; ++at) ++n;
  return n;
}

const std::string healthy = R"(
[process.clock]
use = "paced"
[process.log]
use = "noting"
in = { values = "clock.values" }
)";

}  // namespace

LEAT_PROCESS(one_after_the_other, "sends in order");
LEAT_PROCESS(the_other_way_round, "reads in another order");
LEAT_PROCESS(learns, "reads in the right order the second time");
LEAT_PROCESS(joins, "joins two");
LEAT_PROCESS(looks_up, "waits with a deadline");
LEAT_PROCESS(paced, "a value each millisecond");

TEST_CASE("the classes of these tests are right") { CHECK(catalog_problems().empty()); }

TEST_CASE("two that wait for each other are told once, in time, with channels, fill and lines") {
  log_catcher log;
  const config::plan p = plan_of("[service]\nname = \"s\"\ndrain = \"20ms\"" + healthy + R"(
[process.writer]
use = "one_after_the_other"
out = { first = "x", second = "y" }
[process.reader]
use = "the_other_way_round"
in = { first = "x", second = "y" }
[channel.x]
capacity = 4
[channel.y]
capacity = 8
)");
  const ledger l = run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([&] { return log.said("receive from channel"); }));
    const int seen = notes.total;
    // The others go on, and it is not told again.
    CHECK(eventually([&] { return notes.total > seen + 100; }));
    (void)sleep_for(1s);
    stop.send(15);
  });
  CHECK(count(log.text(), "deadlock: ") == 1);
  CHECK(log.said("deadlock: 2 processes wait only for one another"));
  CHECK(log.said("process 'writer' (one_after_the_other, t.toml:"));
  CHECK(log.said(") waits to send to channel 's/x' (4 of 4 values, t.toml:"));
  CHECK(log.said(") waits to receive from channel 's/y' (0 of 8 values, t.toml:"));
}

TEST_CASE("on_deadlock = \"restart\" restarts those that wait for one another, and nobody else") {
  log_catcher log;
  const config::plan p =
      plan_of("[service]\nname = \"s\"\ndrain = \"20ms\"\n[supervisor]\non_deadlock = \"restart\"\n" +
              std::string(R"(restart = { burst = 1000, backoff = ["1ms", "1ms"] })") + healthy + R"(
[process.writer]
use = "one_after_the_other"
out = { first = "x", second = "y" }
[process.reader]
use = "the_other_way_round"
in = { first = "x", second = "y" }
[channel.x]
[channel.y]
)");
  const ledger l = run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually(
        [&] { return log.said("restarts in") && log.said("it waited for others that waited for it"); }));
    const int seen = notes.total;
    CHECK(eventually([&] { return notes.total > seen + 100; }));
    stop.send(15);
  });
  CHECK(process_of(l, p, "writer").restarts > 0);
  CHECK(process_of(l, p, "reader").restarts > 0);
  CHECK(process_of(l, p, "clock").restarts == 0);
}

TEST_CASE("what waits with a deadline, sleeps, or is idle behind such a one is not stuck") {
  log_catcher log;
  goes_on = false;
  const config::plan p = plan_of("[service]\nname = \"s\"\ndrain = \"20ms\"" + healthy + R"(
[process.left]
use = "relay"
in = { from = "b" }
out = { to = "a" }
[process.right]
use = "looks_up"
in = { from = "a" }
out = { to = "b" }
[channel.a]
[channel.b]
)");
  (void)run_plan(p, [&](const channel<int>& stop) {
    (void)sleep_for(2500ms);
    stop.send(15);
  });
  CHECK_FALSE(log.said("deadlock"));
}

TEST_CASE("selects, copies and replicas in a circle are seen, and who waits behind it") {
  log_catcher log;
  const config::plan p = plan_of("[service]\nname = \"s\"\ndrain = \"20ms\"" + healthy + R"(
[process.join]
use = "joins"
in = { a = "back", b = "round" }
out = { to = "all" }
[process.left]
use = "relay"
replicas = 2
in = { from = "all" }
out = { to = "back" }
[process.right]
use = "relay"
in = { from = "all" }
out = { to = "round" }
[process.tap]
use = "noting"
in = { values = "all" }
[channel.all]
capacity = 2
fanout = "copy"
[channel.back]
[channel.round]
)");
  // All of them wait for the first value, which only they could send.
  (void)run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([&] { return log.said("behind them: "); }));
    stop.send(15);
  });
  CHECK(log.said("deadlock: 4 processes wait only for one another, and 1 behind them"));
  CHECK(log.said("process 'join' (joins, t.toml:"));
  CHECK(log.said(") waits to receive from channel 's/back' (0 of 64 values, t.toml:"));
  CHECK(log.said("), or to receive from channel 's/round' (0 of 64 values, t.toml:"));
  CHECK(log.said("process 'left/1' (relay, t.toml:"));
  CHECK(log.said("behind them: process 'tap' (noting, t.toml:"));
}

TEST_CASE("on_deadlock = restart: new objects take the places of those that were stuck, values stay") {
  log_catcher log;
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\ndrain = \"20ms\"\n[supervisor]\non_deadlock = \"restart\"" + healthy + R"(
[process.writer]
use = "one_after_the_other"
out = { first = "x", second = "y" }
restart = { burst = 1000, backoff = ["1ms", "1ms"] }
[process.reader]
use = "learns"
in = { first = "x", second = "y" }
restart = { burst = 1000, backoff = ["1ms", "1ms"] }
[channel.x]
capacity = 4
[channel.y]
capacity = 8
)");
  learnt = 0;
  const ledger l = run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([&] { return notes.of("s/reader").size() >= 200; }));
    stop.send(15);
  });
  CHECK(count(log.text(), "deadlock: 2 processes") == 1);
  CHECK(log.said("process 'writer' (one_after_the_other, t.toml:"));
  CHECK(log.said("failed: it waited for others that waited for it; restarts in"));
  CHECK(process_of(l, p, "writer").restarts == 1);
  CHECK(process_of(l, p, "reader").restarts == 1);
  CHECK(process_of(l, p, "clock").restarts == 0);
  // Four were in the channel when the first writer went.
  CHECK(account_of(l, p, "x").stats.received == 104);
}
