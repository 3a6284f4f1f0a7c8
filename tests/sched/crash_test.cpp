// SPDX-License-Identifier: BSL-1.0
#include <sys/mman.h>
#include <unistd.h>
#include <csetjmp>
#include <csignal>
#include <cstdlib>
#include <thread>

#include <doctest/doctest.h>

#include <leat/base/check.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/leat.hpp>
#include <leat/sched/crash.hpp>

#include "support/child.hpp"
#include "support/full_stderr.hpp"

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

// A handler that comes next, such as a sanitizer's, might mend it.
bool said_end(const child_result& r, const std::string& sig) {
  return r.said("leat: the program ends by " + sig) ||
         (sanitizer_has_the_last_word && r.said("leat: the program may end by " + sig));
}

// Two that write there at once would be a race to ThreadSanitizer, whose report of it and whose handler of
// the fault then wait for each other.
volatile int* volatile nowhere = nullptr;
LEAT_UNWATCHED void write_nowhere() { *nowhere = 1; }

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
  CHECK_MESSAGE(said_end(r, "SIGSEGV"), r.output);
  CHECK_MESSAGE(r.said("'culprit'\n    0x"), r.output);
  CHECK_MESSAGE(r.said("test-sched-crash+0x"), r.output);
  CHECK_FALSE(r.said("'bystander'\n    0x"));
  check_died(r, SIGSEGV);
}

TEST_CASE("an abort names the G that was running") {
  const auto r = run_self("abort_in_a_g");
  CHECK_MESSAGE(said_end(r, "SIGABRT, in G"), r.output);
  CHECK_MESSAGE(r.said("'culprit'"), r.output);
  check_died(r, SIGABRT);
}

// A sanitizer waits for room itself.
#if !defined(LEAT_ASAN) && !defined(LEAT_TSAN)
LEAT_CHILD(fault_beside_nobody_who_reads) {
  const leat::test::full_stderr err;
  in_a_g(write_nowhere);
}
LEAT_CHILD(abort_beside_nobody_who_reads) {
  const leat::test::full_stderr err;
  in_a_g([] { std::abort(); });
}
LEAT_CHILD(check_beside_nobody_who_reads) {
  const leat::test::full_stderr err;
  in_a_g([] { LEAT_CHECK(nowhere != nullptr, "a check that fails"); });
}
LEAT_CHILD(overflow_beside_nobody_who_reads) {
  const leat::test::full_stderr err;
  in_a_g([] {
    const auto deeper = [](const auto& self, int n) -> int {
      volatile char frame[512] = {};
      frame[0] = static_cast<char>(n);
      return n < 0 ? 0 : self(self, n + 1) + frame[0];
    };
    (void)deeper(deeper, 1);
  });
}

TEST_CASE("a program dies although its stderr is a full pipe that nobody reads") {
  const leat::test::child_options soon{.limit = 60s};
  CHECK(run_self("fault_beside_nobody_who_reads", soon).died_by(SIGSEGV));
  CHECK(run_self("abort_beside_nobody_who_reads", soon).died_by(SIGABRT));
  CHECK(run_self("check_beside_nobody_who_reads", soon).died_by(SIGABRT));
  CHECK(run_self("overflow_beside_nobody_who_reads", soon).died_by(SIGSEGV));
}
#endif

TEST_CASE("a signal that was sent ends the program as well") {
  const auto r = run_self("kill_in_a_g");
  CHECK_MESSAGE(said_end(r, "SIGILL, in G"), r.output);
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
  CHECK(r.output.find("a note") > r.output.find("leat: the program "));
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
  CHECK_MESSAGE(said_end(r, "SIGSEGV"), r.output);
  check_died(r, SIGSEGV);
}

namespace {

volatile char* pages = nullptr;
const std::size_t page = static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));

// As programs do that watch what is written.
void make_writable(int, siginfo_t* info, void*) {
  const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr) / page * page;
  if (::mprotect(reinterpret_cast<void*>(at), page, PROT_READ | PROT_WRITE) != 0) ::_exit(1);
}

}  // namespace

LEAT_CHILD(faults_that_are_mended) {
  struct sigaction a = {};
  a.sa_sigaction = make_writable;
  a.sa_flags = SA_SIGINFO | SA_ONSTACK;
  ::sigaction(SIGSEGV, &a, nullptr);
  pages =
      static_cast<volatile char*>(::mmap(nullptr, 3 * page, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  in_a_g([] {
    for (std::size_t i = 0; i < 3; ++i) pages[i * page] = 1;
  });
  in_a_g([] { (void)::raise(SIGILL); });
}

TEST_CASE("a fault that the program mends is told once, and not as its end; what ends it is told as that") {
  const auto r = run_self("faults_that_are_mended");
  CHECK_MESSAGE(r.said("leat: the program may end by SIGSEGV"), r.output);
  CHECK(r.said("a handler of its own comes next"));
  CHECK(r.output.find("by SIGSEGV") == r.output.rfind("by SIGSEGV"));
  CHECK_MESSAGE(said_end(r, "SIGILL"), r.output);
  check_died(r, SIGILL);
}

namespace {

sigjmp_buf way_out;
void jump_out(int) { ::siglongjmp(way_out, 1); }

// As programs do that probe memory.
void probe_nowhere() {
  if (sigsetjmp(way_out, 1) == 0) write_nowhere();
}
void jump_out_of_faults() {
  struct sigaction a = {};
  a.sa_handler = jump_out;
  a.sa_flags = SA_ONSTACK;
  ::sigaction(SIGSEGV, &a, nullptr);
}

}  // namespace

LEAT_CHILD(abort_after_a_jump) {
  jump_out_of_faults();
  in_a_g(probe_nowhere);
  in_a_g([] { std::abort(); });  // on another thread
}
LEAT_CHILD(abort_after_a_jump_in_the_same_g) {
  jump_out_of_faults();
  in_a_g([] {
    probe_nowhere();
    std::abort();
  });
}

TEST_CASE("a crash is told also after the program has jumped out of its handler of an earlier fault") {
  for (const char* const how : {"abort_after_a_jump_in_the_same_g", "abort_after_a_jump"}) {
    const auto r = run_self(how);
    CHECK_MESSAGE(r.said("leat: the program may end by SIGSEGV"), r.output);
    CHECK_MESSAGE(said_end(r, "SIGABRT, in G"), r.output);
    check_died(r, SIGABRT);
  }
}
