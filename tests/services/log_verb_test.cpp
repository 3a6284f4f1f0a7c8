// SPDX-License-Identifier: BSL-1.0
//
// `leat log LEVEL PROCESS`, with a deployment that runs.
#include <doctest/doctest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <vector>

#include "services/program.hpp"
#include "support/paths.hpp"

using namespace leat::services::test;

namespace {

constexpr const char* two_logs = R"(leat = 1
[service]
name = "svc"
[process.tick]
use = "ticker"
config = { period = "20ms" }
out = { ticks = "a" }
[process.one]
use = "log"
in = { values = "a" }
[process.two]
use = "log"
in = { values = "a" }
replicas = 2
[channel.a]
fanout = "copy"
)";

// The number of the last value that a process has logged; 0: none.
int last_logged(const std::string& said, const std::string& process) {
  const std::size_t line = said.rfind('\n'), at = said.rfind(process + ": {", line);
  if (line == std::string::npos || at == std::string::npos) return 0;
  const std::size_t count = said.find("\"count\":", at);
  return count < said.find('\n', at) ? std::atoi(said.c_str() + count + 8) : 0;
}

struct running {
  running()
      : file(folder.file("logs.toml", two_logs)),
        environment{"LEAT_SOCKETS=" + std::filesystem::path(file).parent_path().string()},
        service({leat::test::program_path("leat"), "run", file}, environment) {}

  std::string order(std::vector<std::string> words) {
    words.insert(words.begin(), leat::test::program_path("leat"));
    program p(words, environment);
    status = p.end();
    return p.said;
  }
  // Until `who` is ten values ahead, so many that `silent` has had some of them.
  bool only(const std::string& who, const std::string& silent) {
    return eventually(
        [&] { return last_logged(service.said, who) >= last_logged(service.said, silent) + 10; });
  }
  bool both(const std::string& a, const std::string& b) {
    const int before_a = last_logged(service.said, a), before_b = last_logged(service.said, b);
    return eventually([&] {
      return last_logged(service.said, a) > before_a + 1 && last_logged(service.said, b) > before_b + 1;
    });
  }
  template <class F>
  bool eventually(F is) {
    for (const auto until = leat::now() + patience; !is();)
      if (leat::now() > until || !service.says_more()) return false;
    return true;
  }

  scratch_folder folder;
  std::string file;
  std::vector<std::string> environment;
  program service;
  int status = 0;
};

}  // namespace

TEST_CASE("`leat metrics` is OpenMetrics, to its end") {
  running r;
  REQUIRE(r.both("svc/one", "svc/two"));
  const std::string text = r.order({"metrics"});
  CHECK(r.status == 0);
  CHECK(text.find("# UNIT leat_uptime_seconds seconds\n") != std::string::npos);
  CHECK(text.ends_with("\n# EOF\n"));
}

TEST_CASE("one process of a running deployment gets a level of its own, and loses it with one for all") {
  running r;
  REQUIRE(r.both("svc/one", "svc/two"));
  CHECK(r.order({"log", "error", "one"}) == "svc/one logs from error on\n");
  CHECK(r.only("svc/two", "svc/one"));
  CHECK(r.order({"log", "error"}) == "logs logs from error on\n");
  CHECK(r.order({"log", "info", "svc/two/1"}) == "svc/two logs from info on\n");
  CHECK(r.only("svc/two", "svc/one"));
  CHECK(r.order({"log", "info"}) == "logs logs from info on\n");
  CHECK(r.both("svc/one", "svc/two"));
  CHECK(r.order({"log", "loud", "one"}) == "leat: logs: a level is debug, info, notice, warning or error\n");
  CHECK(r.status == 1);
  CHECK(r.order({"log", "info", "oen"}).find("did you mean 'one'?") != std::string::npos);
  CHECK(r.status == 1);
  r.service.signal(SIGTERM);
  CHECK(r.service.end() == 0);
}
