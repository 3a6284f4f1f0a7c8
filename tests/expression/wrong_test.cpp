// SPDX-License-Identifier: BSL-1.0
#include "expression/fixture.hpp"
#include "support/paths.hpp"

#include <fstream>
#include <sstream>

namespace leat::expression::test {
namespace {

const std::vector<record_field> known{
    {"sensor", value_kind::text},     {"value", value_kind::real},  {"count", value_kind::integer},
    {"on", value_kind::boolean},      {"at", value_kind::moment},   {"position.lat", value_kind::real},
    {"note", value_kind::text, true}, {"rows", value_kind::list},   {"where", value_kind::table},
    {"where.lat", value_kind::real},  {"points", value_kind::list}, {"points[].name", value_kind::text}};

// A condition over the fields above.
const char* const wrong_ones[] = {
    "",
    "value >",
    "value > 80 &&",
    "value = 80",
    "value > 80 & on",
    "value > 80 and on",
    "not on",
    "(value > 80",
    "value > 80)",
    "value > 80 on",
    "sensor == \"pump",
    "sensor == \"pu\\mp\"",
    "value > 80 # hot",
    "value",
    "value + 1",
    "valu > 80",
    "temperature > 80",
    "sensor > 80",
    "sensor == 80",
    "sensor + 1 == \"a\"",
    "!value",
    "-sensor == 1",
    "on && value",
    "value ? on : on",
    "on ? 1 : \"x\"",
    "1 < value < 5",
    "value > 5x",
    "value > 99999999999999999999",
    "lowr(sensor) == 'a'",
    "lower(value) == 'a'",
    "lower() == 'a'",
    "contains(sensor) ",
    "round(value, 1, 2) > 1",
    "least(value, sensor) > 1",
    "avg(value) > 1",
    "avg(value, count) > 1",
    "min(value, 5.5) > 1",
    "avg(value, 5000) > 1",
    "avg(sensor, 10s) > 1",
    "avg(value, 10s by 5) > 1",
    "avg(value, 10s, sensor) > 1",
    "rate(value, 10s) > 1",
    "sensor in \"pump\"",
    "sensor in [1, 2]",
    "sensor in ['a' 'b']",
    "[1] == value",
    "value is 5",
    "value is not",
    "in > 5",
    "hour(value) > 8",
    "at + at > at",
    "at > 5s",
    "value.x > 5",
    "rows[x] == 1",
    "where.lon > 5",
    "where > 5",
    "where[0] > 5",
    "points[0].name > 5",
    "points[0].nam == 'a'",
    "field(sensor) == 1",
    "vale > 1 && sensr == 'a' && on > 1",
};

TEST_CASE("wrong expressions are told with their places, in words that say what to do") {
  std::string shown;
  for (const std::string source : wrong_ones) {
    CAPTURE(source);
    const compiled c = compile(source, {.wanted = truth, .fields = &known});
    CHECK(!c.result);
    CHECK(!c.found.empty());
    for (const wrong_part& w : c.found) {
      CHECK(w.offset + w.length <= source.size());
      shown += render(source, w);
    }
  }
  std::ostringstream expected;
  expected << std::ifstream(leat::test::in_source("tests/expression/wrong.expected")).rdbuf();
  // After a change of wording; then look at the difference.
  if (::getenv("LEAT_WRITE_EXPECTED"))
    std::ofstream(leat::test::in_source("tests/expression/wrong.expected")) << shown;
  CHECK(shown == expected.str());
}

TEST_CASE("what is not known before it runs is not wrong") {
  CHECK(compile("a + b > c.d[0]", {.wanted = truth}).result);
  CHECK(compile("a", {.wanted = truth}).result);
  CHECK(compile("note == null || position.lat > 5 || default(note, '') == 'x'",
                {.wanted = truth, .fields = &known})
            .result);
  CHECK(compile("where.lat > 1 && points[3].name == 'a' && length(points) > 1 && kind(where) == 'table'",
                {.wanted = truth, .fields = &known})
            .result);
  CHECK(compile("rows[0].x > 1 && 5 in rows", {.wanted = truth, .fields = &known}).result);
}

TEST_CASE("what is nested without end is refused, not run into") {
  CHECK(!compile(std::string(10'000, '(')).result);
  CHECK(!compile(std::string(10'000, '!') + "a").result);
  CHECK(!compile(std::string(10'000, '-') + "1").result);
  CHECK(!compile(std::string(20'000, ' ') + "1").result);
  std::string long_chain = "a0 == 1";
  for (int i = 0; i < 1000; ++i) long_chain += " || a == 1";
  evaluator e = made(long_chain);
  CHECK(!e.is_true({}, {}));
  std::string deep = "x";
  for (int i = 0; i < 5000; ++i) deep = "lower(" + deep;
  CHECK(!compile(deep).result);
  std::string choices = "a ? 1 : ";
  for (int i = 0; i < 11; ++i) choices += choices.substr(0, 4000 / 8);
  CHECK(!compile(choices).result);
}

}  // namespace
}  // namespace leat::expression::test
