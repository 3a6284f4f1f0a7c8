// SPDX-License-Identifier: BSL-1.0
//
// What is set and injected at the control door: values that are wrong are told as a file would be told, and change
// nothing; of many that are set under load, none is in force that was not accepted.
#include <atomic>
#include <optional>
#include <random>
#include <string>
#include <vector>

#include <leat/leat.hpp>
#include <leat/services/controls.hpp>
#include <leat/services/observer.hpp>

#include "fixture.hpp"

namespace leat::services::test {
namespace {

enum class mode { slow, fast };
LEAT_ENUM(mode, slow, fast);

std::string no_space(const std::string& text) {
  return text.find(' ') == std::string::npos ? "" : "has a space in it";
}
std::vector<setting_diagnostic> low_below_high(const value& all) {
  const value* const low = all.find("low");
  if (low->get<std::int64_t>() <= all.find("high")->get<std::int64_t>()) return {};
  return {{"`low` is above `high`", low}};
}

struct pair_of_limits {
  int first = 1;
  std::string unit = "C";
};
LEAT_SETTINGS(pair_of_limits, (first, leat::between(0, 9)), unit);

struct sample {
  std::string sensor;
  double celsius = 0;
  std::int64_t count = 0;
  bool good = false;
  std::vector<int> last;
  std::optional<std::string> note;
};
LEAT_MESSAGE(sample, sensor, celsius, count, good, last, note);

class tuned : public process {
  in<sample> values{this, "values"};
  setting<int, live> low{this, "low", 1, "", between(0, 100)};
  setting<int, live> high{this, "high", 10, "", between(0, 100)};
  setting<double, live> scale{this, "scale", 1.0, "", between(-2, 2)};
  setting<bool, live> on{this, "on", false, "switches it"};
  setting<std::string, live> name_of{this, "name_of", "x", "", validated_by(no_space)};
  setting<nanoseconds, live> pause{this, "pause", 1s, "", between<nanoseconds>(1ms, 1h)};
  setting<byte_size, live> room{this, "room", byte_size{4096}, "", at_most(byte_size{1 << 20})};
  setting<mode, live> how{this, "how", mode::slow, "how fast"};
  setting<std::vector<int>, live> steps{this, "steps", std::vector<int>{1}, "", between(0, 9)};
  setting<pair_of_limits, live> both{this, "both", pair_of_limits{}, "a structure"};
  setting<std::uint8_t, live> byte{this, "byte", std::uint8_t{7}, ""};
  settings_validator together{this, low_below_high};
  void run() override {
    for (const sample& s : values) notes.note("tuned", static_cast<int>(s.count));
  }
};
LEAT_PROCESS_AS("tuned", tuned, "has a setting of each kind");

class samples : public process {
  out<sample> to{this, "to"};
  void run() override {
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  }
};
LEAT_PROCESS_AS("samples", samples, "sends nothing");

std::string text_with(const std::string& config) {
  return R"(
[service]
name = "s"
drain = "20ms"
[process.from]
use = "samples"
out = { to = "c" }
[process.p]
use = "tuned"
in = { values = "c" }
config = { )" +
         config + " }\n[channel.c]\ninject = true\n";
}

// A host that does not run, and what the door does with it.
struct scene {
  config::plan plan = plan_of(text_with(""));
  host h{plan};
  observer looks{plan, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names()};
  controls door{h, looks};

  control::outcome set(const std::string& json) {
    const control::json_result r = control::read_json(json);
    REQUIRE(r.value);
    return door.set("p", *r.value, false);
  }
  std::string settings() { return door.process("p").json; }
};

std::string error_in(const control::outcome& o) {
  const control::json_result r = control::read_json(o.json);
  return r.value ? std::string(r.value->text_of("error")) : std::string();
}

struct wrong_value {
  const char* key;
  const char* json;
  const char* toml;  // null: the same
};
constexpr wrong_value wrong_values[] = {
    {"low", "\"5\"", nullptr},
    {"low", "101", nullptr},
    {"low", "-1", nullptr},
    {"low", "1.5", nullptr},
    {"low", "true", nullptr},
    {"low", "[1]", nullptr},
    {"low", "{\"a\":1}", "{ a = 1 }"},
    {"low", "\"many\"", nullptr},
    {"low", "50", nullptr},  // above `high`
    {"high", "0", nullptr},  // below `low`
    {"byte", "256", nullptr},
    {"byte", "-1", nullptr},
    {"scale", "2.5", nullptr},
    {"scale", "-3", nullptr},
    {"scale", "\"1.0\"", nullptr},
    {"on", "1", nullptr},
    {"on", "\"true\"", nullptr},
    {"on", "\"yes\"", nullptr},
    {"name_of", "5", nullptr},
    {"name_of", "\"a b\"", nullptr},
    {"name_of", "[\"a\"]", nullptr},
    {"pause", "5", nullptr},
    {"pause", "\"5\"", nullptr},
    {"pause", "\"5 parsecs\"", nullptr},
    {"pause", "\"1us\"", nullptr},
    {"pause", "\"2h\"", nullptr},
    {"room", "\"2M\"", nullptr},
    {"room", "\"big\"", nullptr},
    {"room", "true", nullptr},
    {"how", "\"quick\"", nullptr},
    {"how", "\"fats\"", nullptr},
    {"how", "1", nullptr},
    {"steps", "5", nullptr},
    {"steps", "[1, \"2\"]", nullptr},
    {"steps", "[1, 10]", nullptr},
    {"both", "5", nullptr},
    {"both", "{\"first\":10}", "{ first = 10 }"},
    {"both", "{\"frist\":1}", "{ frist = 1 }"},
    {"lov", "5", nullptr},
    {"nothing_like_it", "\"x\"", nullptr},
};

struct wrong_sample {
  const char* json;
  const char* error;
  int line, column;
};
constexpr wrong_sample wrong_samples[] = {
    {"5", "expected an object", 1, 1},
    {"null", "expected an object", 1, 1},
    {"[]", "expected an object", 1, 1},
    {"\"x\"", "expected an object", 1, 1},
    {"true", "expected an object", 1, 1},
    {"", "", 1, 1},
    {"{", "", 1, 2},
    {"{\"celsius\"", "", 1, 11},
    {"{\"celsius\":", "", 1, 12},
    {"{\"celsius\":}", "celsius", 1, 12},
    {"{\"celsius\":\"warm\"}", "celsius: expected a number", 1, 12},
    {"{\"celsius\":true}", "celsius: expected a number", 1, 12},
    {"{\"celsius\":[1]}", "celsius: expected a number", 1, 12},
    {"{\"celsius\":1e999}", "celsius", 1, 12},
    {"{\"celsius\":1,}", "", 1, 14},
    {"{\"celsius\":1 \"count\":2}", "", 1, 14},
    {"{\"celsius\":1}", "the field \"sensor\" is missing", 1, 13},
    {"{\"count\":1.5}", "count: ", 1, 10},
    {"{\"count\":\"1\"}", "count: ", 1, 10},
    {"{\"count\":9223372036854775808}", "count: ", 1, 10},
    {"{\"count\":null}", "count: ", 1, 10},
    {"{\"good\":1}", "good: ", 1, 9},
    {"{\"good\":\"true\"}", "good: ", 1, 9},
    {"{\"sensor\":5}", "sensor: ", 1, 11},
    {"{\"sensor\":\"a\nb\"}", "sensor", 1, 13},
    {"{\"sensor\":\"\\q\"}", "sensor: an unknown escape", 1, 12},
    {"{\"last\":5}", "last: ", 1, 9},
    {"{\"last\":[1,\"2\"]}", "last[1]: ", 1, 12},
    {"{\"last\":[1,2.5]}", "last[1]: ", 1, 12},
    {"{\n  \"last\": [1,\n 4294967296]}", "last[1]: ", 3, 2},
    {"{\"note\":5}", "note: ", 1, 9},
    {R"({"sensor":"a","celsius":1,"count":1,"good":true,"last":[]} 2)", "something follows after the end", 1,
     60},
    {"{'note':\"x\"}", "", 1, 2},
    {"{note:\"x\"}", "", 1, 2},
};

}  // namespace

TEST_CASE("forty wrong values for set are told as in a file, and change nothing") {
  (void)leat::run(with_procs(1), [] {
    scene s;
    const std::string before = s.settings();
    for (const wrong_value& w : wrong_values) {
      CAPTURE(std::string(w.key) + " = " + w.json);
      const control::outcome o = s.set("{\"" + std::string(w.key) + "\":" + w.json + '}');
      CHECK(o.status == "400 Bad Request");
      const config::checked file = config::check_text(
          "t.toml", "leat = 1\n" + text_with(w.key + std::string(" = ") + (w.toml ? w.toml : w.json)),
          program_catalog());
      REQUIRE_FALSE(file.plan);
      CHECK(error_in(o) == file.found.all().front().text);
      CHECK(s.settings() == before);
    }
    // A good one beside a wrong one is not set either.
    CHECK(s.set(R"({"scale":2,"low":101})").status == "400 Bad Request");
    CHECK(s.settings() == before);
    CHECK(s.set(R"({"scale":2,"low":5})").status == "200 OK");
    CHECK(s.settings() != before);
  });
}

TEST_CASE("thirty wrong values for inject are told with their place, and nothing goes in") {
  (void)leat::run(with_procs(1), [] {
    scene s;
    for (const wrong_sample& w : wrong_samples) {
      CAPTURE(std::string(w.json));
      const control::outcome o = s.door.inject("s/c", w.json, 0);
      CAPTURE(o.json);
      CHECK(o.status == "400 Bad Request");
      const control::json_result r = control::read_json(o.json);
      REQUIRE(r.value);
      CHECK(r.value->text_of("error").starts_with(w.error));
      CHECK(r.value->count_of("line") == static_cast<std::uint64_t>(w.line));
      CHECK(r.value->count_of("column") == static_cast<std::uint64_t>(w.column));
    }
    CHECK(s.h.wires().whole(0).stats().sent == 0);
    CHECK(s.looks.injected() == std::vector<std::uint64_t>{0});
    CHECK(s.door.inject("s/c", R"({"sensor":"a","celsius":1,"count":1,"good":true,"last":[]})", 0).status ==
          "200 OK");
    CHECK(s.h.wires().whole(0).stats().sent == 1);
  });
}

namespace {

std::atomic<std::int64_t> seen_last{0}, seen_wrong{0}, seen_back{0}, seen_changes{0};
std::vector<std::atomic<bool>>* may_be = nullptr;  // by value: it was tried, and is a good one

// Looks at its setting with each value.
class follows : public process {
  in<number> values{this, "values"};
  out<number> to{this, "to"};
  setting<std::int64_t, live> at{this, "at", 0, "", between(0, 1'000'000)};
  void run() override {
    std::int64_t before = 0;
    for (const number& v : values) {
      const std::int64_t now = *at;
      if (now < 0 || now >= static_cast<std::int64_t>(may_be->size()) ||
          !(*may_be)[static_cast<std::size_t>(now)])
        ++seen_wrong;
      if (now < before) ++seen_back;
      if (now != before) ++seen_changes;
      before = now;
      seen_last = now;
      if (to.send(v) != send_status::sent) return;
    }
  }
};
LEAT_PROCESS_AS("follows", follows, "looks at its setting");

}  // namespace

// Good values are numbers that grow, so that one which was replaced must not come back.
TEST_CASE("of a thousand sets under load, only what was accepted is in force, and no value is lost") {
  constexpr int sets = 1000;
  seen_last = seen_wrong = seen_back = seen_changes = 0;
  std::vector<std::atomic<bool>> good(sets + 1);
  good[0] = true;
  may_be = &good;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "60s"
[process.count]
use = "counter"
out = { values = "a" }
[process.p]
use = "follows"
in = { values = "a" }
out = { to = "b" }
[process.sink]
use = "noting"
in = { values = "b" }
[channel.a]
capacity = 16
[channel.b]
capacity = 16
)");
  std::mt19937 chance(7);
  notes.clear();
  ledger l;
  const log_catcher quiet;
  (void)leat::run(with_procs(2), [&] {
    host h(p);
    observer looks(p, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names());
    controls door(h, looks);
    channel<int> stop(2);
    auto runs = spawn([&] { return h.run(stop); });
    std::int64_t accepted = 0;
    const auto set = [&](const std::string& what) {
      const control::json_result r = control::read_json(what);
      REQUIRE(r.value);
      return door.set("p", *r.value, false).status == "200 OK";
    };
    for (int i = 1; i <= sets; ++i) {
      const std::string n = std::to_string(i);
      switch (chance() % 6) {
        case 0: CHECK_FALSE(set("{\"at\":-" + n + "}")); break;
        case 1: CHECK_FALSE(set("{\"at\":\"" + n + "\"}")); break;
        case 2: CHECK_FALSE(set("{\"at\":" + n + ",\"none\":1}")); break;
        default:
          good[static_cast<std::size_t>(i)] = true;
          CHECK(set("{\"at\":" + n + "}"));
          accepted = i;
          break;
      }
      if (chance() % 4 == 0) yield();
    }
    CHECK(eventually([&] { return seen_last == accepted; }));
    stop.send(15);
    l = runs.get();
  });
  may_be = nullptr;
  CHECK(seen_wrong == 0);
  CHECK(seen_back == 0);
  CHECK(seen_changes > 0);
  for (const char* const c : {"a", "b"}) {
    const channel_stats& s = account_of(l, p, c).stats;
    CHECK(s.sent == s.received);
    CHECK(s.dropped == 0);
    CHECK(s.left == 0);
  }
  CHECK(account_of(l, p, "a").stats.sent == account_of(l, p, "b").stats.sent);
  CHECK(notes.of("s/sink") == from_one(static_cast<int>(account_of(l, p, "b").stats.received)));
}

}  // namespace leat::services::test
