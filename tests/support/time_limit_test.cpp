// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <signal.h>

#include "support/child.hpp"
#include "support/paths.hpp"
#include "support/watchdog.hpp"

using namespace std::chrono_literals;
using leat::test::child_result;
using leat::test::run_program;

static child_result run_hanging(const std::string& test, const std::string& limit) {
  return run_program(leat::test::program_path("leat-hanging-tests"), {"--test-case=" + test},
                     {.limit = 60s, .environment = {"LEAT_TEST_TIME_LIMIT=" + limit}});
}

TEST_CASE("a test that overstays the default limit dies with its name, place, last words and back-traces") {
  const child_result result = run_hanging("hangs with the default limit", "1");
  CAPTURE(result.output);
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("TIME LIMIT: test \"hangs with the default limit\" still runs after "));
  CHECK(result.said("hanging_tests.cpp:"));
  CHECK(result.said("three widgets stand idle"));
  CHECK(result.said(" sleepy-helper:\n"));
  CHECK(result.said("hang_forever_here"));
}

TEST_CASE("a test's own limit wins over the default") {
  const child_result result = run_hanging("hangs with a limit of its own", "25s");
  CAPTURE(result.output);
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("TIME LIMIT: test \"hangs with a limit of its own\""));
}

TEST_CASE("a test that never enters the kernel dies by its limit too") {
  const child_result result = run_hanging("spins with a limit of its own", "25s");
  CAPTURE(result.output);
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("TIME LIMIT: test \"spins with a limit of its own\""));
}

TEST_CASE("a test within its limit is left alone") {
  const child_result result = run_hanging("quick", "5s");
  CAPTURE(result.output);
  CHECK(result.exited(0));
  CHECK_FALSE(result.said("TIME LIMIT"));
}

TEST_CASE("a limit that is not a duration is reported and replaced by the usual one") {
  const child_result result = run_hanging("quick", "soon");
  CAPTURE(result.output);
  CHECK(result.exited(0));
  CHECK(result.said("LEAT_TEST_TIME_LIMIT=soon is neither seconds nor a duration"));
}
