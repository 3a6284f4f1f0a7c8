// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <cmath>

#include "process/messages.hpp"

using namespace plant;
using leat::from_json;
using leat::message_error;
using leat::to_json;

namespace {

template <class T>
std::string refusal(const std::string& text, const leat::message_limits& limits = {}) {
  try {
    (void)from_json<T>(text, limits);
  } catch (const message_error& e) {
    return e.what();
  }
  return "was read";
}

struct own_equality {
  int a = 0;
  friend bool operator==(const own_equality&, const own_equality&) { return false; }
};
LEAT_MESSAGE_AS("by-another-name", own_equality, a);

struct wide {
  int a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac, ad, ae, af,
      ag, ah, ai, aj, ak, al, am, an;
};
LEAT_MESSAGE(wide, a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p, q, r, s, t, u, v, w, x, y, z, aa, ab, ac,
             ad, ae, af, ag, ah, ai, aj, ak, al, am, an);

}  // namespace

TEST_CASE("a message has the name of its type, without the namespace") {
  CHECK(leat::message_name<sample>() == "sample");
  CHECK(leat::message_name<own_equality>() == "by-another-name");
}

TEST_CASE("plain types have names too") {
  CHECK(leat::message_name<std::int32_t>() == "int32");
  CHECK(leat::message_name<double>() == "double");
  CHECK(leat::message_name<std::string>() == "text");
  CHECK(leat::message_name<std::vector<std::optional<sample>>>() == "list of optional sample");
  CHECK(leat::message_name<std::chrono::milliseconds>() == "milliseconds");
}

TEST_CASE("messages are compared field by field, unless they can do it themselves") {
  reading a = full_reading(), b = full_reading();
  CHECK(a == b);
  b.nested[1]->back() = "y";
  CHECK(a != b);
  CHECK(nothing{} == nothing{});
  CHECK_FALSE(own_equality{} == own_equality{});
}

TEST_CASE("JSON is written in the order of the fields") {
  CHECK(to_json(sample{21.5, 7}) == R"({"celsius":21.5,"at_ms":7})");
  CHECK(to_json(nothing{}) == "{}");
  CHECK(to_json(full_reading()) ==
        R"({"ok":true,"i8":-128,"u8":255,"i16":-32768,"u32":4294967295,"i64":-9223372036854775808,)"
        R"("u64":18446744073709551615,"single":0.1,"twice":1e-300,)"
        "\"text\":\"a \\\"quoted\\\" \\\\ line\\n\\t\\u0001 \xc3\xa4 \xf0\x9f\x8c\xa1\","
        R"("how":"by_hand","took":"-1.5s","at":"2025-11-15T08:00:00.25Z","numbers":[1,-2,3],)"
        R"("places":[{"room":"kitchen","floor":0},{"room":"attic","floor":3}],"maybe":-0.5,)"
        R"("where":{"room":"cellar","floor":-1},"nested":[null,["x",""],[]]})");
}

TEST_CASE("what JSON says is read back as it was") {
  CHECK(from_json<reading>(to_json(full_reading())) == full_reading());
  CHECK(from_json<reading>(to_json(reading{})) == reading{});
  CHECK(from_json<nothing>(" { } ") == nothing{});
  const wide w{1,  2,  3,  4,  5,  6,  7,  8,  9,  10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20,
               21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31, 32, 33, 34, 35, 36, 37, 38, 39, 40};
  CHECK(from_json<wide>(to_json(w)) == w);
  CHECK(from_json<tree>(R"({"branches":[{"leaf":2,"branches":[]}],"leaf":1})").branches[0].leaf == 2);
}

TEST_CASE("a list that is read takes the place of what was there") {
  CHECK(from_json<std::vector<int>>("[1, 2 ,3]") == std::vector<int>{1, 2, 3});
  CHECK(from_json<std::vector<int>>(" [ ] ").empty());
}

TEST_CASE("reals that are no numbers are written as texts, and read back") {
  CHECK(to_json(std::nan("")) == "\"NaN\"");
  CHECK(std::isnan(from_json<double>("\"NaN\"")));
  CHECK(from_json<float>(to_json(-std::numeric_limits<float>::infinity())) ==
        -std::numeric_limits<float>::infinity());
  CHECK(from_json<double>("1e-400") == 0.0);
  CHECK(refusal<double>("1e400") == "line 1, column 1: 1e400 does not fit into a double");
  CHECK(refusal<float>("1e39") == "line 1, column 1: 1e39 does not fit into a float");
}

TEST_CASE("moments are read in any zone, and to the nanosecond") {
  using moment = std::chrono::system_clock::time_point;
  const auto same = from_json<moment>("\"2025-11-15T09:30:00.000000001+01:30\"");
  CHECK(to_json(same) == "\"2025-11-15T08:00:00.000000001Z\"");
  CHECK(to_json(moment(std::chrono::nanoseconds(-1))) == "\"1969-12-31T23:59:59.999999999Z\"");
  for (const std::int64_t ns :
       {std::numeric_limits<std::int64_t>::min(), std::numeric_limits<std::int64_t>::max(), std::int64_t{0},
        std::int64_t{951'782'400'000'000'000}}) {
    const moment m{std::chrono::nanoseconds(ns)};
    CHECK(from_json<moment>(to_json(m)) == m);
  }
  for (const char* wrong :
       {"\"2025-02-30T00:00:00Z\"", "\"2025-01-01\"", "\"9999-01-01T00:00:00Z\"", "\"2025-01-01T24:00:00Z\"",
        "\"2025-01-01T00:00:00\"", "\"2025-01-01T00:00:00.Z\""})
    CHECK(refusal<moment>(wrong).find("expected a time like") != std::string::npos);
}

TEST_CASE("a duration must fit its unit") {
  CHECK(from_json<std::chrono::seconds>("\"2m\"") == std::chrono::seconds(120));
  CHECK(refusal<std::chrono::seconds>("\"1500ms\"") ==
        "line 1, column 1: \"1500ms\" does not fit into seconds");
  CHECK(refusal<std::chrono::seconds>("5") ==
        "line 1, column 1: expected a duration like \"250ms\", got a number");
}

TEST_CASE("each error says where, by line, column and field") {
  CHECK(
      refusal<sample>("{\n  \"celsius\": \"warm\"}") ==
      "line 2, column 14: celsius: expected a number, \"NaN\", \"Infinity\" or \"-Infinity\", got \"warm\"");
  CHECK(refusal<std::vector<sample>>(R"([{"celsius":1,"at_ms":2},{"celsius":1,"at_ms":2.5}])") ==
        "line 1, column 47: [1].at_ms: expected a whole number, got 2.5");
  CHECK(refusal<sample>(R"({"celsius":1})") == "line 1, column 13: the field \"at_ms\" is missing");
  CHECK(refusal<sample>(R"({"celsius":1,"celsius":1})") ==
        "line 1, column 14: the field \"celsius\" comes twice");
  CHECK(refusal<sample>(R"({"kelvin":1})") == "line 1, column 2: 'sample' has no field \"kelvin\"");
  CHECK(refusal<std::uint8_t>("256") == "line 1, column 1: 256 is not in the range 0 to 255");
  CHECK(refusal<std::uint8_t>("-1") == "line 1, column 1: -1 is not in the range 0 to 255");
  CHECK(refusal<std::int64_t>("9223372036854775808") ==
        "line 1, column 1: 9223372036854775808 is not in the range -9223372036854775808 to "
        "9223372036854775807");
  CHECK(refusal<int>("99999999999999999999") ==
        "line 1, column 1: 99999999999999999999 does not fit into 64 bits");
  CHECK(refusal<mode>("\"auto\"") ==
        "line 1, column 1: expected one of \"off\", \"on\", \"by_hand\", got \"auto\"");
  CHECK(refusal<bool>("nul") == "line 1, column 1: expected true or false, got \"n\"");
  CHECK(refusal<int>("1 2") == "line 1, column 3: something follows after the end");
  CHECK(refusal<int>("") == "line 1, column 1: expected a number, got the end of the text");
  // Columns are characters.
  CHECK(refusal<std::vector<std::string>>("[\"\xc3\xa4\", 1]") ==
        "line 1, column 7: [1]: expected a text, got a number");
}

TEST_CASE("every text that is cut short is refused") {
  const std::string whole = to_json(full_reading());
  for (std::size_t n = 0; n < whole.size(); ++n)
    CHECK_THROWS_AS((void)from_json<reading>(std::string_view(whole).substr(0, n)), message_error);
}

TEST_CASE("texts that are wrong at any one byte are refused or read, never more") {
  const std::string whole = to_json(full_reading());
  int read = 0;
  for (std::size_t i = 0; i < whole.size(); ++i) {
    for (const char c : {'\0', '"', '\\', '{', '}', '[', ']', ',', '9', '-', '\xff', '\xc3', 'e'}) {
      std::string broken = whole;
      broken[i] = c;
      try {
        (void)from_json<reading>(broken);
        ++read;
      } catch (const message_error& e) {
        CHECK(e.at() <= broken.size());
      }
    }
  }
  CHECK(read > 0);  // another digit, another letter
}

TEST_CASE("what is not quite JSON is refused") {
  for (const char* wrong : {"01", "+1", "1.", ".5", "1e", "- 1", "0x10", "1,", "[1,]", "[1 2]", "{\"a\":1,}"})
    CHECK_THROWS_AS((void)from_json<std::vector<int>>(wrong), message_error);
  for (const char* wrong : {"01", "1.", "1e", "1e+", "-", "NaN", "Infinity"})
    CHECK_THROWS_AS((void)from_json<double>(wrong), message_error);
  for (const char* wrong :
       {"\"\\x\"", "\"\\u12\"", "\"\\u12g4\"", "\"\\ud800\"", "\"\\ud800\\u0041\"", "\"\\udc00\"", "\"a\nb\"",
        "\"\xff\"", "\"\xc0\x80\"", "\"\xed\xa0\x80\"", "\"", "\"\\", "'a'"})
    CHECK_THROWS_AS((void)from_json<std::string>(wrong), message_error);
  CHECK(from_json<std::string>("\"\\ud83c\\udf21\\/\\b\\f\\u00e4\"") == "\xf0\x9f\x8c\xa1/\b\f\xc3\xa4");
}

TEST_CASE("text that is not UTF-8 is written with replacement characters") {
  CHECK(to_json(std::string("a\xff"
                            "b\xc3")) ==
        "\"a\xef\xbf\xbd"
        "b\xef\xbf\xbd\"");
}

TEST_CASE("a reader has limits of depth, elements and bytes") {
  std::string deep;
  for (int i = 0; i < 1000; ++i) deep += R"({"leaf":1,"branches":[)";
  CHECK(refusal<tree>(deep).find("deeper than 64 levels") != std::string::npos);
  CHECK(refusal<std::vector<int>>("[1,2,3,4]", {.elements = 3}) == "line 1, column 8: more than 3 elements");
  CHECK(refusal<std::string>("\"abcdef\"", {.bytes = 5}) ==
        "line 1, column 1: the text has 8 bytes; the limit is 5");
}
