// SPDX-License-Identifier: BSL-1.0
#include <leat/base/check.hpp>

#include <doctest/doctest.h>
#include <fcntl.h>
#include <signal.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <string>
#include <thread>

#include "support/alloc_count.hpp"
#include "support/child.hpp"

using namespace std::chrono_literals;
using leat::test::child_result;
using leat::test::run_self;

LEAT_COUNT_ALLOCATIONS();

namespace {

enum class colour : unsigned char { red = 3, green = 200 };

void say(int fd, void* arg) { leat::write_text(fd, static_cast<const char*>(arg)); }

char* text(const char* literal) { return const_cast<char*>(literal); }

}  // namespace

LEAT_CHILD(fails_with_values) {
  const int depth = -7;
  const std::string owner = "pump";
  LEAT_CHECK(depth >= 0, "the depth went below zero", "depth", depth, "limit", 18446744073709551615ULL,
             "full", true, "colour", colour::green, "owner", std::string_view(owner), "state", "parked",
             "ratio", 0.25, "none", static_cast<void*>(nullptr), "missing",
             static_cast<const char*>(nullptr));
}

TEST_CASE("a failed check aborts with place, condition, message and each value on one line") {
  const child_result result = run_self("fails_with_values");
  CAPTURE(result.output);
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("check_test.cpp:"));
  CHECK(result.said(
      ": check failed: depth >= 0: the depth went below zero (depth=-7, limit=18446744073709551615, "
      "full=true, colour=200, owner=pump, state=parked, ratio=0.25, none=null, missing=(null))\n"));
  CHECK(result.output.find('\n') == result.output.size() - 1);
}

TEST_CASE("a check that holds evaluates its condition once and its values never") {
  int conditions = 0;
  int values = 0;
  LEAT_CHECK(++conditions == 1, "counted", "values", ++values);
  CHECK(conditions == 1);
  CHECK(values == 0);
}

LEAT_CHILD(fails_in_an_unbraced_if) {
  const bool yes = true;
  if (yes)
    LEAT_CHECK(!yes, "inner");
  else
    LEAT_UNREACHABLE("the else belongs to the outer if");
}

TEST_CASE("a check is one statement, also without braces") {
  const child_result result = run_self("fails_in_an_unbraced_if");
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("check failed: !yes: inner\n"));
}

LEAT_CHILD(reaches_the_unreachable) { LEAT_UNREACHABLE("no such colour", "colour", colour::red); }

TEST_CASE("reaching the unreachable aborts with the message") {
  const child_result result = run_self("reaches_the_unreachable");
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("check failed: unreachable: no such colour (colour=3)\n"));
}

LEAT_CHILD(fails_with_a_huge_value) {
  static char huge[5000];
  for (char& c : huge) c = 'x';
  LEAT_CHECK(false, "too long", "huge", std::string_view(huge, sizeof huge));
}

TEST_CASE("a failure longer than its buffer is cut, and still one line") {
  const child_result result = run_self("fails_with_a_huge_value");
  CHECK(result.died_by(SIGABRT));
  CHECK(result.output.size() <= 1024);
  CHECK(result.said("xxx…\n"));
}

LEAT_CHILD(fails_and_counts_allocations) {
  static const leat::test::alloc_count count;
  leat::add_last_words(
      [](int fd, void*) {
        leat::fixed_text<64> line;
        line.format("allocations={}\n", count.allocations());
        leat::write_text(fd, line.view());
      },
      nullptr);
  LEAT_CHECK(false, "dies", "pi", 3.14159, "big", 1.7976931348623157e308, "whole", 123456789012345678901.0);
}

TEST_CASE("a failing check does not allocate") {
  const child_result result = run_self("fails_and_counts_allocations");
  CAPTURE(result.output);
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("pi=3.14159, big=1.7976931348623157e+308, whole=1.2345678901234568e+20)\n"));
  CHECK(result.said("allocations=0\n"));
}

LEAT_CHILD(fails_with_last_words) {
  leat::add_last_words(say, text("first\n"));
  leat::add_last_words(say, text("removed\n"));
  leat::add_last_words(say, text("second\n"));
  leat::remove_last_words(say, text("never added\n"));
  leat::remove_last_words(say, text("removed\n"));
  LEAT_CHECK(false, "dies");
}

TEST_CASE("last words follow the failure, without those that were removed") {
  const child_result result = run_self("fails_with_last_words");
  CAPTURE(result.output);
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("dies\nfirst\nsecond\n"));
  CHECK_FALSE(result.said("removed"));
}

LEAT_CHILD(fails_in_its_last_words) {
  leat::add_last_words([](int, void*) { LEAT_CHECK(false, "inner"); }, nullptr);
  LEAT_CHECK(false, "outer");
}

TEST_CASE("a check that fails inside last words ends the program instead of looping") {
  const child_result result = run_self("fails_in_its_last_words");
  CHECK(result.died_by(SIGABRT));
  const std::size_t inner = result.output.find("inner");
  CHECK(result.said("outer"));
  CHECK(inner != std::string::npos);
  CHECK(result.output.find("inner", inner + 1) == std::string::npos);
}

LEAT_CHILD(fails_on_two_threads) {
  static std::atomic<bool> other_failed{false};
  leat::add_last_words(
      [](int fd, void*) {
        std::thread([] {
          other_failed.store(true);
          LEAT_CHECK(false, "second thread");
        }).detach();
        // Long enough for the other thread to abort us, were it allowed to.
        while (!other_failed.load()) std::this_thread::yield();
        std::this_thread::sleep_for(200ms);
        leat::write_text(fd, "the first thread finished its last words\n");
      },
      nullptr);
  LEAT_CHECK(false, "first thread");
}

TEST_CASE("a second thread that fails lets the first finish its last words") {
  const child_result result = run_self("fails_on_two_threads");
  CAPTURE(result.output);
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("second thread"));
  CHECK(result.said("the first thread finished its last words"));
}

LEAT_CHILD(adds_too_many_last_words) {
  for (int i = 0; i < 17; ++i) leat::add_last_words(say, text(""));
}

TEST_CASE("the seventeenth last words are refused by name") {
  const child_result result = run_self("adds_too_many_last_words");
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("no slot left for last words (slots=16)"));
}

TEST_CASE("last words can be added and removed without end") {
  for (int i = 0; i < 1000; ++i) {
    leat::add_last_words(say, text("x"));
    leat::remove_last_words(say, text("x"));
  }
}

TEST_CASE("last words are not removed while a thread is inside them") {
  struct {
    std::atomic<bool> entered{false};
    std::atomic<bool> removed{false};
    bool removed_while_inside = false;
  } state;
  const auto linger = [](int, void* arg) {
    auto* mine = static_cast<decltype(state)*>(arg);
    mine->entered.store(true);
    // Time for a remove that does not wait to come back; a right one cannot, however long this takes.
    for (int i = 0; i < 100 && !mine->removed.load(); ++i) std::this_thread::sleep_for(1ms);
    mine->removed_while_inside = mine->removed.load();
  };
  const int nowhere = ::open("/dev/null", O_WRONLY);
  leat::add_last_words(linger, &state);
  std::thread runner([&] { leat::run_last_words(nowhere); });
  while (!state.entered.load()) std::this_thread::yield();
  leat::remove_last_words(linger, &state);
  state.removed.store(true);
  runner.join();
  ::close(nowhere);
  CHECK_FALSE(state.removed_while_inside);
}

#if LEAT_DEBUG_CHECKS_ON
LEAT_CHILD(fails_a_debug_check) { LEAT_DCHECK(1 + 1 == 3, "sums", "one", 1); }

TEST_CASE("a debug check fails like a check where debug checks are on") {
  const child_result result = run_self("fails_a_debug_check");
  CHECK(result.died_by(SIGABRT));
  CHECK(result.said("check failed: 1 + 1 == 3: sums (one=1)"));
}
#else
TEST_CASE("a debug check evaluates nothing where debug checks are off") {
  int touched = 0;
  LEAT_DCHECK(++touched < 0, "never looked at", "touched", ++touched);
  CHECK(touched == 0);
}
#endif
