// SPDX-License-Identifier: BSL-1.0
//
// delivery = "at-least-once": what was in hand at a failure comes again, and is given up in the end.
#include <algorithm>
#include <functional>
#include <map>
#include <mutex>
#include <numeric>

#include "misbehaving.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

// Notes each value, and fails on those that the test says.
std::function<bool(int n)> poison;
std::atomic<int> poisoned{0};

void take(const std::string& who, int n) {
  if (poison(n)) {
    ++poisoned;
    throw std::runtime_error("poison " + std::to_string(n));
  }
  notes.note(who, n);
}

class fussy : public process {
  in<number> values{this, "values"};
  void run() override {
    for (const number& v : values) take(name(), v.n);
  }
};

class fussy_select : public process {
  in<number> left{this, "left"};
  in<number> right{this, "right"};
  void run() override {
    while (select(on_recv(left, [&](const number& v) { take(name(), v.n); }),
                  on_recv(right, [&](const number& v) { take(name(), v.n); })) >= 0) {
    }
  }
};

class fussy_actor : public process {
  inbox<number> box{this, "box"};
  void run() override {
    box.handle([&](const number& v) { take(name(), v.n); });
  }
};

std::atomic<bool> second_in_hand{false};
std::atomic<bool> source_done{false};

// Three numbers once and for all, however often it is started.
class three_once : public process {
  out<number> values{this, "values"};
  state<bool> has{this, "has"};
  void run() override {
    if (has.load()) return;
    for (int i = 1; i <= 3; ++i) (void)values.send({i});
    has.save(true);
    source_done = true;
  }
};

// Fails when nobody but the reader has anything left to do, so that what the others' restarts bring is certain.
class failing_once : public process {
  state<bool> has{this, "has"};
  void run() override {
    if (has.load()) return;
    has.save(true);
    CHECK(eventually([] { return second_in_hand.load() && source_done.load(); }));
    throw std::runtime_error("once");
  }
};

struct question {
  int n = 0;
};
LEAT_MESSAGE(question, n);

class answers : public process {
  inbox<ask<question, number>> box{this, "box"};
  void run() override {
    box.handle([](const question& q, reply<number> answer) { answer(number{q.n}); });
  }
};
class asks : public process {
  client<question, number> to{this, "to"};
  void run() override {}
};

// The end of the second does not return before the fourth has been received.
struct clinging {
  int n = 0;
  clinging() = default;
  clinging(const clinging& other) = default;
  clinging(clinging&& other) noexcept : n(std::exchange(other.n, 0)) {}
  clinging& operator=(const clinging&) = default;
  ~clinging() {
    while (n == 2 && clings) cpu_pause();
  }
  static inline std::atomic<bool> clings{false};
};
LEAT_MESSAGE(clinging, n);

class makes_clinging : public process {
  out<clinging> values{this, "values"};
  void run() override {
    for (int i = 1; i <= 4; ++i) {
      clinging c;
      c.n = i;
      (void)values.send(std::move(c));
    }
  }
};

class refuses_one : public process {
  in<clinging> values{this, "values"};
  bool refused = false;
  void run() override {
    for (const clinging& v : values) {
      if (v.n == 2) {
        refused = true;
        throw std::runtime_error("that one");
      }
      notes.note(name(), v.n);
      if (v.n == 4) clinging::clings = false;
    }
  }

 public:
  ~refuses_one() override {
    if (refused) clinging::clings = true;
  }
};

std::vector<int> from_one_but(int n, const std::vector<int>& without = {}) {
  std::vector<int> v(static_cast<std::size_t>(n));
  std::iota(v.begin(), v.end(), 1);
  for (const int w : without) v.erase(std::find(v.begin(), v.end(), w));
  return v;
}

ledger run_poisoned(const config::plan& p, std::function<bool(int)> which) {
  poison = std::move(which);
  poisoned = 0;
  return run_plan(p);
}

const char* const at_least_once =
    "delivery = \"at-least-once\"\nrestart = { burst = 1000000, backoff = [\"0\", \"0\"] }\n";

std::string source_and(const std::string& reader, int count = 100) {
  return "[service]\nname = \"s\"\n[process.source]\nuse = \"counter\"\nconfig = { count = " +
         std::to_string(count) + " }\nout = { values = \"c\" }\n[channel.c]\n" + reader;
}

}  // namespace

LEAT_PROCESS(fussy, "takes what is no poison");
LEAT_PROCESS(fussy_select, "the same, with select");
LEAT_PROCESS(fussy_actor, "the same, as an actor");
LEAT_PROCESS(three_once, "sends three numbers, the first time");
LEAT_PROCESS(failing_once, "fails the first time");
LEAT_PROCESS(answers, "answers");
LEAT_PROCESS(asks, "asks");
LEAT_PROCESS(makes_clinging, "sends four");
LEAT_PROCESS(refuses_one, "fails at one value");

TEST_CASE("the value in hand at a failure is handed to the next incarnation first") {
  log_catcher log;
  const config::plan p = plan_of(
      source_and(std::string("[process.sink]\nuse = \"fussy\"\nin = { values = \"c\" }\n") + at_least_once));
  std::map<int, int> failures;
  // Each tenth fails twice, then passes.
  const ledger l = run_poisoned(p, [&](int n) { return n % 10 == 0 && ++failures[n] <= 2; });
  CHECK(exit_code(l) == 0);
  CHECK(notes.of("s/sink") == from_one_but(100));
  CHECK(process_of(l, p, "sink").failures == 20);
  CHECK(process_of(l, p, "sink").redelivered == 20);
  CHECK(process_of(l, p, "sink").dead_letters == 0);
  CHECK(account_of(l, p, "c").stats.received == 100);
  CHECK(to_text(l, p).find("restarts 20, redelivered 20, longest run ") != std::string::npos);
}

TEST_CASE("without it, the value in hand at a failure is lost, and only that") {
  log_catcher log;
  const config::plan p = plan_of(source_and(
      "[process.sink]\nuse = \"fussy\"\nin = { values = \"c\" }\nrestart = { backoff = [\"0\", \"0\"] }\n"));
  const ledger l = run_poisoned(p, [](int n) { return n == 50; });
  CHECK(notes.of("s/sink") == from_one_but(100, {50}));
  CHECK(process_of(l, p, "sink").redelivered == 0);
  CHECK(account_of(l, p, "c").stats.received == 100);
}

TEST_CASE("a poison value among a hundred thousand: it alone is dead-lettered, all others come in order") {
  log_catcher log;
  const int count = fiber::under_tsan ? 10000 : 100000;
  const config::plan p = plan_of(
      source_and(std::string("[process.sink]\nuse = \"fussy\"\nin = { values = \"c\" }\nattempts = 3\n") +
                     "dead_letter = \"dead\"\n" + at_least_once +
                     "[channel.dead]\n[process.morgue]\nuse = \"noting\"\nin = { values = \"dead\" }\n",
                 count));
  const int bad = count / 2 + 17;
  const ledger l = run_poisoned(p, [&](int n) { return n == bad; });
  CHECK(poisoned == 3);
  CHECK(notes.of("s/morgue") == std::vector<int>{bad});
  CHECK(notes.of("s/sink") == from_one_but(count, {bad}));
  CHECK(process_of(l, p, "sink").redelivered == 2);
  CHECK(process_of(l, p, "sink").dead_letters == 1);
  CHECK(account_of(l, p, "dead").stats.sent == 1);
  CHECK(exit_code(l) == 0);
  CHECK(log.said("port 'values': a value is given up after 3 failures; it goes to 'dead'"));
}

TEST_CASE("without a channel for them, values that are given up are logged in full") {
  log_catcher log;
  const config::plan p = plan_of(
      source_and(std::string("[process.sink]\nuse = \"fussy\"\nin = { values = \"c\" }\nattempts = 1\n") +
                 at_least_once));
  const ledger l = run_poisoned(p, [](int n) { return n == 7 || n == 9; });
  CHECK(process_of(l, p, "sink").dead_letters == 2);
  CHECK(process_of(l, p, "sink").redelivered == 0);
  CHECK(log.said(
      "process 'sink' (fussy, t.toml:9), port 'values': a value is given up after 1 failure: {\"n\":7}"));
  CHECK(log.said("{\"n\":9}"));
}

TEST_CASE("what no other incarnation will take is given up, not lost in silence") {
  log_catcher log;
  const config::plan p = plan_of(
      source_and("[process.sink]\nuse = \"fussy\"\nin = { values = \"c\" }\ndelivery = \"at-least-once\"\n"
                 "restart = { burst = 1, backoff = [\"0\", \"0\"] }\n"));
  const ledger l = run_poisoned(p, [](int n) { return n == 3; });
  CHECK(exit_code(l) == 1);
  CHECK(process_of(l, p, "sink").redelivered == 1);
  CHECK(process_of(l, p, "sink").dead_letters == 1);
  CHECK(log.said("{\"n\":3}"));
}

TEST_CASE("a value whose own code does not return is given up without the host, which goes on") {
  log_catcher log;
  const config::plan p = plan_of(
      std::string("[service]\nname = \"s\"\n[process.source]\nuse = \"makes_clinging\"\nout = { values = "
                  "\"c\" }\n[channel.c]\n[process.sink]\nuse = \"refuses_one\"\nin = { values = \"c\" }\n"
                  "attempts = 1\n") +
      at_least_once);
  const ledger l = run_plan(p);
  CHECK(notes.of("s/sink") == std::vector<int>{1, 3, 4});
  CHECK(process_of(l, p, "sink").dead_letters == 1);
  CHECK(log.said("a value is given up after 1 failure: {\"n\":2}"));
  CHECK(log.said("its copy, move or destructor fails or does not return"));
}

TEST_CASE("it holds with select, inboxes, several channels at a port, replicas and copies") {
  log_catcher log;
  std::mutex lock;
  std::map<int, int> failures;
  const auto twice_each_tenth = [&](int n) {
    std::lock_guard hold(lock);
    return n % 10 == 0 && ++failures[n] <= 2;
  };
  SUBCASE("select") {
    const config::plan p = plan_of(std::string(R"(
[service]
name = "s"
[process.low]
use = "counter"
config = { count = 100 }
[process.high]
use = "counter"
config = { count = 100, first = 101 }
[process.sink]
use = "fussy_select"
in = { left = "low.values", right = "high.values" }
)") + at_least_once);
    const ledger l = run_poisoned(p, twice_each_tenth);
    CHECK(sorted(notes.of("s/sink")) == from_one_but(200));
    CHECK(process_of(l, p, "sink").redelivered == 40);
  }
  SUBCASE("an inbox") {
    const config::plan p = plan_of(source_and(
        std::string("[process.sink]\nuse = \"fussy_actor\"\nin = { box.number = \"c\" }\n") + at_least_once));
    const ledger l = run_poisoned(p, twice_each_tenth);
    CHECK(notes.of("s/sink") == from_one_but(100));
    CHECK(process_of(l, p, "sink").redelivered == 20);
  }
  SUBCASE("several channels") {
    const config::plan p = plan_of(std::string(R"(
[service]
name = "s"
[process.low]
use = "counter"
config = { count = 100 }
[process.high]
use = "counter"
config = { count = 100, first = 101 }
[process.sink]
use = "fussy"
in = { values = ["low.values", "high.values"] }
)") + at_least_once);
    const ledger l = run_poisoned(p, twice_each_tenth);
    CHECK(sorted(notes.of("s/sink")) == from_one_but(200));
    CHECK(process_of(l, p, "sink").redelivered == 40);
  }
  SUBCASE("replicas") {
    const config::plan p = plan_of(
        source_and(std::string("[process.sink]\nuse = \"fussy\"\nreplicas = 3\nin = { values = \"c\" }\n") +
                   at_least_once));
    const ledger l = run_poisoned(p, twice_each_tenth);
    CHECK(sorted(notes.of("s/sink")) == from_one_but(100));
    CHECK(process_of(l, p, "sink").redelivered == 20);
    CHECK(exit_code(l) == 0);
  }
  SUBCASE("copies") {
    const config::plan p = plan_of(
        "[service]\nname = \"s\"\n[process.source]\nuse = \"counter\"\nconfig = { count = 100 }\n"
        "out = { values = \"c\" }\n[channel.c]\nfanout = \"copy\"\n[process.other]\nuse = \"noting\"\n"
        "in = { values = \"c\" }\n[process.sink]\nuse = \"fussy\"\nin = { values = \"c\" }\n" +
        std::string(at_least_once));
    const ledger l = run_poisoned(p, twice_each_tenth);
    CHECK(notes.of("s/sink") == from_one_but(100));
    CHECK(notes.of("s/other") == from_one_but(100));
    CHECK(process_of(l, p, "sink").redelivered == 20);
  }
}

TEST_CASE(
    "a value that was in hand when a process was stopped with others comes again, and is not held against "
    "it") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "three_once"
out = { values = "c" }
[channel.c]
[process.sink]
use = "acts"
in = { values = "c" }
delivery = "at-least-once"
attempts = 1
[process.bad]
use = "failing_once"
restart = { strategy = "one-for-all", backoff = ["0", "0"] }
)");
  std::vector<int> got;
  second_in_hand = false;
  source_done = false;
  act_runs = 0;
  act = [&](int run, const in<number>& values) {
    for (const number& v : values) {
      got.push_back(v.n);
      if (v.n == 2) second_in_hand = true;
      if (run == 1 && v.n == 2)
        while (sleep_for(1h) != sleep_result::stopped) {
        }
    }
  };
  const ledger l = run_plan(p);
  CHECK(got == std::vector<int>{1, 2, 2, 3});
  CHECK(process_of(l, p, "sink").redelivered == 1);
  CHECK(process_of(l, p, "sink").dead_letters == 0);
}

TEST_CASE("values that cannot be copied cannot be delivered at least once, which the check says") {
  const config::checked c = config::check_text("t.toml", R"(leat = 1
[service]
name = "s"
[process.one]
use = "asks"
out = { to = "c" }
[process.other]
use = "answers"
in = { box.question = "c" }
delivery = "at-least-once"
[channel.c]
)",
                                               program_catalog());
  CHECK_FALSE(c.plan);
  const std::string said = render(c.found, c.sources);
  INFO(said);
  CHECK(said.find(
            "t.toml:10:12: error: port 'box.question' takes requests, which cannot be copied, and so not be "
            "delivered at least once") == 0);
}
