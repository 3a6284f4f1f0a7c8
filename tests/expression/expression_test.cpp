// SPDX-License-Identifier: BSL-1.0
#include "expression/fixture.hpp"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <limits>

#include "support/alloc_count.hpp"

LEAT_COUNT_ALLOCATIONS();

namespace leat::expression::test {
namespace {

using namespace std::chrono_literals;

const record pump{{"sensor", "pump"}, {"value", 81.5},  {"n", 7},    {"on", true},
                  {"none", {}},       {"took", 1500ms}, {"at", noon}};

TEST_CASE("numbers are computed as people expect") {
  CHECK(result("1 + 2 * 3") == "7");
  CHECK(result("(1 + 2) * 3") == "9");
  CHECK(result("7 / 2") == "3.5");
  CHECK(result("-7 % 3") == "-1");
  CHECK(result("7.5 % 2") == "1.5");
  CHECK(result("2 - 3 - 4") == "-5");
  CHECK(result("--5") == "5");
  CHECK(result("1 < 1.5 && 2 >= 2.0 && 3 != 4") == "true");
  CHECK(result("9007199254740993 == 9007199254740992.0") == "false");
  CHECK(result("-9223372036854775808 < -9223372036854775807") == "true");
  CHECK(result("value > 80 ? \"hot\" : \"cold\"", pump) == "\"hot\"");
  CHECK(result("n > 8 ? 1 : n > 6 ? 2 : 3", pump) == "2");
}

TEST_CASE("an integer never wraps: what overflows is missing and counted") {
  for (const char* const text :
       {"9223372036854775807 + 1", "-9223372036854775808 - 1", "4611686018427387904 * 2",
        "-(-9223372036854775808)", "abs(-9223372036854775808)", "1e308 * 10", "sqrt(-1)", "log(0)",
        "number(\"12x\")", "round(1e300)", "106751d * 2", "moment(\"yesterday\")"}) {
    CAPTURE(text);
    evaluator e = made(text);
    CHECK(shown(e.run({}, {})) == "missing");
    CHECK(e.errors(evaluation_error::range) == 1);
  }
  CHECK(result("-9223372036854775808 % -1") == "0");
}

TEST_CASE("a division by zero is missing and counted") {
  for (const char* const text : {"1 / 0", "1.0 / 0.0", "1 % 0", "1.5 % 0", "5s / 0", "5s / 0s"}) {
    CAPTURE(text);
    evaluator e = made(text);
    CHECK(shown(e.run({}, {})) == "missing");
    CHECK(e.errors(evaluation_error::division_by_zero) == 1);
  }
  CHECK(result("default(1 / 0, 5)") == "5");
}

TEST_CASE("times have the arithmetic of the calendar") {
  CHECK(result("1h30m == 90m && 250ms * 4 == 1s && 1s / 4 == 250ms") == "true");
  CHECK(result("90s / 1m") == "1.5");
  CHECK(result("took * 2", pump) == "\"3s\"");
  CHECK(result("0.5 * 3s") == "\"1.5s\"");
  CHECK(result("now() - at", pump) == "\"0\"");
  CHECK(result("at + 1h > now()", pump) == "true");
  CHECK(result("hour(at) * 10000 + minute(at) * 100 + second(at)", pump) == "120001");
  CHECK(result("year(at) * 10000 + month(at) * 100 + day(at)", pump) == "20251117");
  CHECK(result("weekday(at)", pump) == "1");
  CHECK(result("hour(moment(\"1969-12-31T23:30:00Z\"))") == "23");
  CHECK(result("duration(\"1.5s\") == took", pump) == "true");
}

TEST_CASE("texts") {
  CHECK(result("sensor + \"-\" + text(n)", pump) == "\"pump-7\"");
  CHECK(result("upper(sensor) + lower('ÄB')", pump) == "\"PUMPÄb\"");
  CHECK(result("contains(sensor, \"um\") && starts_with(sensor, 'p') && !ends_with(sensor, 'x')", pump) ==
        "true");
  CHECK(result("length('grün') + length(sensor)", pump) == "8");
  CHECK(result("substring('grün', 2, 1) + substring('grün', 3) + substring('a', 5)") == "\"ün\"");
  CHECK(result("replace('a.b.c', '.', '::')") == "\"a::b::c\"");
  CHECK(result("trim('  x ') == 'x'") == "true");
  CHECK(result("number('12') + number(' 1')") == "missing");
}

TEST_CASE("texts do not grow without end, in one place, in one run or from run to run") {
  const record r{{"t", std::string(700'000, 'a')}, {"n", 1}};
  for (const char* const text :
       {"t + t", "replace(t, 'a', 'bb')", "replace(t + 'b', 'b', t)", "lower(t) + upper(t)", "upper(long)",
        "previous(long)", "previous(n by long)"}) {
    CAPTURE(text);
    evaluator e = made(text);
    record more = r;
    more["long"] = std::string(1'100'000, 'a');
    CHECK(shown(e.run(more, {})) == "missing");
    CHECK(e.errors(evaluation_error::range) == 1);
  }
  CHECK(result("length(t + '-') + length(t + '')", r) == "1400001");
  // As many places as an expression has room for.
  std::string sum = "replace(t, 'a', 'b')";
  for (int i = 0; i < 1000; ++i) sum += "+''";
  evaluator e = made(sum);
  CHECK(shown(e.run(r, {})) == "missing");
  CHECK(e.errors(evaluation_error::range) == 1);
  CHECK(shown(e.run({{"t", "a"}}, {})) == "\"b\"");
  // Each run has another place for its text.
  std::string one = "false";
  for (int i = 0; i < 300; ++i) one += "||n==" + std::to_string(i) + "&&t+''==''";
  evaluator each = made(one);
  const leat::test::alloc_count counted;
  record next = r;
  for (int i = 0; i < 300; ++i) {
    next["n"] = i;
    CHECK(!each.is_true(next, {}));
  }
  CHECK(each.kept_texts() < 3'000'000);
  CHECK(each.errors(evaluation_error::range) == 0);
  CHECK(counted.allocations() > 0);
}

TEST_CASE("to look for a long text in a longer one takes no time to speak of") {
  const std::string a(500'000, 'a');
  const auto start = std::chrono::steady_clock::now();
  CHECK(result("contains(t, p)", {{"t", a + a}, {"p", a + 'b'}}) == "false");
  CHECK(std::chrono::steady_clock::now() - start < 2s);
}

TEST_CASE("functions of numbers") {
  CHECK(result("round(2.5) + floor(-1.5) + ceil(1.2)") == "3");
  CHECK(result("round(3.14159, 2)") == "3.14");
  CHECK(result("least(3, 1.5, 2) + greatest(1, 2)") == "3.5");
  CHECK(result("clamp(value, 0, 80)", pump) == "80");
  CHECK(result("least('b', 'a')") == "\"a\"");
  CHECK(result("pow(2, 10)") == "1024.0");
  CHECK(result("number('1.5') + number('2') + number(on)", pump) == "4.5");
  CHECK(result("kind(n) + kind(value) + kind(none) + kind(nothing)", pump) == "\"integerrealnullmissing\"");
}

TEST_CASE("null and missing are different things") {
  CHECK(result("none is null && none is not missing && nothing is missing && nothing is not null", pump) ==
        "true");
  CHECK(result("none == null && sensor != null", pump) == "true");
  CHECK(result("default(none, 1) + default(nothing, 2) + default(n, 3)", pump) == "10");
  CHECK(result("nothing == null", pump) == "missing");
  evaluator e = made("none + 1");
  CHECK(shown(e.run(pump, {})) == "missing");
  CHECK(e.errors(evaluation_error::wrong_kind) == 1);
}

TEST_CASE("what is missing stays so, unless && or || are settled without it") {
  CHECK(result("nothing + 1", pump) == "missing");
  CHECK(result("nothing > 1", pump) == "missing");
  CHECK(result("!(nothing > 1)", pump) == "missing");
  CHECK(result("nothing > 1 && false", pump) == "false");
  CHECK(result("false && nothing > 1", pump) == "false");
  CHECK(result("nothing > 1 || true", pump) == "true");
  CHECK(result("nothing > 1 || false", pump) == "missing");
  CHECK(result("true && nothing > 1", pump) == "missing");
  CHECK(result("nothing > 1 ? 1 : 2", pump) == "missing");
  CHECK(result("(nothing > 1 ? 1 : 2) is missing", pump) == "true");
}

TEST_CASE("errors are counted by kind, and said in words") {
  evaluator e = made("value / n > 1 || sensor > 5 || default(extra, 0) > 1");
  CHECK(!e.new_error());
  for (int i = 0; i < 3; ++i) CHECK(!e.is_true({{"value", 1}, {"n", 0}, {"sensor", "pump"}}, {}));
  CHECK(e.errors(evaluation_error::division_by_zero) == 3);
  CHECK(e.errors(evaluation_error::wrong_kind) == 3);
  CHECK(e.errors(evaluation_error::missing) == 0);
  CHECK(e.new_error() == evaluation_error::wrong_kind);
  CHECK(e.new_error() == evaluation_error::division_by_zero);
  CHECK(!e.new_error());
  CHECK(e.first_of(evaluation_error::wrong_kind) ==
        "a value of another kind in `sensor > 5`: a text and a whole number");
  CHECK(e.first_of(evaluation_error::division_by_zero) == "a division by zero in `value / n`");
  CHECK(!e.is_true({}, {}));
  CHECK(e.errors(evaluation_error::missing) == 3);
  CHECK(e.first_of(evaluation_error::missing) == "field 'value' is missing");
}

TEST_CASE("in looks into lists, of the expression and of the record") {
  CHECK(result("n in [1, 7.0, 9]", pump) == "true");
  CHECK(result("sensor not in ['fan', 'valve']", pump) == "true");
  CHECK(result("n in []", pump) == "false");
  CHECK(result("n in [1, nothing]", pump) == "missing");
  CHECK(result("n in [7, nothing]", pump) == "true");
  const record r{{"tags", field_list{field_value("a"), field_value(3)}}};
  CHECK(result("'a' in tags && 3.0 in tags && 'b' not in tags && length(tags) == 2", r) == "true");
  const record none{
      {"raw", field_list{field_value(std::numeric_limits<double>::quiet_NaN()), field_value(2)}}};
  CHECK(result("1.5 in raw || 1 in raw || 0 in raw", none) == "false");
  CHECK(result("2 in raw && 2.0 in raw && 3 not in raw", none) == "true");
}

TEST_CASE("paths lead into tables and lists; a field whose name is the whole path comes first") {
  record r;
  r["where"] = record{{"lat", 47.5}, {"odd name", 1}};
  r["raw"] = field_list{field_value(1), field_value(record{{"x", 2}})};
  CHECK(result("where.lat", r) == "47.5");
  CHECK(result("where[\"odd name\"] + raw[0] + raw[1].x", r) == "4");
  CHECK(result("raw[2] is missing && raw[1].y is missing && where.lat.x is missing", r) == "true");
  CHECK(result("field(\"where\").lat", r) == "47.5");
  r["where.lat"] = 1;
  CHECK(result("where.lat", r) == "1");
  CHECK(result("field('pump-1') + 1", {{"pump-1", 1}}) == "2");
  // One name, and two: not the same path.
  const record both{{"a", record{{"b", 1}}}};
  CHECK(result("field('a.b') is missing && a.b == 1", both) == "true");
  CHECK(result("a.b == 1 && field('a.b') is missing", both) == "true");
}

TEST_CASE("fields are found wherever they stand from record to record") {
  evaluator e = made("a * 10 + b");
  CHECK(shown(e.run({{"a", 1}, {"b", 2}}, {})) == "12");
  CHECK(shown(e.run({{"b", 3}, {"a", 4}}, {})) == "43");
  CHECK(shown(e.run({{"x", 0}, {"y", 0}, {"b", 5}, {"a", 6}}, {})) == "65");
  CHECK(shown(e.run({{"b", 7}}, {})) == "missing");
  CHECK(shown(e.run({{"a", 8}, {"b", 9}}, {})) == "89");
}

TEST_CASE("NaN equals nothing and has no place in an order, wherever it comes from") {
  const operand nan = operand::of(std::numeric_limits<double>::quiet_NaN());
  std::string text;
  for (const operand& v : {nan, operand::of(1.5), operand::of(std::int64_t{0}), operand::of(INT64_MIN)}) {
    CHECK(!equal(nan, v));
    CHECK(!equal(v, nan));
    for (const binary b : {binary::lt, binary::le, binary::gt, binary::ge}) {
      evaluation_error why = evaluation_error::none;
      CHECK(apply(b, v, nan, {text, 0}, why).is(kind::missing));
      CHECK(why == evaluation_error::range);
    }
  }
}

TEST_CASE("a number that is none is missing") {
  evaluator e = made("x < 1 || x >= 1");
  CHECK(!e.is_true({{"x", std::numeric_limits<double>::quiet_NaN()}}, {}));
  CHECK(e.errors(evaluation_error::range) == 2);
  CHECK(e.is_true({{"x", std::numeric_limits<double>::infinity()}}, {}));
}

TEST_CASE("an evaluation allocates nothing where no text grows, and is quick") {
  evaluator e = made("value > 80 && sensor == \"pump\"");
  evaluator more = made(
      "upper(sensor) + text(n) == 'PUMP7' && avg(value, 16) > 3 && previous(value) > 0 && rate(value by "
      "sensor) >= 0");
  const record r{{"at", noon}, {"sensor", "pump"}, {"value", 81.5}, {"n", 7}};
  for (int i = 0; i < 20; ++i) (void)more.is_true(r, {.now = noon + i * 1s});
  (void)e.is_true(r, {});
  const leat::test::alloc_count counted;
  int yes = 0;
  constexpr int rounds = 1'000'000;
  double best = 1e9;
  for (int turn = 0; turn < 100; ++turn) {
    const auto start = std::chrono::steady_clock::now();
    for (int i = 0; i < rounds / 100; ++i) yes += e.is_true(r, {});
    const std::chrono::duration<double, std::nano> took = std::chrono::steady_clock::now() - start;
    best = std::min(best, took.count() / (rounds / 100));
  }
  for (int i = 0; i < 100; ++i) (void)more.is_true(r, {.now = noon + (20 + i) * 1s});
  CHECK(counted.allocations() == 0);
  CHECK(yes == rounds);
  MESSAGE("value > 80 && sensor == \"pump\": " << best << " ns a record");
}

}  // namespace
}  // namespace leat::expression::test
