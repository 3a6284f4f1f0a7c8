// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/expression.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/process/state_store.hpp>
#include <leat/stock/hold.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

using namespace std::chrono_literals;
using strings = std::vector<std::string>;

record reading(const char* sensor, double v) { return {{"sensor", sensor}, {"value", v}}; }

std::vector<record> sent_through(rig& r, std::vector<record> all, const char* to = "out") {
  const auto in = r.channel("values", all.size() + 1), out = r.channel(to, all.size() + 1);
  r.start();
  for (record& x : all) in.send(std::move(x));
  in.close();
  CHECK(r.wait() == ended::returned);
  return drained(out);
}

TEST_CASE("where passes on the records for which its condition is true, and counts the others") {
  at_procs([] {
    log_reader log;
    {
      rig r("where");
      r.set("keep", "value > 80 && sensor == \"pump\"");
      const auto all = sent_through(r, {reading("pump", 81),
                                        reading("pump", 80),
                                        reading("fan", 99),
                                        {{"sensor", "pump"}},
                                        {{"sensor", "pump"}, {"value", "hot"}},
                                        reading("pump", 100)});
      CHECK(texts_of(all, "value") == strings{"81.0", "100.0"});
      r.destroy();
    }
    CHECK(log.count("where: keep: field 'value' is missing") == 1);
    CHECK(log.count("where: keep: a value of another kind in `value > 80`: a text and a whole number") == 1);
    CHECK(log.has("where: 2 passed, 4 not passed"));
  });
}

TEST_CASE("a wrong expression is refused with its place, also without the check of a file") {
  at_procs([] {
    rig r("where");
    r.set("keep", "value >");
    const auto in = r.channel("values"), out = r.channel("out");
    r.start();
    CHECK(r.failure().find("expected a value, but the expression ends here") != std::string::npos);
  });
}

// AddressSanitizer makes frames several times as large: what fits a stack there says nothing of other builds.
constexpr bool frames_are_large = fiber::under_asan;

TEST_CASE("the deepest expression that is taken fits the stack of a process" *
          doctest::skip(frames_are_large)) {
  std::string deepest = "sensor == 'a'";
  for (std::string next = deepest; expression::compile(next, {.wanted = expression::truth}).result;
       next = "default(previous(" + next + "), true)")
    deepest = next;
  REQUIRE(deepest.size() > 50);
  at_procs([&] {
    rig r("where");
    r.set("keep", deepest);
    CHECK(sent_through(r, {reading("a", 1)}).size() == 1);
    rig wrong("where");
    wrong.set("keep", "default(previous(" + deepest + "), true)");
    const auto in = wrong.channel("values"), out = wrong.channel("out");
    wrong.start();
    CHECK(wrong.failure().find("nested too deeply") != std::string::npos);
  });
}

TEST_CASE("lists and parentheses behind `in` are as deep as other parts" * doctest::skip(frames_are_large)) {
  at_procs([] {
    std::string deepest = "on";
    for (std::string next = deepest; expression::compile(next, {.wanted = expression::truth}).result;
         next = "on in [" + next + "]")
      deepest = next;
    REQUIRE(deepest.size() > 50);
    CHECK(deepest.size() < 130);
    rig r("where");
    r.set("keep", deepest);
    CHECK(sent_through(r, {{{"on", true}}}).size() == 1);
    for (const auto& [open, end] : {std::pair("on in [", "]"), std::pair("on in (", ")")}) {
      std::string deep = "on";
      for (int i = 0; i < 200; ++i) deep = open + deep + end;
      rig wrong("where");
      wrong.set("keep", deep);
      const auto in = wrong.channel("values"), out = wrong.channel("out");
      wrong.start();
      CHECK(wrong.failure().find("nested too deeply") != std::string::npos);
    }
  });
}

value table_of(std::vector<std::pair<std::string, std::string>> all) {
  value::table t;
  for (auto& [name, text] : all) t.push_back({std::move(name), {}, value(std::move(text))});
  return value(std::move(t));
}

TEST_CASE("compute adds fields in order, and takes out what it cannot compute") {
  at_procs([] {
    rig r("compute");
    r.set("set", *table_of({{"double", "value * 2"},
                            {"more", "double + 1"},
                            {"part", "value / n"},
                            {"value", "round(value)"}})
                      .get_if<value::table>());
    const auto all =
        sent_through(r, {{{"value", 1.5}, {"n", 2}}, {{"value", 2.5}, {"n", 0}, {"part", "stale"}}});
    REQUIRE(all.size() == 2);
    CHECK(to_json(all[0]) == R"({"value":2,"n":2,"double":3.0,"more":4.0,"part":0.75})");
    CHECK(to_json(all[1]) == R"({"value":3,"n":0,"double":5.0,"more":6.0})");
  });
}

TEST_CASE("compute sets what a path leads to, and makes no field beside it") {
  at_procs([] {
    rig r("compute");
    r.set("set", *table_of({{"where.lat", "where.lat * 2"},
                            {"where.far", "where.lat > n"},
                            {"new.part", "n"},
                            {"where.gone", "n / 0"}})
                      .get_if<value::table>());
    const auto all = sent_through(
        r, {{{"where", record{{"lat", 1}, {"gone", 3}}}, {"n", 5}}, {{"where.lat", 4}, {"n", 5}}});
    REQUIRE(all.size() == 2);
    CHECK(to_json(all[0]) == R"({"where":{"lat":2,"far":false},"n":5,"new":{"part":5}})");
    CHECK(to_json(all[1]) == R"({"where.lat":8,"n":5,"where.far":true,"new":{"part":5}})");
  });
}

TEST_CASE("compute remembers by key, and goes by the time that records have") {
  at_procs([] {
    rig r("compute");
    r.set("set", *table_of({{"rate", "rate(value)"}, {"last", "previous(value)"}}).get_if<value::table>())
        .set("key", "sensor")
        .set("time", "at");
    const moment t{1h};
    const auto at = [&](const char* sensor, double v, nanoseconds later) {
      record x = reading(sensor, v);
      x["at"] = t + later;
      return x;
    };
    record text = reading("a", 9);
    text["at"] = "1970-01-01T01:00:05Z";
    const auto all = sent_through(r, {at("a", 1, 0s), at("b", 5, 1s), at("a", 3, 4s), at("b", 4, 2s), text});
    CHECK(texts_of(all, "rate") == strings{"-", "-", "0.5", "-1.0", "6.0"});
    CHECK(texts_of(all, "last") == strings{"-", "-", "1.0", "5.0", "3.0"});
  });
}

TEST_CASE("route sends each record to the first port whose condition is true") {
  at_procs([] {
    rig r("route");
    r.set("first", "value > 80").set("second", "sensor == 'fan'");
    const auto second = r.channel("second"), others = r.channel("otherwise");
    const auto hot = sent_through(
        r, {reading("fan", 99), reading("fan", 1), reading("pump", 1), reading("pump", 81)}, "first");
    CHECK(texts_of(hot, "sensor") == strings{"fan", "pump"});
    CHECK(texts_of(drained(second), "value") == strings{"1.0"});
    CHECK(texts_of(drained(others), "sensor") == strings{"pump"});
  });
}

TEST_CASE("a route with a condition and no channel fails, and the other way round") {
  at_procs([] {
    rig r("route");
    r.set("first", "value > 80");
    const auto in = r.channel("values"), others = r.channel("otherwise");
    r.start();
    CHECK(r.failure().find("port 'first' has a condition and no channel") != std::string::npos);
    rig other("route");
    const auto values = other.channel("values"), first = other.channel("first");
    other.start();
    CHECK(other.failure().find("port 'first' has a channel and no condition") != std::string::npos);
  });
}

TEST_CASE("a rule raises and clears with hysteresis, for each key, with its message") {
  at_procs([] {
    rig r("rule");
    r.set("raise", "value > 80").set("clear", "value < 75").set("key", "sensor").set("severity", "critical");
    r.set("message", "{sensor} is at {round(value)} {{C}}");
    const auto all = sent_through(r,
                                  {reading("a", 79),
                                   reading("a", 81),
                                   reading("b", 90),
                                   reading("a", 78),
                                   reading("a", 85),
                                   {{"sensor", "a"}},
                                   reading("a", 74.6),
                                   reading("a", 81)},
                                  "alarms");
    CHECK(texts_of(all, "key") == strings{"a", "b", "a", "a"});
    CHECK(texts_of(all, "state") == strings{"raised", "raised", "cleared", "raised"});
    CHECK(texts_of(all, "message") ==
          strings{"a is at 81 {C}", "b is at 90 {C}", "a is at 75 {C}", "a is at 81 {C}"});
    CHECK(texts_of(all, "severity") == strings{"critical", "critical", "critical", "critical"});
    CHECK(texts_of(all, "rule").front() == "rule");
    CHECK(all[2].find("since") != nullptr);
    CHECK(*all[2].find("since") == *all[0].find("since"));
  });
}

TEST_CASE("a rule that is held is raised when its time is over, without another record") {
  at_procs([] {
    rig r("rule");
    r.set("raise", "value > 80").set("hold", 20ms);
    const auto in = r.channel("values"), alarms = r.channel("alarms");
    r.start();
    const time_point begin = leat::now();
    in.send(reading("a", 90));
    const auto a = alarms.recv_until(patience);
    REQUIRE(a);
    CHECK(leat::now() - begin >= 20ms);
    CHECK(*a->text("state") == "raised");
    in.send(reading("a", 70));
    const auto b = alarms.recv_until(patience);
    REQUIRE(b);
    CHECK(*b->text("state") == "cleared");
    in.close();
    CHECK(r.wait() == ended::returned);
  });
}

TEST_CASE("alarms that stand are still raised after a restart") {
  at_procs([] {
    const auto states = std::make_shared<state_store>();
    for (const bool first : {true, false}) {
      rig r("rule");
      r.set("raise", "value > 80").set("clear", "value < 75").keep_in(states);
      const auto all = sent_through(r, {reading("a", first ? 90.0 : 85.0)}, "alarms");
      CHECK(all.size() == (first ? 1 : 0));
    }
  });
}

TEST_CASE("an alarm that stands is cleared before its key is forgotten") {
  at_procs([] {
    log_reader log;
    rig r("rule");
    r.set("raise", "value > 80").set("clear", "value < 75").set("key", "sensor").set("keys", 2);
    // `b` is not raised, so that it goes before `a`.
    const auto all = sent_through(
        r, {reading("a", 90), reading("b", 1), reading("c", 90), reading("a", 90), reading("d", 1)},
        "alarms");
    CHECK(texts_of(all, "key") == strings{"a", "c", "c"});
    CHECK(texts_of(all, "state") == strings{"raised", "raised", "cleared"});
    CHECK(all.back().text("message")->find("no longer watched") != std::string::npos);
    CHECK(log.has("the alarm of 'c' is no longer watched"));
  });
}

TEST_CASE("alarms that stand and have no place after a restart are cleared") {
  at_procs([] {
    const auto states = std::make_shared<state_store>();
    const auto sent = [&](std::int64_t keys, std::vector<record> all) {
      rig r("rule");
      r.set("raise", "value > 80").set("clear", "value < 75").set("key", "sensor").set("keys", keys);
      r.keep_in(states);
      return sent_through(r, std::move(all), "alarms");
    };
    CHECK(sent(3, {reading("a", 90), reading("b", 90), reading("c", 90)}).size() == 3);
    const auto cleared = sent(1, {reading("c", 80), reading("c", 78)});
    CHECK(texts_of(cleared, "key") == strings{"b", "a"});
    CHECK(texts_of(cleared, "state") == strings{"cleared", "cleared"});
    CHECK(sent(1, {reading("c", 80)}).empty());
  });
}

TEST_CASE("windows in the message of a rule see every record") {
  at_procs([] {
    rig r("rule");
    r.set("raise", "value > 80").set("message", "{count(value, 9)} values, before it {previous(value)}");
    const auto all =
        sent_through(r, {reading("a", 1), reading("a", 2), reading("a", 90), reading("a", 91)}, "alarms");
    CHECK(texts_of(all, "message") == strings{"3 values, before it 2.0"});
  });
}

TEST_CASE("what is held begins anew when a record contradicts it") {
  hold_state s;
  const hold_times t{10s, 5s};
  const time_point begin{1h};
  CHECK(!s.see(true, false, begin, t));
  CHECK(!s.see(false, false, begin + 9s, t));
  CHECK(s.due() == never);
  CHECK(!s.see(true, false, begin + 10s, t));
  CHECK(!s.expire(begin + 19s));
  CHECK(s.expire(begin + 20s));
  CHECK(s.is_raised());
  CHECK(!s.see(false, true, begin + 30s, t));
  CHECK(!s.see(true, true, begin + 34s, t));
  CHECK(!s.see(false, true, begin + 36s, t));
  CHECK(s.see(false, true, begin + 41s, t));
  CHECK(!s.is_raised());
}

}  // namespace
}  // namespace leat::stock::test
