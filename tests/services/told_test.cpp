// SPDX-License-Identifier: BSL-1.0
//
// What a deployment says of itself without being asked: drops and blame, in the log and to systemd.
#include <doctest/doctest.h>

#include <string>
#include <vector>

#include "services/deployment.hpp"

using namespace leat::services::test;

namespace {

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

// A child that reads nothing, behind a channel that is soon full.
std::string stuck(const std::string& full) {
  return R"(
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
full = ")" +
         full + "\"\n[control]\nblame_after = \"100ms\"\n";
}

}  // namespace

TEST_CASE("the first values that are dropped are told in the log, also of a quiet run") {
  for (const std::vector<std::string>& options : {std::vector<std::string>{}, {"--quiet"}}) {
    deployment d(stuck("drop-oldest"), options);
    REQUIRE(d.service.says(" so far; 'child' does not keep up\n"));
    const std::size_t at = d.service.said.find("services: channel 'plant/a' at ");
    CAPTURE(d.service.said);
    REQUIRE(at != std::string::npos);
    CHECK(has(d.service.said.substr(at), "/plant.toml:11 drops values (drop-oldest): "));
    CHECK(d.service.says("which drops "));  // and who is to blame
    CHECK(has(d.service.said, "plant: 'child' (exec, "));
  }
}

TEST_CASE("systemd is told who is to blame") {
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  const deployment d(stuck("block"), {}, {systemd.variable()});
  std::string told;
  do told = systemd.status();
  while (!told.empty() && !has(told, "; plant: "));
  CAPTURE(told);
  CHECK(told.starts_with("STATUS="));
  CHECK(has(told, " values/s, 0 restarts; plant: 'child' (exec, "));
  CHECK(has(told, " holds up tick: "));
}
