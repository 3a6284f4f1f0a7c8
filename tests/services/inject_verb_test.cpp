// SPDX-License-Identifier: BSL-1.0
//
// `leat inject` at a deployment that runs: what goes in is accounted for, and what is wrong changes nothing.
#include <doctest/doctest.h>

#include <string>

#include "services/deployment.hpp"

using namespace leat::services::test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

const char* const toml = R"(
[process.tick]
use = "ticker"
config = { period = "1d" }
out = { ticks = "a" }
[process.other]
use = "ticker"
config = { period = "1d" }
out = { ticks = "a" }
[process.log]
use = "log"
in = { values = "a" }
[channel.a]
)";

}  // namespace

TEST_CASE("what is injected is in the log, and in the account as that of a writer") {
  deployment d(toml);
  REQUIRE(d.is_up());
  CHECK(d.order({"inject", "a", "{\"count\":5}"}).status == 0);
  CHECK(d.service.says("channel 'plant/a': 1 value was injected at the control door\n"));
  CHECK(d.order({"inject", "a", "{\"count\":6}"}).status == 0);
  CHECK(d.order({"inject", "a", "nothing"}).status == 1);
  CHECK(d.order({"stop"}).status == 0);
  CHECK(d.service.end() == 0);
  CAPTURE(d.service.said);
  CHECK(has(d.service.said,
            "channel plant/a  sent 2 = received 2 + dropped 0 + left 0  (written by 'inject': 2)\n"));
}

TEST_CASE("the place of a mistake is told once") {
  const deployment d(toml);
  REQUIRE(d.is_up());
  CHECK(d.order({"inject", "a", "5"}).text ==
        "leat: plant/a: expected an object, got a number, at line 1, column 1\n  5\n  ^\n");
}
