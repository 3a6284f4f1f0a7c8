// SPDX-License-Identifier: BSL-1.0
#include "support/child.hpp"

#include <doctest/doctest.h>
#include <signal.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <stdexcept>

using namespace std::chrono_literals;
using namespace leat::test;

LEAT_CHILD(prints_and_returns) {
  std::printf("to stdout\n");
  std::fflush(stdout);
  std::fprintf(stderr, "to stderr\n");
}
LEAT_CHILD(prints_its_variable) {
  const char* value = std::getenv("LEAT_CHILD_VARIABLE");
  std::printf("value=%s\n", value ? value : "none");
}
LEAT_CHILD(sleeps_without_end) {
  for (;;) ::pause();
}
LEAT_CHILD(prints_a_megabyte) {
  for (int i = 0; i < 1024; ++i) std::printf("%01023d\n", i);
}

TEST_CASE("a child's stdout, stderr and exit code arrive") {
  const child_result result = run_self("prints_and_returns");
  CHECK(result.exited(0));
  CHECK(result.output == "to stdout\nto stderr\n");
  CHECK(run_program("/bin/sh", {"-c", "exit 3"}).exited(3));
}

TEST_CASE("more output than a pipe holds arrives whole") {
  const child_result result = run_self("prints_a_megabyte");
  CHECK(result.exited(0));
  CHECK(result.output.size() == 1024 * 1024);
}

TEST_CASE("a child that outlives its limit is killed and reported as timed out") {
  const child_result result = run_self("sleeps_without_end", {.limit = 100ms});
  CHECK(result.timed_out);
  CHECK_FALSE(result.exited(0));
  CHECK_FALSE(result.died_by(SIGKILL));
}

TEST_CASE("a child that closed its output is still limited") {
  const child_result result = run_program("/bin/sh", {"-c", "exec >&- 2>&-; sleep 60"}, {.limit = 100ms});
  CHECK(result.timed_out);
}

TEST_CASE("a forked function's end is its exit status") {
  CHECK(run_forked([] {}).exited(0));
  CHECK(run_forked([] { ::_exit(5); }).exited(5));
  CHECK(run_forked([] { std::abort(); }).died_by(SIGABRT));
  const child_result threw = run_forked([] { throw std::runtime_error("no"); });
  CHECK(threw.exited(70));
  CHECK(threw.said("threw"));
}

TEST_CASE("the child's environment can be changed") {
  CHECK(run_self("prints_its_variable").said("value=none"));
  CHECK(run_self("prints_its_variable", {.environment = {"LEAT_CHILD_VARIABLE=5"}}).said("value=5"));
  ::setenv("LEAT_CHILD_VARIABLE", "7", 1);
  CHECK(run_self("prints_its_variable").said("value=7"));
  CHECK(run_self("prints_its_variable", {.environment = {"LEAT_CHILD_VARIABLE"}}).said("value=none"));
  ::unsetenv("LEAT_CHILD_VARIABLE");
}

TEST_CASE("a program or function that does not exist is told apart from a test that failed") {
  const child_result result = run_program("/no/such/program", {});
  CHECK(result.exited(127));
  CHECK(result.said("cannot start /no/such/program"));
  CHECK(run_self("no_such_function").exited(126));
}
