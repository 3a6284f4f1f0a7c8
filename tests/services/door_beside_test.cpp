// SPDX-License-Identifier: BSL-1.0
//
// The control door beside what stands still: it answers all the same.
#include <doctest/doctest.h>

#include <string>

#include "control/client.hpp"
#include "services/deployment.hpp"

using namespace leat::services::test;
using leat::control::test::ask;
using leat::control::test::get;
using leat::control::test::status_of;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

// Nobody reads what it writes, so the `log` process waits for room; who looks does not.
TEST_CASE("a log that nobody reads does not shut the door") {
  const deployment d(R"(
[process.tick]
use = "ticker"
config = { period = "100us" }
out = { ticks = "a" }
[process.log]
use = "log"
in = { values = "a" }
hang = "1h"
[channel.a]
capacity = 4
[control]
blame_after = "100ms"
)");
  REQUIRE(d.is_up());
  // The blame is said at once.
  const leat::time_point until = leat::now() + patience;
  std::string state;
  while (!has(state, "holds up tick") && leat::now() < until) {
    state = ask(d.socket(), get("/v1/state"));
    REQUIRE(status_of(state) == "200");
    ::usleep(20'000);
  }
  CAPTURE(state);
  CHECK(has(state, "'log' (log, "));
  CHECK(has(state, " holds up tick: "));
  for (int i = 0; i < 20; ++i)
    for (const char* const path : {"/v1/state", "/ready", "/live", "/metrics"}) {
      CAPTURE(path);
      CHECK(status_of(ask(d.socket(), get(path))) == "200");
    }
  CHECK(d.order({"ps"}).status == 0);
}
