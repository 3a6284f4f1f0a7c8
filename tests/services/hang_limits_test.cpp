// SPDX-License-Identifier: BSL-1.0
//
// Hangs that take what cannot be had again: the last thread, and the signals that system() turns off.
#include <signal.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

#include <leat/net/signals.hpp>

#include "misbehaving.hpp"
#include "support/child.hpp"
#include "support/few_threads.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

constexpr int cannot = 77;  // the machine does not let us make the limit

void wait_for_nothing() {
  int ends[2];
  char c = 0;
  if (::pipe(ends) == 0)
    while (::read(ends[0], &c, 1) < 0) {
    }
}

// Every run of p takes a thread for good, and from its run number `last` on there are no new ones.
[[noreturn]] void hang_without_threads(const std::string& on_limit, int last) {
  act = [last](int run, const in<number>&) {
    (void)eventually([] { return events.text() == "+first"; });
    // The thread that goes on when this one hangs is made by the other, in its own time.
    if (run == last) (void)eventually([] { return stats().threads >= 2; });
    if (run == last && !leat::test::refuse_threads()) ::_exit(cannot);
    wait_for_nothing();
  };
  const config::plan p = plan_of_files({{"bad.toml", R"(
[service]
name = "bad"
[runtime]
procs = 2
grace = "10ms"
[supervisor]
host_hang = "2s"
on_limit = ")" + on_limit + R"("
[process.p]
use = "acts"
hang = "30ms"
grace = "10ms"
restart = { backoff = ["1ms", "1ms"], burst = 1000, window = "1s" }
)"},
                                        {"good.toml", R"(
[service]
name = "good"
[process.first]
use = "bystander"
grace = "20s"
)"}});
  log_catcher log;
  ledger l;
  bool goes_on = false;
  leat::run(runtime_options_of(p), [&] {
    if (last == 0 && !leat::test::refuse_threads()) ::_exit(cannot);
    const channel<int> stop(2);
    if (on_limit != "exit")
      go([&] {
        (void)eventually([&] { return log.said("its service 'bad' stops"); });
        goes_on = events.text() == "+first";
        (void)stop.try_send(15);
      });
    l = host(p).run(stop);
  });
  std::fprintf(stderr, "%s%s%s, exit code %d\n", log.text().c_str(), events.text().c_str(),
               goes_on ? ", the other service went on" : "", exit_code(l));
  std::fflush(stderr);
  ::_exit(0);
}

}  // namespace

LEAT_CHILD(hangs_without_threads) { hang_without_threads("stop-service", 3); }
LEAT_CHILD(hangs_without_threads_and_exits) { hang_without_threads("exit", 3); }
LEAT_CHILD(hangs_on_the_only_thread) { hang_without_threads("exit", 0); }

TEST_CASE("hangs that take one thread after the other end by on_limit before the last one is gone") {
  if (fiber::under_tsan) return;
  const auto stops = leat::test::run_self("hangs_without_threads");
  if (stops.exited(cannot)) {
    MESSAGE("this machine does not let the test limit threads");
    return;
  }
  INFO(stops.output);
  CHECK(stops.exited(0));
  CHECK(count_of(stops.output, "its service 'bad' stops") == 1);
  CHECK(stops.said(", the other service went on, exit code 1\n"));
  const auto exits = leat::test::run_self("hangs_without_threads_and_exits");
  INFO(exits.output);
  CHECK(exits.exited(0));
  CHECK(count_of(exits.output, "could stop all others: the program ends") == 1);
  CHECK(exits.said("+first -first, exit code 1\n"));
}

// The last thread but one, while the last one computes for so long that no word of a further thread comes from it.
LEAT_CHILD(hangs_beside_one_that_computes) {
  static std::atomic<bool> hangs{false}, computes{false};
  act = [](int run, const in<number>&) {
    (void)eventually([] { return computes.load(); });
    if (run == 1 && !leat::test::refuse_threads()) ::_exit(cannot);
    hangs = true;
    wait_for_nothing();
  };
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\n[runtime]\nprocs = 2\ngrace = \"10ms\"\n[supervisor]\nhost_hang = \"20s\"\n"
      "on_limit = \"exit\"\n[process.p]\nuse = \"acts\"\nhang = \"30ms\"\ngrace = \"10ms\"\n"
      "restart = { backoff = [\"1ms\", \"1ms\"] }\n");
  log_catcher log;
  ledger l;
  leat::run(runtime_options_of(p), [&] {
    go([] {
      computes = true;
      while (!hangs) yield();
      for (const auto begin = std::chrono::steady_clock::now();
           std::chrono::steady_clock::now() - begin < 1s;) {
      }
    });
    const channel<int> stop(2);
    l = host(p).run(stop);
  });
  std::fprintf(stderr, "%s exit code %d\n", log.text().c_str(), exit_code(l));
  std::fflush(stderr);
  ::_exit(0);
}

TEST_CASE("what becomes of the last thread is not left to one that computes") {
  if (fiber::under_tsan) return;
  const auto child = leat::test::run_self("hangs_beside_one_that_computes");
  if (child.exited(cannot)) return;
  INFO(child.output);
  CHECK(child.exited(0));
  CHECK(child.said("could stop all others: the program ends"));
  CHECK(child.said(" exit code 1\n"));
}

TEST_CASE("a hang on the only thread ends the program, which says what to raise") {
  if (fiber::under_tsan) return;
  const auto child = leat::test::run_self("hangs_on_the_only_thread");
  if (child.exited(cannot)) return;
  INFO(child.output);
  CHECK(child.exited(70));
  CHECK(child.said("the host has made no step for "));
  CHECK(child.said(
      "it could run, but every thread is busy, and the system gave no further one: raise TasksMax="));
}

LEAT_CHILD(hangs_in_system) {
  act = [](int run, const in<number>&) {
    if (run == 1) (void)!std::system("grep SigIgn /proc/$PPID/status >&2; exec sleep 20");
    while (sleep_for(1h) != sleep_result::stopped) {
    }
  };
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\n[runtime]\nprocs = 2\n[process.p]\nuse = \"acts\"\nhang = \"1s\"\ngrace = "
      "\"10ms\"\nrestart = { backoff = [\"1ms\", \"1ms\"] }\n");
  log_catcher log;
  leat::run(runtime_options_of(p), [&] {
    const channel<int> stop(2);
    const in<int> asked = leat::signals(SIGINT);
    go([&] {
      const bool replaced = eventually([] { return act_runs == 2; });
      // On a slow machine the call is stopped in its wait some time after it was replaced.
      const bool restored = eventually([] {
        struct sigaction now = {};
        return ::sigaction(SIGINT, nullptr, &now) == 0 && now.sa_handler != SIG_IGN;
      });
      std::fprintf(stderr, "replaced %d, restored %d\n", replaced, restored);
      ::kill(::getpid(), SIGINT);
      if (const auto s = asked.recv_until(leat::now() + 5s)) std::fprintf(stderr, "signal %d came\n", *s);
      (void)stop.try_send(15);
    });
    (void)host(p).run(stop);
  });
  std::fflush(stderr);
  ::_exit(0);
}

TEST_CASE("after a system() that never ended SIGINT is taken again") {
  if (fiber::under_tsan) return;
  const auto child = leat::test::run_self("hangs_in_system");
  INFO(child.output);
  CHECK(child.exited(0));
  // A mask of those that were ignored meanwhile: SIGINT is 2 of its last digit.
  const std::size_t mask = child.output.find("SigIgn:\t");
  REQUIRE(mask != std::string::npos);
  CHECK((std::strtoull(child.output.c_str() + mask + 8, nullptr, 16) & 2) != 0);
  CHECK(child.said("replaced 1, restored 1\n"));
  CHECK(child.said("signal 2 came\n"));
}
