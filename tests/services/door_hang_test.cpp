// SPDX-License-Identifier: BSL-1.0
//
// The control door of a host whose only P is taken by a process that does not give it back.
#include <stdlib.h>
#include <unistd.h>
#include <thread>

#include <leat/control/door.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/services/controls.hpp>

#include "control/client.hpp"
#include "services/misbehaving.hpp"
#include "services/program.hpp"

namespace leat::services::test {
namespace {

using control::test::ask;
using control::test::body_of;
using control::test::get;
using control::test::post;
using control::test::status_of;

// Runs a service of one process that does this, with one P; what the door answers meanwhile, by path.
std::map<std::string, std::string> asked_while(const std::function<void()>& stands_still,
                                               const std::function<void()>& let_go) {
  const scratch_folder folder;
  REQUIRE(::setenv("LEAT_SOCKETS", folder.path().c_str(), 1) == 0);
  std::atomic<bool> begun{false};
  act_runs = 0;
  act = [&](int, const in<number>&) {
    begun = true;
    stands_still();
  };
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.stuck]
use = "acts"
hang = "1h"
[process.well]
use = "bystander"
)");
  std::map<std::string, std::string> said;
  (void)leat::run(with_procs(1), [&] {
    host h(p);
    observer looks(p, h.wires(), h.seen(), {"test"}, h.processes_of_replicas(), h.replica_names());
    controls steers(h, looks);
    control::door_options o;
    o.name = "test";
    control::door door(steers, std::move(o));
    task_group beside;
    beside.go("observer", [&] { looks.run(); });
    door.serve(beside);
    std::thread client([&] {
      const std::string socket = folder.path() + "/test.sock";
      while (!begun) std::this_thread::sleep_for(1ms);
      for (const char* const path : {"/v1/state", "/v1/process?name=s/stuck", "/metrics", "/live", "/ready"})
        said[path] = ask(socket, get(path));
      said["dump"] = ask(socket, post("/v1/dump", ""));
      said["restart"] = ask(socket, post("/v1/restart", R"({"process":"s/well"})"));
      let_go();
      said["stop"] = ask(socket, post("/v1/stop", R"({"now":true})"));
    });
    channel<int> stop(2);
    (void)h.run(stop);
    beside.stop();
    beside.wait();
    client.join();
  });
  ::unsetenv("LEAT_SOCKETS");
  return said;
}

void check_all_answered(const std::map<std::string, std::string>& said) {
  CHECK(said.size() == 8);
  for (const auto& one : said) {
    CAPTURE(one.first);
    CAPTURE(one.second);
    CHECK(status_of(one.second) == "200");
  }
  CHECK(said.at("dump").find("s/stuck") != std::string::npos);
}

}  // namespace

TEST_CASE("the door answers and steers beside a process that spins, with one P") {
  std::atomic<bool> over{false};
  const auto said = asked_while(
      [&] {
        while (!over.load(std::memory_order_relaxed)) asm volatile("");
      },
      [&] { over = true; });
  check_all_answered(said);
  CHECK(said.at("/v1/state").find(R"("name":"s/stuck","process":"s/stuck","replica":null,"service":"s")") !=
        std::string::npos);
}

TEST_CASE(
    "the door answers and steers beside a process in a blocking call that nobody declared, with one P") {
  int ends[2];
  REQUIRE(::pipe(ends) == 0);
  const auto said = asked_while(
      [&] {
        char byte = 0;
        (void)!::read(ends[0], &byte, 1);
      },
      [&] { (void)!::write(ends[1], "x", 1); });
  check_all_answered(said);
  ::close(ends[0]);
  ::close(ends[1]);
}

}  // namespace leat::services::test
