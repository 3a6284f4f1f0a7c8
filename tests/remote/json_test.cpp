// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <cstdint>
#include <limits>
#include <tuple>

#include <leat/remote/json.hpp>

#include "process/json_cases.hpp"

namespace leat::remote {
namespace {

json good(std::string_view text) {
  json_result r = read_json(text);
  CAPTURE(std::string(text));
  CAPTURE(r.error.text);
  REQUIRE(r.value);
  return std::move(*r.value);
}

}  // namespace

TEST_CASE("JSON is read as a tree that knows its place in the text") {
  const std::string text =
      R"( {"pid": 4711, "why": "a\n\u00e9\ud83d\ude00\"", "list": [1, -2.5e1, null, true]} )";
  const json v = good(text);
  CHECK(v.number_of("pid") == 4711);
  CHECK(v.count_of("pid") == 4711);
  CHECK(v.text_of("why") == "a\n\xc3\xa9\xf0\x9f\x98\x80\"");
  REQUIRE(v.list_of("list").size() == 4);
  CHECK(v.list_of("list")[1].number == -25);
  CHECK(v.list_of("list")[1].text == "-2.5e1");
  CHECK(v.list_of("list")[2].what == json::kind::null);
  CHECK(v.list_of("list")[3].flag);
  CHECK(v.find("list")->source(text) == "[1, -2.5e1, null, true]");
  CHECK(v.source(text) == text.substr(1, text.size() - 2));
}

TEST_CASE("a member that is missing, or of another kind, has a default") {
  const json v = good(R"({"a": "text", "b": 1, "b": 2, "c": -1, "d": 1e300})");
  CHECK(v.number_of("a", 7) == 7);
  CHECK(v.text_of("b").empty());
  CHECK(v.flag_of("a", true));
  CHECK(v.list_of("a").empty());
  CHECK(v.texts_of("none").empty());
  CHECK(v.find("none") == nullptr);
  CHECK(v.number_of("b") == 1);  // the first counts
  CHECK(v.count_of("c") == 0);
  CHECK(v.count_of("d") == UINT64_MAX);
  CHECK(good("3").find("a") == nullptr);
}

TEST_CASE("numbers beyond a double are the nearest that there is") {
  CHECK(good("1e400").number == std::numeric_limits<double>::max());
  CHECK(good("-1e400").number == -std::numeric_limits<double>::max());
  CHECK(good("1e-400").number == 0);
  CHECK(good("0." + std::string(500, '0') + "1").number == 0);
}

TEST_CASE("what is not JSON is refused with its place") {
  for (const auto& [text, line, column] : {std::tuple("", 1, 1),
                                           {"{", 1, 2},
                                           {"{\"a\":1,}", 1, 8},
                                           {"[1\n,,]", 2, 2},
                                           {"[1 2]", 1, 4},
                                           {"nul", 1, 1},
                                           {"01", 1, 1},
                                           {"1.", 1, 3},
                                           {"\"a", 1, 3},
                                           {"\"\\x\"", 1, 2},
                                           {"\"\\u12g4\"", 1, 4},
                                           {"\"\xc3\xa9\" x", 1, 5},
                                           {"\"a\tb\"", 1, 3},
                                           {"{a:1}", 1, 2},
                                           {"1 1", 1, 3}}) {
    const std::string given = text;  // a lambda cannot have a binding
    CAPTURE(given);
    const json_result r = read_json(given);
    CHECK_FALSE(r.value);
    CHECK_FALSE(r.error.text.empty());
    CHECK(r.error.line == static_cast<std::size_t>(line));
    CHECK(r.error.column == static_cast<std::size_t>(column));
  }
}

TEST_CASE("a text that is only to be shown may be broken: half of a pair, and bytes that are no UTF-8") {
  CHECK(good(R"("\ud800x")").text == "\xef\xbf\xbdx");
  CHECK(good(R"("\ud800\u0041")").text ==
        "\xef\xbf\xbd"
        "A");
  CHECK(good(R"("\udc00")").text == "\xef\xbf\xbd");
  CHECK(good("\"\xff\xc3\"").text == "\xff\xc3");
  CHECK_FALSE(read_json(R"("\ud800\u00")").value);
}

TEST_CASE("depth has a bound") {
  const auto nested = [](std::size_t n) { return std::string(n, '[') + std::string(n, ']'); };
  CHECK(read_json(nested(json_depth)).value);
  CHECK_FALSE(read_json(nested(json_depth + 2)).value);
  CHECK_FALSE(read_json(std::string(1'000'000, '[')).value);
}

TEST_CASE("a tree has so many values, and is so deep, as who reads it wants") {
  const std::string_view text = R"({"a":[1,{"b":2}],"c":{"d":[3]}})";
  CHECK(read_json(text, {.most_values = 8}).value);
  CHECK(read_json(text, {.most_values = 7}).error.text == "it has more values than are read at a time");
  const json_result flat = read_json(text, {.most_values = 3, .kept_depth = 1});
  REQUIRE(flat.value);
  REQUIRE(flat.value->members.size() == 2);
  CHECK(flat.value->find("a")->what == json::kind::list);
  CHECK(flat.value->find("a")->elements.empty());
  CHECK(flat.value->find("a")->source(text) == R"([1,{"b":2}])");
  CHECK(flat.value->find("c")->source(text) == R"({"d":[3]})");
  CHECK(flat.value->source(text) == text);
  // What is not kept is checked all the same.
  CHECK(read_json(R"({"a":[1,{"b":}]})", {.kept_depth = 0}).error.at == 13);
  CHECK_FALSE(read_json(std::string(70, '[') + std::string(70, ']'), {.kept_depth = 0}).value);
}

TEST_CASE("the well-known cases are sorted as RFC 8259 has them") {
  for (const auto& c : leat::test::accepted_json) {
    CAPTURE(std::string(c.text));
    CHECK(read_json(c.text).value);
  }
  // Up to those of which the RFC leaves it open.
  for (const std::string_view text : leat::test::refused_json) {
    CAPTURE(std::string(text));
    CHECK_FALSE(read_json(text).value);
    if (text == "[\x0c]") break;
  }
}

}  // namespace leat::remote
