// SPDX-License-Identifier: BSL-1.0
//
// The host's own loop hangs: here in the function that it calls once a second.
#include "fixture.hpp"

#include <cstdio>
#include <thread>

#include "support/child.hpp"

namespace leat::services::test {
namespace {

constexpr const char* text = R"(
[service]
name = "s"
[process.source]
use = "counter"
[process.sink]
use = "noting"
in = { values = "source.values" }
[supervisor]
host_hang = "200ms"
)";

// The status of a run whose tick takes so long.
void run_with_a_tick_of(nanoseconds time, const std::string& more) {
  const config::plan p = plan_of(text + more);
  bool late = false;
  leat::run(runtime_options_of(p), [&] {
    channel<int> stop(4);
    host h(p);
    task_group beside;
    beside.go([&] {
      while (h.seen().live()) (void)sleep_for(std::chrono::milliseconds(1));
      std::printf("it is not live\n");
      while (!h.seen().live()) (void)sleep_for(std::chrono::milliseconds(1));
      std::printf("it is live again\n");
      (void)stop.try_send(15);
    });
    (void)h.run(stop, [&](const host&) {
      if (!std::exchange(late, true)) std::this_thread::sleep_for(time);
    });
    beside.wait();
  });
  std::printf("it went on\n");
}

}  // namespace
}  // namespace leat::services::test

LEAT_CHILD(the_host_hangs) { leat::services::test::run_with_a_tick_of(std::chrono::hours(1), ""); }
LEAT_CHILD(the_host_is_slow) {
  leat::services::test::run_with_a_tick_of(std::chrono::milliseconds(1500), "on_host_hang = \"dump\"\n");
}

namespace leat::services::test {

TEST_CASE("a host that makes no step ends the program with a status of its own, and says where it stands") {
  const auto r = leat::test::run_self("the_host_hangs");
  INFO(r.output);
  CHECK(r.exited(70));
  CHECK(r.said("leat: the host has made no step for "));
  CHECK(r.said("the program ends with status 70"));
  CHECK(r.said("in the system call "));
  CHECK(r.said("test-services-host_hang+0x"));
  CHECK_FALSE(r.said("it went on"));
}

TEST_CASE("or all Gs are written, and it goes on") {
  const auto r = leat::test::run_self("the_host_is_slow");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("leat: the host has made no step for "));
  CHECK(r.said("'main': running"));
  CHECK(r.said("'s/source' (counter, t.toml:5)"));
  CHECK(r.said("it is not live\nit is live again\n"));
  CHECK(r.said("it went on"));
}

}  // namespace leat::services::test
