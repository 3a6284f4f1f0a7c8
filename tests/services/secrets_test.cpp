// SPDX-License-Identifier: BSL-1.0
//
// Settings that hold secrets: whoever looks at a deployment that runs sees that there is one, and no more.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "control/client.hpp"
#include "services/deployment.hpp"
#include "support/paths.hpp"

using namespace leat::services::test;
using leat::control::test::ask;
using leat::control::test::get;
using leat::control::test::post;
using leat::control::test::status_of;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// Nobody listens where it posts to: it tries again, and tells the log.
const char* const toml = R"(
[process.tick]
use = "ticker"
config = { period = "50ms" }
out = { ticks = "a" }
[process.post]
use = "http-post"
config = { url = "http://127.0.0.1:1/x", retry = "10ms", headers = ["Authorization: Bearer open-sesame"] }
in = { values = "a" }
[process.child]
use = "exec"
config = { command = ["sleep", "100"], environment = ["PASSWORD=open-sesame"] }
[channel.a]
[control]
listen = "$DOOR"
)";

}  // namespace

TEST_CASE("nobody is shown a secret, neither by TCP nor at the socket, and it can be set") {
  deployment d(toml);
  REQUIRE(d.is_up());
  const std::string port = d.door.substr(d.door.find(':') + 1);
  std::string seen;
  const auto look = [&] {
    for (const std::string& where : {d.socket(), port}) {
      const std::string about = ask(where, get("/v1/process?name=plant/post"));
      CAPTURE(about);
      CHECK(status_of(about) == "200");
      CHECK(
          has(about,
              R"x({"name":"headers","text":"\"(hidden)\"","value":"(hidden)","live":false,"secret":true,)x"));
      CHECK(has(about, R"({"name":"url","text":"\"http://127.0.0.1:1/x\"",)"));
      const std::string child = ask(where, get("/v1/process?name=plant/child"));
      CHECK(has(child, R"x({"name":"environment","text":"\"(hidden)\"",)x"));
      CHECK(has(child, R"({"name":"directory","text":"\"\"","value":"","live":false,"secret":false,)"));
      seen += about + child + ask(where, get("/v1/state")) + ask(where, get("/metrics"));
    }
  };
  look();
  seen += ask(d.socket(), post("/v1/dump", ""));
  const std::string set = R"({"process":"plant/post","restart":true,"set":{"headers":)";
  const std::string wrong = ask(d.socket(), post("/v1/set", set + "[\"open-sesame\\n\"]}}"));
  CHECK(status_of(wrong) == "400");
  CHECK(has(wrong, "'headers'"));
  const std::string right = ask(d.socket(), post("/v1/set", set + "[\"X-Key: open-sesame\"]}}"));
  CHECK(status_of(right) == "200");
  look();
  CHECK(status_of(ask(d.socket(), post("/v1/set", set + "[]}}"))) == "200");
  // One that is not there may be seen.
  CHECK(has(ask(port, get("/v1/process?name=plant/post")), R"({"name":"headers","text":"[]",)"));
  seen += wrong + right + d.order({"top", "--json"}).text;
  CHECK(d.order({"stop", "--now"}).status == 0);
  CHECK(d.service.end() >= 0);
  CHECK(has(d.service.said, "headers set at the control door"));
  CHECK_FALSE(has(seen, "sesame"));
  CHECK_FALSE(has(d.service.said, "sesame"));
}

TEST_CASE("describe says what is secret") {
  const leat::test::child_result r =
      leat::test::run_program(leat::test::program_path("leat"), {"describe", "http-post"});
  CHECK(r.exited(0));
  CHECK(r.said("headers       list of text, default [], secret  #"));
}
