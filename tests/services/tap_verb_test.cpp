// SPDX-License-Identifier: BSL-1.0
//
// `leat tap` at a deployment that runs: what is shown, and what it says of the rest.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "services/deployment.hpp"

using namespace leat::services::test;

namespace {

// A ticker and who reads it; others may send as well.
std::string ticking(const std::string& period) {
  return R"(
[process.tick]
use = "ticker"
config = { period = ")" +
         period + R"(" }
out = { ticks = "a" }
[process.log]
use = "log"
in = { values = "a" }
[channel.a]
inject = true
)";
}

// The number before `what`; of the last one there is.
std::uint64_t number_before(const std::string& text, const std::string& what) {
  const std::size_t end = text.rfind(' ' + what);
  REQUIRE(end != std::string::npos);
  const std::size_t begin = text.find_last_not_of("0123456789", end - 1) + 1;
  return std::stoull(text.substr(begin, end - begin));
}

// Of the last value that is shown.
std::uint64_t last_number(const std::string& text) {
  const std::size_t at = text.rfind('#');
  REQUIRE(at != std::string::npos);
  return std::stoull(text.substr(at + 1));
}

}  // namespace

TEST_CASE("a tap that ends after so many values knows how many it did not show") {
  const deployment d(ticking("1ms"));
  REQUIRE(d.is_up());
  const said s = d.order({"tap", "a", "--count", "3", "--rate", "5"});
  CAPTURE(s.text);
  CHECK(s.status == 0);
  CHECK(number_before(s.text, "shown, ") == 3);
  // Numbers count what passes from the first look on; a value more may have passed before it said so.
  CHECK(3 + number_before(s.text, "not shown\n") >= last_number(s.text));
  CHECK(last_number(s.text) > 3);
}

TEST_CASE("shown, not shown and not matching are what passed") {
  const deployment d(ticking("1d"));
  REQUIRE(d.is_up());
  program tap = d.verb({"tap", "a", "--json", "--where", "count == 7", "--count", "1"});
  const auto inject = [&](int n) {
    const said s = d.order({"inject", "a", "{\"count\":" + std::to_string(n) + "}"});
    CAPTURE(s.text);
    REQUIRE(s.status == 0);
  };
  // Until it looks, which it tells once a second.
  for (int i = 0; i < 500 && !tap.says("not_matching", std::chrono::milliseconds(200)); ++i) inject(-1);
  REQUIRE(tap.says("not_matching", std::chrono::milliseconds(0)));
  for (int i = 0; i < 5; ++i) inject(-2);
  inject(7);
  CHECK(tap.end() == 0);
  CAPTURE(tap.said);
  const std::size_t seq = tap.said.find("\"seq\":");
  REQUIRE(seq != std::string::npos);
  const std::uint64_t passed = std::stoull(tap.said.substr(seq + 6));
  CHECK(passed > 6);
  CHECK(tap.said.find("\n1 shown, 0 not shown, " + std::to_string(passed - 1) + " not matching\n") !=
        std::string::npos);
}

TEST_CASE("a tap that is refused says why, and nothing of what it has shown") {
  const deployment d(ticking("1d"));
  REQUIRE(d.is_up());
  const said s = d.order({"tap", "a", "--where", "count =="});
  CHECK(s.status == 1);
  CHECK(s.text ==
        "leat: plant/a: where: expression:1:9: error: expected a value, but the expression ends here\n"
        "  count ==\n          ^\n");
}
