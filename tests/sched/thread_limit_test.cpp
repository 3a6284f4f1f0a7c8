// SPDX-License-Identifier: BSL-1.0
//
// What a runtime does when the system refuses it threads. Each case is a child process: the limits cannot be
// taken back.
#include <unistd.h>
#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <string>
#include <system_error>
#include <vector>

#include <doctest/doctest.h>

#include <leat/fiber/annotate.hpp>
#include <leat/leat.hpp>

#include "support/child.hpp"
#include "support/few_threads.hpp"

using namespace leat::test;
using namespace std::chrono_literals;

namespace {

constexpr int cannot = 77;  // the machine does not let us make the limit

std::size_t lines_with(const std::string& text, const std::string& part) {
  std::size_t n = 0;
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++n;
  return n;
}

bool had_no_limit(const child_result& r) {
  if (!r.exited(cannot)) return false;
  MESSAGE("this machine does not let the test limit threads");
  return true;
}

}  // namespace

LEAT_CHILD(no_thread_at_all) {
  if (!refuse_threads()) std::_Exit(cannot);
  for (int i = 0; i < 2; ++i) {  // a program may try again
    try {
      leat::run([] { std::puts("it ran"); });
    } catch (const std::system_error& e) {
      std::printf("refused: %s\n", e.what());
    }
  }
  std::fflush(stdout);
}

TEST_CASE("a runtime that gets no thread at all throws, and says what to raise") {
  const child_result r = run_self("no_thread_at_all");
  if (had_no_limit(r)) return;
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(lines_with(r.output, "\n") == 2);
  CHECK(lines_with(r.output, "refused: leat::run needs a thread beside the one that calls it") == 2);
  CHECK(lines_with(r.output, "TasksMax") == 2);
}

LEAT_CHILD(no_further_thread) {
  std::atomic<int> done{0};
  const int status = leat::run({.procs = 4}, [&] {
    if (!refuse_threads()) return cannot;
    std::vector<leat::task<void>> all;
    for (int i = 0; i < 300; ++i)
      all.push_back(leat::spawn([&, i] {
        if (i % 3 == 0) leat::blocking([] { ::usleep(100); });
        if (i % 3 == 1) (void)leat::sleep_for(1ms);
        for (int k = 0; k < 20; ++k) leat::yield();
        ++done;
      }));
    for (auto& t : all) t.get();
    return done == 300 ? 0 : 1;
  });
  std::_Exit(status);
}

TEST_CASE("threads that are refused while it runs are told once, and those that there are do all the work") {
  const child_result r = run_self("no_further_thread");
  if (had_no_limit(r)) return;
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(lines_with(r.output, "no further thread") <= 1);
  CHECK(lines_with(r.output, "\n") <= 1);
  if (r.said("no further thread")) CHECK(r.said("TasksMax"));
}

LEAT_CHILD(a_thread_later) {
  if (!allow_threads(leat::fiber::under_tsan ? 3 : 2)) std::_Exit(cannot);
  const int status = leat::run({.procs = 1}, [] {
    std::atomic<bool> served{false};
    leat::go("server", [&] { served = true; });
    // The server is queued. While this G is in the call it needs a thread; first there is none, then there
    // is.
    return leat::blocking([&] {
      const rlimit more{100, 1000};
      if (::setrlimit(RLIMIT_NPROC, &more) != 0) return cannot;
      for (int i = 0; i < 20'000 && !served; ++i) ::usleep(1'000);
      return served ? 0 : 1;
    });
  });
  std::_Exit(status);
}

TEST_CASE("work that waited for a thread goes on when there is one to be had again") {
  const child_result r = run_self("a_thread_later");
  if (had_no_limit(r)) return;
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(lines_with(r.output, "no further thread") == 1);
}

LEAT_CHILD(own_thread_refused) {
  const int status = leat::run({.procs = 1}, [] {
    if (!refuse_threads()) return cannot;
    auto t = leat::spawn({.name = "own", .thread = leat::sched::own_thread{}}, [] {});
    try {
      t.get();
    } catch (const leat::spawn_error& e) {
      std::printf("%s\n", e.what());
      std::fflush(stdout);
      return 0;
    }
    return 1;
  });
  std::_Exit(status);
}

TEST_CASE("a G that wants a thread of its own and gets none ends with an error") {
  const child_result r = run_self("own_thread_refused");
  if (had_no_limit(r)) return;
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("no thread of its own"));
}
