// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/process/field_path.hpp>

using leat::field_list;
using leat::field_path;
using leat::record;

namespace {

const record sample{{"where", record{{"lat", 54.5}, {"odd name", record{{"b", 1}}}}},
                    {"raw", field_list{7, field_list{8, 9}, record{{"x", 10}}}},
                    {"none", {}},
                    {"a.b", "flat"},
                    {"a", record{{"b", "deep"}, {"c", "deeper"}}}};

std::string at(std::string_view path) {
  const leat::field_value* const v = field_path::parse(path).find(sample);
  return v ? leat::to_json(record{{"v", *v}}) : "missing";
}

std::string why_not(std::string_view path) {
  try {
    (void)field_path::parse(path);
  } catch (const leat::message_error& e) {
    return std::to_string(e.at()) + ' ' + e.what();
  }
  return {};
}

}  // namespace

TEST_CASE("a path leads to a value within tables and lists") {
  CHECK(at("where.lat") == R"({"v":54.5})");
  CHECK(at(R"(where["odd name"].b)") == R"({"v":1})");
  CHECK(at(R"(["where"]["lat"])") == R"({"v":54.5})");
  CHECK(at("raw[0]") == R"({"v":7})");
  CHECK(at("raw[1][1]") == R"({"v":9})");
  CHECK(at("raw[2].x") == R"({"v":10})");
  CHECK(at("raw") == R"({"v":[7,[8,9],{"x":10}]})");
}

TEST_CASE("null is a value, and what is missing is not") {
  CHECK(at("none") == R"({"v":null})");
  for (const char* const path : {"none.x", "none[0]", "where.lon", "raw[3]", "raw.x", "where[0]", "other"})
    CHECK(at(path) == "missing");
}

TEST_CASE("a field that has the point in its name is found first") {
  CHECK(at("a.b") == R"({"v":"flat"})");
  CHECK(at("a.c") == R"({"v":"deeper"})");
  CHECK(at(R"(a["b"])") == R"({"v":"deep"})");
  CHECK(*field_path::literal("a.b").find(sample) == leat::field_value("flat"));
}

TEST_CASE("what is no path is told with its place") {
  CHECK(why_not("") == "0 '', character 1: a path is empty");
  CHECK(why_not("a..b") == "2 'a..b', character 3: the name of a field is missing");
  CHECK(why_not("a.") == "2 'a.', character 3: the name of a field is missing");
  CHECK(why_not("[0]") == "1 '[0]', character 2: a path begins with the name of a field");
  CHECK(why_not("a[x]") == "2 'a[x]', character 3: expected a number, or a name in quotes");
  CHECK(why_not("a[1") == "3 'a[1', character 4: expected ']'");
  CHECK(why_not("a[65536]") == "2 'a[65536]', character 3: an index above 65535");
  CHECK(why_not("a[99999999999999999999999]") ==
        "2 'a[99999999999999999999999]', character 3: an index above 65535");
  CHECK(why_not("a[0]b") == "4 'a[0]b', character 5: expected '.' or '['");
  CHECK(why_not(R"(["a)") == R"(3 '["a', character 4: a name without its closing quote)");
  CHECK(why_not(R"(["\n"])") == R"(3 '["\n"]', character 4: expected \" or \\)");
  // As names of fields they are fine.
  CHECK(field_path::named("a[x]") == field_path::literal("a[x]"));
  CHECK(field_path::named("a.b").steps().size() == 2);
  CHECK(field_path::named("").empty());
}

TEST_CASE("the text of a path is read as the same path") {
  for (const char* const path : {"a", "a.b[3].c", R"(["x.y"][0]["q\"\\"])", R"(a[""].b)"}) {
    const field_path p = field_path::parse(path);
    CHECK(p.text() == path);
    CHECK(leat::field_path_text(p.steps()) == path);
  }
  CHECK(leat::field_path_text(field_path::parse(R"(["a"]["b"])").steps()) == "a.b");
}

TEST_CASE("a path is made, with what is missing on the way") {
  record r;
  field_path::parse("where.lat").make(r) = 54.5;
  field_path::parse("raw[1].x").make(r) = 1;
  CHECK(leat::to_json(r) == R"({"where":{"lat":54.5},"raw":[null,{"x":1}]})");
  r["where"] = "here";
  CHECK_THROWS_WITH_AS(field_path::parse("where.lat").make(r), "field 'where': expected a table, got a text",
                       leat::message_error);
  CHECK_THROWS_WITH_AS(field_path::parse("where[0]").make(r), "field 'where': expected a list, got a text",
                       leat::message_error);
  r["x.y"] = 1;
  field_path::parse("x.y").make(r) = 2;
  CHECK(*r.find("x.y") == leat::field_value(2));
}

TEST_CASE("what is in the way of a value is displaced, and nothing else") {
  const record before{{"where", record{{"id", 7}, {"pos", "home"}, {"raw", field_list{1, 2}}}}};
  const auto with = [&](const char* path) {
    record r = before;
    field_path::parse(path).put(r, 3);
    return leat::to_json(r);
  };
  CHECK(with("where.pos.lat") == R"({"where":{"id":7,"pos":{"lat":3},"raw":[1,2]}})");
  CHECK(with("where.pos[1]") == R"({"where":{"id":7,"pos":[null,3],"raw":[1,2]}})");
  CHECK(with("where.raw[1].x") == R"({"where":{"id":7,"pos":"home","raw":[1,{"x":3}]}})");
  CHECK(with("where.raw.x") == R"({"where":{"id":7,"pos":"home","raw":{"x":3}}})");
  CHECK(with("where[0]") == R"({"where":[3]})");
  record flat{{"where.lon", 1}, {"where", {}}};
  field_path::parse("where.lat").put(flat, 3);
  CHECK(leat::to_json(flat) == R"({"where.lon":1,"where":null,"where.lat":3})");
  record r = before;
  CHECK_THROWS_WITH_AS(field_path().put(r, 3), "a path is empty", leat::message_error);
  CHECK(r == before);
}

TEST_CASE("what a path leads to is removed") {
  record r = sample;
  CHECK(field_path::parse("raw[1]").erase(r));
  CHECK(field_path::parse("where.lat").erase(r));
  CHECK(field_path::parse("a.b").erase(r));
  CHECK_FALSE(field_path::parse("where.lat").erase(r));
  CHECK_FALSE(field_path::parse("none[0]").erase(r));
  CHECK(leat::to_json(r) == R"({"where":{"odd name":{"b":1}},"raw":[7,{"x":10}],"none":null,)"
                            R"("a":{"b":"deep","c":"deeper"}})");
}
