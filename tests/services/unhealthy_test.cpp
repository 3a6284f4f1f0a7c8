// SPDX-License-Identifier: BSL-1.0
//
// A deployment that runs, but not well: what is said of processes that only restart.
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

// Of two whose child ends at once, one tries again soon and the other in an hour.
const char* const toml = R"(
[process.tick]
use = "ticker"
config = { period = "5ms" }
out = { ticks = "a" }
[process.again]
use = "exec"
config = { command = ["false"], format = "json" }
in = { values = "a" }
restart = { backoff = ["100ms", "100ms"], burst = 1000 }
[process.tock]
use = "ticker"
config = { period = "5ms" }
out = { ticks = "b" }
[process.away]
use = "exec"
config = { command = ["false"], format = "json" }
in = { values = "b" }
restart = { backoff = ["1h", "1h"] }
[channel.a]
capacity = 4
[channel.b]
capacity = 4
)";

// The first answer to a request that has all of these, or the last one.
std::string until_it_has(const std::string& socket, const std::string& target,
                         const std::vector<std::string>& parts) {
  const leat::time_point until = leat::now() + patience;
  for (;;) {
    std::string answer = ask(socket, get(target));
    bool all = true;
    for (const std::string& p : parts) all = all && has(answer, p);
    if (all || leat::now() > until) return answer;
    ::usleep(100'000);
  }
}

}  // namespace

TEST_CASE("a deployment whose processes only restart is not healthy, and says why") {
  const deployment d(toml);
  REQUIRE(d.is_up());
  const std::string again = "process 'plant/again' is restarted again and again, ",
                    away = "process 'plant/away' failed ";
  const std::string ready = until_it_has(d.socket(), "/ready", {again, away});
  CAPTURE(ready);
  CHECK(status_of(ready) == "503");
  CHECK(has(ready, again));
  CHECK(has(ready, " s ago and waits for its restart: \"false\" exited with 1"));
  // Nobody hangs.
  CHECK(status_of(ask(d.socket(), get("/live"))) == "200");
  const said ps = d.order({"ps"});
  CAPTURE(ps.text);
  CHECK(ps.has("NOT HEALTHY"));
  CHECK(ps.has("plant: " + again));
  CHECK(ps.has(": \"false\" exited with 1"));
}

TEST_CASE("who waits for a process that is away is told so") {
  const deployment d(toml);
  REQUIRE(d.is_up());
  const std::string blame =
      R"( holds up tock: 100 % of its time it is being restarted: \"false\" exited with 1;)";
  const std::string state = until_it_has(d.socket(), "/v1/state", {blame});
  CAPTURE(state);
  CHECK(has(state, blame));
}

TEST_CASE("a child that does not read what it is sent is told as a pipe, not as the network") {
  const deployment d(R"(
[process.tick]
use = "ticker"
config = { period = "100us" }
out = { ticks = "a" }
[process.child]
use = "exec"
config = { command = ["sleep", "1000"], format = "json" }
in = { values = "a" }
[channel.a]
capacity = 4
)");
  REQUIRE(d.is_up());
  const std::string blame = " holds up tick: 100 % of its time it waits for the other end of a pipe;";
  const std::string state = until_it_has(d.socket(), "/v1/state", {blame, R"("kind":"pipe")"});
  CAPTURE(state);
  CHECK(has(state, blame));
  CHECK(has(state, R"("kind":"pipe")"));
}
