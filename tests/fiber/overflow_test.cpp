// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <unistd.h>
#include <csignal>
#include <cstdio>
#include <thread>

#include <leat/fiber/annotate.hpp>
#include <leat/fiber/fiber.hpp>
#include <leat/fiber/overflow.hpp>
#include <leat/fiber/stack_pool.hpp>

#include "support/child.hpp"

using namespace leat::fiber;
using leat::test::child_result;
using leat::test::run_self;

namespace {

// Under ASan the handler before ours is ASan's, which reports and exits instead of dying by the signal.
#if defined(LEAT_ASAN) || defined(LEAT_TSAN)
constexpr bool sanitizer_has_the_last_word = true;
#else
constexpr bool sanitizer_has_the_last_word = false;
#endif

volatile int depth_wanted = 1 << 30;
volatile int* volatile nowhere = nullptr;

[[gnu::noinline]] int recurse(int n) {
  volatile char frame[256];
  frame[0] = static_cast<char>(n);
  if (n < depth_wanted) return recurse(n + 1) + frame[0];
  return 0;
}

[[gnu::noinline]] int big_frame() {
  volatile char frame[100 * 1024];
  asm volatile("" : : "r"(&frame[0]) : "memory");  // it stays whole
  frame[sizeof frame - 1] = 1;
  frame[0] = 1;
  return frame[0];
}

void by_recursion(thread&, void*) { recurse(0); }
void by_big_frame(thread&, void*) { big_frame(); }

template <std::size_t Size>
[[gnu::noinline]] int array_of() {
  volatile char frame[Size];
  asm volatile("" : : "r"(&frame[0]) : "memory");
  frame[0] = 1;
  return frame[0];
}
void by_array(thread&, void*) { array_of<180 * 1024>(); }
void by_huge_array(thread&, void*) { array_of<12 << 20>(); }
#if defined(__clang__)
__attribute__((no_sanitize("undefined")))
#else
__attribute__((no_sanitize_undefined))
#endif
void fault_elsewhere(thread&, void*) {
  *nowhere = 1;
}

void run(entry_fn entry, const char* who = "parser") {
  report_overflows();
  signal_stack alternate;
  thread me;
  me.attach();
  stack_error error;
  stack* s = stack_pool::process_wide().acquire(64 * 1024, error);
  s->set_label(who);
  context c;
  prepare(c, *s, entry, nullptr, fp_state::read());
  switch_to(me, me.self, c);
  std::fprintf(stderr, "still alive\n");
}

void say_and_leave(int, siginfo_t*, void*) {
  constexpr char text[] = "the application's handler ran\n";
  (void)!::write(STDERR_FILENO, text, sizeof text - 1);
  ::_exit(42);
}

void check_report(const child_result& r, const char* larger = "stack = \"128K\" for the process in TOML") {
  INFO(r.output);
  CHECK(r.said("'parser' overflowed its stack of 64K"));
  CHECK(r.said(larger));
  CHECK_FALSE(r.said("still alive"));
}

}  // namespace

LEAT_CHILD(overflow_by_recursion) { run(by_recursion); }
LEAT_CHILD(overflow_by_big_frame) { run(by_big_frame); }
LEAT_CHILD(overflow_by_array) { run(by_array); }
LEAT_CHILD(overflow_by_huge_array) { run(by_huge_array); }
LEAT_CHILD(overflow_of_main) { run(by_recursion, "main"); }
LEAT_CHILD(overflow_on_another_thread) {
  std::thread([] { run(by_recursion); }).join();
}
LEAT_CHILD(fault_that_is_no_overflow) { run(fault_elsewhere); }
LEAT_CHILD(overflow_with_application_handler) {
  struct sigaction a = {};
  a.sa_sigaction = say_and_leave;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &a, nullptr);
  run(by_recursion);
}

TEST_CASE("an overflow names the fiber, its stack size and what to change, and dies by the signal") {
  const auto r = run_self("overflow_by_recursion");
  check_report(r);
  if (!sanitizer_has_the_last_word) CHECK(r.died_by(SIGSEGV));
}

TEST_CASE("an overflow on any thread is reported") {
  const auto r = run_self("overflow_on_another_thread");
  check_report(r);
  if (!sanitizer_has_the_last_word) CHECK(r.died_by(SIGSEGV));
}

#if !defined(__clang__) || defined(__x86_64__)
TEST_CASE("a frame larger than the guard page is caught too") {
  const auto r = run_self("overflow_by_big_frame");
  check_report(r);
}
#endif

#if defined(__x86_64__) || (defined(__aarch64__) && !defined(__clang__))
TEST_CASE("the stack that is recommended is enough for the array that did not fit") {
  const auto r = run_self("overflow_by_array");
  check_report(r, "stack = \"256K\" for the process in TOML");
  CHECK(r.said("K more at once; large arrays belong on the heap"));
}

TEST_CASE("no stack is recommended for what fits on none") {
  const auto r = run_self("overflow_by_huge_array");
  INFO(r.output);
  CHECK(r.said("large arrays belong on the heap"));
  CHECK(r.said("no stack is large enough"));
  CHECK_FALSE(r.said("stack = "));
}
#endif

TEST_CASE("an overflow of main names what main's stack is set by") {
  const auto r = run_self("overflow_of_main");
  INFO(r.output);
  CHECK(r.said("'main' overflowed its stack of 64K"));
  CHECK(r.said("[runtime] stack = \"128K\" in TOML, or runtime_options::stack in C++"));
  CHECK_FALSE(r.said("for the process"));
}

TEST_CASE("a fault that is no overflow is left to the default action") {
  const auto r = run_self("fault_that_is_no_overflow");
  CHECK_FALSE(r.said("overflowed"));
  CHECK_FALSE(r.said("still alive"));
  if (!sanitizer_has_the_last_word) CHECK(r.died_by(SIGSEGV));
}

TEST_CASE("a handler that the application had installed is called after the report") {
  const auto r = run_self("overflow_with_application_handler");
  check_report(r);
  CHECK(r.said("the application's handler ran"));
  CHECK(r.exited(42));
}
