// SPDX-License-Identifier: BSL-1.0
//
// Settings that are changed while a service runs: what is checked, and whom it reaches.
#include <atomic>
#include <optional>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/leat.hpp>
#include <leat/services/describe.hpp>
#include <leat/services/set_settings.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

std::vector<setting_diagnostic> low_below_high(const value& all) {
  const value* const low = all.find("low");
  if (low->get<std::int64_t>() <= all.find("high")->get<std::int64_t>()) return {};
  return {{"`low` is above `high`", low}};
}

std::atomic<int> failures_wanted{0};

// Sends what it has, as low * 1000 + fixed, whenever something is set.
class tunable : public process {
  out<number> seen{this, "seen"};
  setting<int, live> low{this, "low", 1, "", between(0, 100)};
  setting<int, live> high{this, "high", 10, "", between(0, 100)};
  setting<nanoseconds, live> pause{this, "pause", 1s, "", at_least<nanoseconds>(1ms)};
  setting<int> fixed{this, "fixed", 7};
  settings_validator together{this, low_below_high};
  void run() override {
    do {
      if (seen.send({*low * 1000 + *fixed}) != send_status::sent) return;
      if (failures_wanted > 0 && failures_wanted-- > 0) throw std::runtime_error("as wanted");
    } while (low.changes().recv());
  }
};
LEAT_PROCESS(tunable, "can be set");

class hands_over : public process {
  in<number> values{this, "values"};
  void run() override {
    for (const number& v : values) notes.note("sink", v.n);
  }
};
LEAT_PROCESS(hands_over, "notes what it gets");

config::plan of_two_replicas() {
  return plan_of(R"(
[service]
name = "s"
drain = "20ms"
[process.p]
use = "tunable"
replicas = 2
restart = { backoff = ["1ms", "1ms"] }
config = { low = 2 }
out = { seen = "seen" }
[process.sink]
use = "hands_over"
in = { values = "seen" }
[channel.seen]
)");
}

struct change {
  const char* key;
  value to;
};
value table_of(std::initializer_list<change> all) {
  value::table t;
  for (const change& c : all) t.push_back({c.key, {}, c.to});
  return value(std::move(t));
}

struct bench {
  config::plan plan = of_two_replicas();
  const config::process_plan& process = plan.processes[find("p")];
  setting_store store = {};

  std::size_t find(const std::string& name) const {
    std::size_t i = 0;
    while (plan.processes[i].name != name) ++i;
    return i;
  }
  set_outcome set(std::initializer_list<change> all, not_live others = not_live::refuse) {
    return set_settings(*process.type, process.settings, store, table_of(all), others);
  }
  std::string error(std::initializer_list<change> all) {
    const set_outcome o = set(all);
    CHECK(o.set.empty());
    return o.errors.empty() ? "" : o.errors.front().key + ": " + o.errors.front().text;
  }
};

}  // namespace

TEST_CASE("a change is checked as a line of a file is, and told by its key") {
  bench b;
  CHECK(b.error({{"low", value("5")}}).starts_with("low: 'low' must be an integer, not text"));
  CHECK(b.error({{"low", value(101)}}) == "low: 'low' is 101; allowed: 0 to 100");
  CHECK(b.error({{"pause", value(5)}}) ==
        "pause: 'pause' must be a duration such as \"250ms\", not an integer");
  CHECK(b.error({{"pause", value("5 parsecs")}}).starts_with("pause: 'pause' is not a duration"));
  CHECK(b.error({{"pause", value("1us")}}) == "pause: 'pause' is \"1us\"; allowed: at least \"1ms\"");
  CHECK(b.error({{"lov", value(5)}}) == "lov: unknown setting 'lov' of 'tunable'; did you mean 'low'?");
  CHECK(b.error({{"low", value()}}) == "low: 'low' must be given a value");
  CHECK(b.error({}) == ": no setting is given: name each with its value");
  CHECK(b.set({{"low", value(101)}, {"high", value(-1)}}).errors.size() == 2);
  CHECK_FALSE(b.store.all_set());
}

TEST_CASE("settings that depend on one another are checked together, with all that was set before") {
  bench b;
  CHECK(b.error({{"low", value(50)}}) == "low: 'tunable': `low` is above `high`");
  CHECK(b.set({{"low", value(50)}, {"high", value(60)}}).set == std::vector<std::string>{"low", "high"});
  CHECK(b.set({{"low", value(55)}}).set == std::vector<std::string>{"low"});
  CHECK_FALSE(b.error({{"high", value(52)}}).empty());
  CHECK(*b.store.all_set()->find("high") == value(60));
}

TEST_CASE("what is not live is refused with all that comes with it, or kept for a restart") {
  bench b;
  set_outcome o = b.set({{"low", value(3)}, {"fixed", value(8)}});
  CHECK(o.errors.empty());
  CHECK(o.set.empty());
  CHECK(o.not_live == std::vector<std::string>{"fixed"});
  CHECK_FALSE(b.store.all_set());
  o = b.set({{"low", value(3)}, {"fixed", value(8)}}, not_live::keep);
  CHECK(o.set == std::vector<std::string>{"low", "fixed"});
  CHECK(o.not_live == std::vector<std::string>{"fixed"});
  CHECK(*b.store.all_set()->find("fixed") == value(8));
}

TEST_CASE("describe says which settings are live") {
  bench b;
  const std::string text = describe_text(*b.process.type, program_catalog());
  CHECK(text.find("low    integer 0 to 100, default 1, live") != std::string::npos);
  CHECK(text.find("fixed  integer -2147483648 to 2147483647, default 7\n") != std::string::npos);
  const std::string json = describe_json(*b.process.type, false);
  CHECK(json.find("\"name\":\"low\",\"type\":\"integer 0 to 100\",\"required\":false,\"live\":true") !=
        std::string::npos);
}

TEST_CASE("a set reaches all replicas of a process that runs, and those that are restarted") {
  notes.clear();
  failures_wanted = 0;
  const config::plan p = of_two_replicas();
  (void)leat::run(with_procs(2), [&] {
    host h(p);
    channel<int> stop(2);
    auto runs = spawn([&] { return h.run(stop); });
    config::index i = 0;
    while (p.processes[i].name != "p") ++i;
    const auto set = [&](std::initializer_list<change> all, not_live others = not_live::refuse) {
      return set_settings(*p.processes[i].type, p.processes[i].settings, h.settings(i), table_of(all),
                          others);
    };
    const auto count = [](int n) {
      const std::vector<int> all = notes.of("sink");
      return std::count(all.begin(), all.end(), n);
    };
    CHECK(eventually([&] { return count(2007) == 2; }));
    CHECK(set({{"low", value(3)}}).errors.empty());
    CHECK(eventually([&] { return count(3007) == 2; }));
    // Not live: from the next incarnations on.
    CHECK(set({{"fixed", value(8)}}, not_live::keep).errors.empty());
    failures_wanted = 2;
    CHECK(set({{"low", value(4)}}).errors.empty());
    CHECK(eventually([&] { return count(4007) == 2 && count(4008) == 2; }));
    stop.send(15);
    CHECK_FALSE(runs.get().failed);
  });
}
