// SPDX-License-Identifier: BSL-1.0
//
// Gs that hang where unwind tables are wrong: whoever looks where they stand must live.
#include <pthread.h>
#include <atomic>
#include <csignal>
#include <stdexcept>

#include <doctest/doctest.h>

#include "fixture.hpp"
#include "overrun_fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using namespace std::chrono_literals;

#if defined(__x86_64__) || defined(__aarch64__)
// Loops where the tables say that it returns to address 32.
extern "C" void loops_without_tables();
#if defined(__x86_64__)
asm(R"(
  .text
  .globl loops_without_tables
  .type loops_without_tables, @function
loops_without_tables:
  .cfi_startproc
  push $32
1: jmp 1b
  .cfi_endproc
  .size loops_without_tables, .-loops_without_tables
)");
#else
asm(R"(
  .text
  .globl loops_without_tables
  .type loops_without_tables, @function
loops_without_tables:
  .cfi_startproc
  mov x30, #32
1: b 1b
  .cfi_endproc
  .size loops_without_tables, .-loops_without_tables
)");
#endif
#else
extern "C" void loops_without_tables() {
  for (;;) asm volatile("");
}
#endif

namespace {

[[gnu::noinline]] void throws() { throw std::runtime_error("again"); }

void quarantine_some(void (*hangs)(), unsigned times) {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [&] {
      for (unsigned i = 0; i < times; ++i) {
        const auto guard = guard_of(5ms, 1ms);
        auto t = spawn({.guard = guard}, hangs);
        CHECK_THROWS_AS(t.get(), quarantined);
        (void)sleep_for(10ms);  // it is looked at all the while
      }
      CHECK(stats().quarantined == times);
    });
  }
}

}  // namespace

TEST_CASE("one that throws and catches for ever is quarantined, wherever the unwinder is just then") {
  quarantine_some(
      [] {
        for (;;) {
          try {
            throws();
          } catch (const std::runtime_error&) {
          }
        }
      },
      10);
}

TEST_CASE("one whose return address is no address is quarantined, and nobody follows it") {
  quarantine_some(loops_without_tables, 3);
}

TEST_CASE("the same where faults are blocked, which would end the program") {
  quarantine_some(
      [] {
        sigset_t faults;
        sigemptyset(&faults);
        sigaddset(&faults, SIGSEGV);
        sigaddset(&faults, SIGBUS);
        (void)::pthread_sigmask(SIG_BLOCK, &faults, nullptr);
        loops_without_tables();
      },
      2);
}

namespace {

std::atomic<int> handled{0};

void takes_long(int) {
  const std::int64_t until = now_ns() + 300'000'000;
  while (now_ns() < until) {
  }
  ++handled;
}

}  // namespace

// ThreadSanitizer runs handlers later, on the thread's own stack.
TEST_CASE("a handler of the program's own is neither frozen nor left, however long it takes" *
          doctest::skip(fiber::under_tsan)) {
  struct sigaction ours = {}, before = {};
  ours.sa_handler = takes_long;
  ours.sa_flags = SA_ONSTACK;
  REQUIRE(::sigaction(SIGUSR2, &ours, &before) == 0);
  handled = 0;
  run_clean(with_procs(2), [] {
    auto t = spawn({.guard = guard_of(10ms, 5ms)}, [] { (void)::pthread_kill(::pthread_self(), SIGUSR2); });
    CHECK_THROWS_AS(t.get(), quarantined);
    CHECK(eventually([] { return handled == 1; }));
  });
  (void)::sigaction(SIGUSR2, &before, nullptr);
}
