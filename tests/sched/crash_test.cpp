// SPDX-License-Identifier: BSL-1.0
#include <unistd.h>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <doctest/doctest.h>

#include <leat/base/check.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/leat.hpp>
#include <leat/sched/crash.hpp>

#include "support/child.hpp"

using namespace leat;
using namespace std::chrono_literals;
using leat::test::child_result;
using leat::test::run_self;

namespace {

// A sanitizer's own handler comes after ours, and exits instead of dying by the signal.
#if defined(LEAT_ASAN) || defined(LEAT_TSAN)
constexpr bool sanitizer_has_the_last_word = true;
#else
constexpr bool sanitizer_has_the_last_word = false;
#endif

void check_died(const child_result& r, int sig) {
  if (sanitizer_has_the_last_word) {
    CHECK_MESSAGE(!r.exited(0), r.output);
  } else {
    CHECK_MESSAGE(r.died_by(sig), r.output);
  }
}

volatile int* volatile nowhere = nullptr;
#if defined(__clang__)
__attribute__((no_sanitize("undefined")))
#else
__attribute__((no_sanitize_undefined))
#endif
void
write_nowhere() {
  *nowhere = 1;
}

template <class F>
void in_a_g(F f) {
  leat::run({.procs = 1}, [&] {
    go("bystander", [] { (void)sleep_for(1h); });
    spawn("culprit", f).get();
  });
}

}  // namespace

LEAT_CHILD(fault_in_a_g) { in_a_g(write_nowhere); }
LEAT_CHILD(abort_in_a_g) {
  in_a_g([] { std::abort(); });
}
LEAT_CHILD(kill_in_a_g) {
  in_a_g([] { (void)::raise(SIGILL); });
}
LEAT_CHILD(fault_in_a_blocking_call) {
  in_a_g([] { blocking(write_nowhere); });
}
LEAT_CHILD(fault_on_a_plain_thread) {
  leat::run([] { std::thread(write_nowhere).join(); });
}
LEAT_CHILD(fault_with_a_note) {
  set_crash_note([](int fd, std::uint64_t g) noexcept {
    fixed_text<100> t;
    t.format("a note about G {}\n", g);
    write_text(fd, t.view());
  });
  in_a_g(write_nowhere);
}
LEAT_CHILD(fault_after_the_runtime) {
  leat::run([] {});
  write_nowhere();
}
LEAT_CHILD(fault_on_two_threads) {
  leat::run({.procs = 2}, [] {
    auto one = spawn("first", write_nowhere);
    auto two = spawn("second", write_nowhere);
    one.get();
    two.get();
  });
}

TEST_CASE("a fault names the G that was running, and the program dies by the signal") {
  const auto r = run_self("fault_in_a_g");
  CHECK_MESSAGE(r.said("leat: the program ends by SIGSEGV"), r.output);
  CHECK_MESSAGE(r.said("'culprit'\n    0x"), r.output);
  CHECK_MESSAGE(r.said("test-sched-crash+0x"), r.output);
  CHECK_FALSE(r.said("'bystander'\n    0x"));
  check_died(r, SIGSEGV);
}

TEST_CASE("an abort names the G that was running") {
  const auto r = run_self("abort_in_a_g");
  CHECK_MESSAGE(r.said("the program ends by SIGABRT, in G"), r.output);
  CHECK_MESSAGE(r.said("'culprit'"), r.output);
  check_died(r, SIGABRT);
}

TEST_CASE("a signal that was sent ends the program as well") {
  const auto r = run_self("kill_in_a_g");
  CHECK_MESSAGE(r.said("the program ends by SIGILL, in G"), r.output);
  check_died(r, SIGILL);
}

TEST_CASE("a fault in a blocking call names the G that called") {
  const auto r = run_self("fault_in_a_blocking_call");
  CHECK_MESSAGE(r.said("'culprit', in a blocking call"), r.output);
  check_died(r, SIGSEGV);
}

TEST_CASE("a fault on a plain thread says so") {
  const auto r = run_self("fault_on_a_plain_thread");
  CHECK_MESSAGE(r.said("on a thread that runs no G"), r.output);
  check_died(r, SIGSEGV);
}

TEST_CASE("a layer above adds its lines with the id of the G") {
  const auto r = run_self("fault_with_a_note");
  CHECK_MESSAGE(r.said("a note about G 3\n"), r.output);
  CHECK(r.output.find("a note") > r.output.find("the program ends"));
  check_died(r, SIGSEGV);
}

TEST_CASE("when no runtime runs nothing is said") {
  const auto r = run_self("fault_after_the_runtime");
  CHECK_FALSE(r.said("leat: "));
  check_died(r, SIGSEGV);
}

TEST_CASE("of two that crash at the same time one is reported in full, and the program ends soon") {
  const auto r = run_self("fault_on_two_threads");
  CHECK_FALSE(r.timed_out);
  CHECK_MESSAGE(r.said("the program ends by SIGSEGV"), r.output);
  check_died(r, SIGSEGV);
}
