// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <cmath>
#include <limits>

#include "process/json_cases.hpp"

namespace leat::test {
namespace {

// What was read, written again, or why it was refused.
std::string outcome(as_type type, std::string_view text) {
  return with_type(type, [&]<class T>() -> std::string {
    try {
      return to_json(from_json<T>(text));
    } catch (const message_error& e) {
      return std::string("refused: ") + e.what();
    }
  });
}

std::string repeated(std::string_view what, std::size_t times) {
  std::string all;
  for (std::size_t i = 0; i < times; ++i) all += what;
  return all;
}

}  // namespace

TEST_CASE("each text of the suite that is JSON is read, and written as what it says") {
  for (const json_case& c : accepted_json) {
    CAPTURE(std::string(c.text));
    CHECK(outcome(c.type, c.text) == c.written);
    CHECK(outcome(c.type, c.written) == c.written);
  }
}

TEST_CASE("each text of the suite that is not JSON is refused, whatever it is read as") {
  for (const std::string_view text : refused_json) {
    CAPTURE(std::string(text));
    for (auto t = as_type::record; t <= last_type; t = static_cast<as_type>(static_cast<int>(t) + 1))
      CHECK(outcome(t, text).starts_with("refused: "));
  }
}

TEST_CASE("texts that open a hundred thousand brackets are refused") {
  for (const std::string& text : {repeated("[", 100'000), repeated("[{\"\":", 50'000),
                                  repeated("{\"\":", 50'000), repeated("[", 500) + repeated("]", 500)})
    for (const as_type t : {as_type::record, as_type::lists, as_type::structure})
      CHECK(outcome(t, text).starts_with("refused: "));
}

TEST_CASE("a number is too large or too small by its value, not by how it is written") {
  const std::string zeros(400, '0');
  CHECK(from_json<double>("0." + zeros + "1") == 0.0);
  CHECK(from_json<double>("0." + zeros + "1e+50") == 0.0);
  CHECK(from_json<double>("0." + zeros + "1e+401") == 1.0);
  CHECK(from_json<double>("1" + zeros + "e-400") == 1.0);
  CHECK(std::signbit(from_json<double>("-1e-400")));
  CHECK(from_json<double>("0e99999999999999999999") == 0.0);
  CHECK(outcome(as_type::real, "1" + zeros + "e-1").starts_with("refused: "));
  CHECK(outcome(as_type::real, "1" + zeros).starts_with("refused: "));
  CHECK(outcome(as_type::real, "1e99999999999999999999").starts_with("refused: "));
  CHECK(outcome(as_type::real, "1e-99999999999999999999") == "0.0");
}

TEST_CASE("each float is read back as it was, up to the largest") {
  for (const float f :
       {std::numeric_limits<float>::max(), std::numeric_limits<float>::lowest(),
        std::numeric_limits<float>::min(), std::numeric_limits<float>::denorm_min(), 0.1f, 1e10f}) {
    CAPTURE(f);
    CHECK(from_json<float>(to_json(f)) == f);
  }
  CHECK_THROWS_AS((void)from_json<float>("3.4028236e38"), message_error);
  CHECK(from_json<float>("1e-60") == 0.0f);
}

TEST_CASE("the shortest and the longest duration are read back as they were") {
  for (const nanoseconds d : {nanoseconds::min(), nanoseconds::min() + nanoseconds(1), nanoseconds::max()}) {
    CAPTURE(d.count());
    CHECK(from_json<nanoseconds>(to_json(d)) == d);
  }
}

TEST_CASE("a list may have many records, each within the limits of one") {
  std::vector<record> many(2000);
  for (record& r : many) r = {{"a", 1}, {"b", 2}};
  CHECK(from_json<std::vector<record>>(to_json(many)) == many);
  std::string wide = "{\"a\":0";
  for (int i = 0; i < 1024; ++i) wide += ",\"n" + std::to_string(i) + "\":0";
  CHECK(outcome(as_type::record, wide + "}").find("more than 1024 fields") != std::string::npos);
}

}  // namespace leat::test
