// SPDX-License-Identifier: BSL-1.0
//
// Each way to misbehave, under each policy and strategy: what restarts, what does not, what is said.
#include <unistd.h>
#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <new>

#include "misbehaving.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

// Its thread is taken away between the two calls, and what it had is lost.
extern "C" const char* __lsan_default_suppressions() { return "leak:allocate_for_ever"; }

namespace {

// With sysmon's half of it, Gs that never enter the runtime are taken away; without, they cannot be.
#if __has_include(<leat/sched/overrun_watch.hpp>)
constexpr bool hung_ones_are_quarantined = !fiber::under_tsan;
#else
constexpr bool hung_ones_are_quarantined = false;
#endif

enum class ends { by_throwing, by_returning, by_overrun, by_watchdog };

struct way {
  const char* name;
  ends how;
  void (*misbehave)(const in<number>& values);
  const char* said;
};

[[gnu::noinline]] void spin() {
  volatile unsigned turns = 0;
  for (;;) turns = turns + 1;
}

volatile std::size_t block_size = 100;
[[gnu::noinline]] void allocate_for_ever() {
  for (;;) std::free(std::malloc(block_size));
}

leat::mutex& held_for_good = *new leat::mutex;  // it must not die while it is held

const way ways[] = {
    {"throws", ends::by_throwing, [](const in<number>&) { throw std::runtime_error("thrown"); },
     "failed: thrown; "},
    {"returns early", ends::by_returning, [](const in<number>&) {}, ""},
    {"computes for ever", ends::by_overrun, [](const in<number>&) { spin(); },
     " without entering the runtime: it is asked to stop"},
    {"allocates for ever", ends::by_overrun, [](const in<number>&) { allocate_for_ever(); },
     " without entering the runtime: it is asked to stop"},
    {"blocks in a read", ends::by_overrun,
     [](const in<number>&) {
       int ends[2];
       char c = 0;
       if (::pipe(ends) == 0)
         while (::read(ends[0], &c, 1) < 0) {
         }
     },
     " without entering the runtime: it is asked to stop"},
    {"computes with a lock held", ends::by_overrun,
     [](const in<number>&) LEAT_NO_THREAD_SAFETY_ANALYSIS {
       if (held_for_good.try_lock()) spin();
       spin();
     },
     " without entering the runtime: it is asked to stop"},
    {"waits for what never comes", ends::by_watchdog, [](const in<number>& values) { (void)values.recv(); },
     "failed: it has neither received nor sent for 1s; "},
};

// From sink to source: last, p, first. p is the one.
config::plan chain(const way& w, const std::string& when, const std::string& strategy) {
  std::string limits = "grace = \"20ms\"\n";
  if (w.how == ends::by_overrun) limits += "hang = \"40ms\"\n";
  if (w.how == ends::by_watchdog) limits += "watchdog = \"1s\"\n";
  return plan_of(
      "[service]\nname = \"s\"\ndrain = \"10ms\"\n[supervisor]\ngrace = \"10s\"\n[runtime]\nprocs = "
      "2\n[process.p]\n"
      "use = \"acts\"\n" +
      limits + "restart = { when = \"" + when + "\", strategy = \"" + strategy +
      "\", backoff = [\"1ms\", \"1ms\"] }\n" + R"(
in = { values = "first.to" }
out = { to = "done" }
[channel.done]
[process.last]
use = "bystander"
in = { values = "done" }
[process.first]
use = "bystander"
)");
}

void under_each_policy_and_strategy(const way& w) {
  if (w.how == ends::by_overrun && !hung_ones_are_quarantined) return;
  for (const std::string when : {"always", "failure", "never"}) {
    for (const std::string strategy : {"one-for-one", "one-for-all", "rest-for-one"}) {
      log_catcher log;
      const bool fails = w.how != ends::by_returning;
      const bool restarts = when == "always" || (when == "failure" && fails);
      act_runs = 0;
      events.clear();
      act = [&](int run, const in<number>& values) {
        // The others are there first, so that what happens to them can be told.
        if (run == 1) CHECK(eventually(both_started));
        if (run == 1) return w.misbehave(values);
        while (sleep_for(1h) != sleep_result::stopped) {
        }
      };
      const config::plan p = chain(w, when, strategy);
      std::string meanwhile;
      const ledger l = run_plan(p, [&](const channel<int>& stop) {
        if (restarts) {
          CHECK(eventually([&] { return act_runs >= 2; }));
          const std::size_t others = strategy == "one-for-one" ? 0 : strategy == "one-for-all" ? 2 : 1;
          CHECK(eventually([&] { return count_of(events.text(), "+") >= 2 + others; }));
        } else {
          CHECK(eventually([&] { return act_runs == 1 && (!fails || log.said("it stays ended")); }));
          (void)sleep_for(3ms);
        }
        meanwhile = what_followed();
        stop.send(15);
      });
      const process_account& a = process_of(l, p, "p");
      INFO(std::string(w.name), ", ", when, ", ", strategy, "\n", log.text());
      CHECK(a.runs == (restarts ? 2 : 1));
      CHECK(a.failures == (fails ? 1 : 0));
      CHECK(a.overruns == (w.how == ends::by_overrun ? 1 : 0));
      CHECK(a.quarantined == (w.how == ends::by_overrun ? 1 : 0));
      CHECK(a.left_behind == 0);
      CHECK(exit_code(l) == (restarts || !fails ? 0 : 1));
      CHECK(log.said(w.said));
      if (w.how == ends::by_overrun) CHECK(log.said("what it holds stays held"));
      if (!restarts || strategy == "one-for-one") {
        CHECK(meanwhile.empty());
      } else if (strategy == "one-for-all") {
        CHECK(meanwhile.substr(0, 12) == "-first -last");
      } else {
        CHECK(meanwhile == "-first +first");
      }
    }
  }
}

}  // namespace

// Apart, since each has its time limit; one that is seldom where it can be left takes seconds on a loaded
// machine.
TEST_CASE("a process that throws, under each policy and strategy") {
  under_each_policy_and_strategy(ways[0]);
}
TEST_CASE("one that returns early") { under_each_policy_and_strategy(ways[1]); }
TEST_CASE("one that computes for ever" * doctest::timeout(280)) { under_each_policy_and_strategy(ways[2]); }
TEST_CASE("one that allocates for ever" * doctest::timeout(280)) { under_each_policy_and_strategy(ways[3]); }
TEST_CASE("one that blocks in a read" * doctest::timeout(280)) { under_each_policy_and_strategy(ways[4]); }
TEST_CASE("one that computes for ever with a lock held" * doctest::timeout(280)) {
  under_each_policy_and_strategy(ways[5]);
}
TEST_CASE("one that waits for what never comes" * doctest::timeout(280)) {
  under_each_policy_and_strategy(ways[6]);
}

namespace {

[[gnu::noinline]] int recurse(int depth) {
  volatile char room[1024];
  room[0] = static_cast<char>(depth);
  return depth < 1'000'000'000 ? recurse(depth + 1) + room[0] : 0;
}

}  // namespace

LEAT_CHILD(a_service_overflows_a_stack) {
  act = [](int, const in<number>&) { (void)recurse(0); };
  const config::plan p = plan_of("[service]\nname = \"s\"\n[process.deep]\nuse = \"acts\"\n");
  leat::run(runtime_options_of(p), [&] { (void)host(p).run({}); });
}

TEST_CASE("one that overflows its stack ends the program, with a report that names it") {
  if (fiber::under_tsan) return;
  const auto child = leat::test::run_self("a_service_overflows_a_stack");
  INFO(child.output);
  CHECK(child.exit_code != 0);  // a signal; a sanitizer makes an exit of it
  CHECK(child.output.find("'deep' overflowed its stack") != std::string::npos);
}

LEAT_CHILD(a_service_crashes) {
  act = [](int run, const in<number>& values) {
    for (int i = 0; i < 3; ++i) (void)values.recv();
    if (run == 1) throw std::runtime_error("the first time it only fails");
    std::abort();
  };
  const config::plan p = plan_of(R"([service]
name = "s"
[process.feeder]
use = "counter"
config = { count = 100 }
out = { values = "c" }
[process.culprit]
use = "acts"
in = { values = "c" }
restart = { backoff = ["1ms", "1ms"] }
[channel.c]
capacity = 2
)");
  leat::run(runtime_options_of(p), [&] { (void)host(p).run({}); });
}

TEST_CASE("a crash names the process that was running, its incarnation, and what went through its channels") {
  const auto child = leat::test::run_self("a_service_crashes");
  INFO(child.output);
  CHECK(child.exit_code != 0);
  CHECK(child.said("by SIGABRT, in G "));
  // Not only where abort() stands in the C library: its callers, which addr2line knows.
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").filename().string();
  if (!fiber::under_asan) CHECK(count_of(child.output, ' ' + self + "+0x") >= 3);
  CHECK(child.said("leat: that is process 'culprit' (acts, t.toml:8), incarnation 2\n"));
  const std::size_t at = child.output.find("leat: channel s/c: sent ");
  REQUIRE(at != std::string::npos);
  unsigned sent = 0, received = 0, dropped = 0, left = 0;
  REQUIRE(std::sscanf(child.output.c_str() + at,
                      "leat: channel s/c: sent %u = received %u + dropped %u + left %u", &sent, &received,
                      &dropped, &left) == 4);
  CHECK(received == 6);
  CHECK(sent == received + dropped + left);
}

namespace {

// What runs on keeps its thread busy until the program ends.
[[noreturn]] void hang_beyond_the_limit(const std::string& on_limit) {
  act = [](int, const in<number>&) {
    (void)eventually([] { return events.text() == "+first"; });
    spin();
  };
  const config::plan p = plan_of_files({{"bad.toml", R"(
[service]
name = "bad"
[runtime]
procs = 2
max_quarantined = 0
grace = "10ms"
[supervisor]
on_limit = ")" + on_limit + R"("
[process.p]
use = "acts"
hang = "30ms"
grace = "10ms"
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
    const channel<int> stop(2);
    if (on_limit != "exit")
      go([&] {
        (void)eventually([&] { return log.said("did not end and is left behind"); });
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

LEAT_CHILD(hangs_beyond_the_limit) { hang_beyond_the_limit("stop-service"); }
LEAT_CHILD(hangs_beyond_the_limit_and_exits) { hang_beyond_the_limit("exit"); }

TEST_CASE("one that hangs beyond max_quarantined stops its service, or the program, by on_limit") {
  const auto stops = leat::test::run_self("hangs_beyond_the_limit");
  INFO(stops.output);
  CHECK(stops.exited(0));
  CHECK(stops.said("it runs on, max_quarantined = 0 is the limit: its service 'bad' stops"));
  CHECK(stops.said("+first -first, the other service went on, exit code 1\n"));
  const auto exits = leat::test::run_self("hangs_beyond_the_limit_and_exits");
  INFO(exits.output);
  CHECK(exits.exited(0));
  CHECK(exits.said("process 'p' (acts, "));
  CHECK(exits.said("max_quarantined = 0 is the limit: the program ends"));
  CHECK(exits.said("+first -first, exit code 1\n"));
}

TEST_CASE("where a process hangs is told by name") {
  if (!hung_ones_are_quarantined) return;
  log_catcher log;
  const config::plan p = plan_of(
      // Long enough that a machine which stands still while the process starts is not taken for the hang.
      "[service]\nname = \"s\"\n[process.p]\nuse = \"acts\"\nhang = \"300ms\"\ngrace = \"100ms\"\n"
      "restart = { backoff = [\"0\", \"0\"] }\n");
  act_runs = 0;
  act = [&log](int run, const in<number>&) {
    if (run == 1) spin();
    // Afterwards, by a G of its own.
    CHECK(
        eventually([&] { return log.said(" stood in ") && log.said("leat::services::test::acts::run()"); }));
  };
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(log.said("process 'p' (acts, t.toml:4) has run for "));
  CHECK(log.said("process 'p' (acts, t.toml:4) stood in "));
  CHECK(log.said("leat::services::test::acts::run()"));
  CHECK(log.said("; what it holds stays held"));
  CHECK(to_text(l, p).find("restarts 1, overruns 1, quarantined 1, longest run ") != std::string::npos);
}

TEST_CASE("the ledger tells the longest run of all incarnations") {
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\n[process.p]\nuse = \"acts\"\nhang = \"40ms\"\ngrace = \"1h\"\nrestart = { "
      "backoff = [\"0\", \"0\"] }\n");
  act_runs = 0;
  act = [](int run, const in<number>&) {
    while (run == 1 && !stop_requested()) {
    }
  };
  log_catcher log;
  ledger l = run_plan(p);
  process_account& a = l.processes[0];
  CHECK(a.runs == 2);
  CHECK(a.longest_run >= 40ms);
  a.longest_run = 1234567us;
  CHECK(to_text(l, p).find(", overruns 1, longest run 1.23s\n") != std::string::npos);
  a.longest_run = 0s;
  CHECK(to_text(l, p).find(", overruns 1, longest run under 20ms\n") != std::string::npos);
}

TEST_CASE("a value in hand when its process hung comes again") {
  if (!hung_ones_are_quarantined) return;
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
config = { count = 20 }
[process.p]
use = "acts"
hang = "30ms"
grace = "10ms"
in = { values = "source.values" }
delivery = "at-least-once"
restart = { backoff = ["0", "0"] }
)");
  std::vector<int> got;
  act_runs = 0;
  act = [&](int run, const in<number>& values) {
    for (const number& v : values) {
      got.push_back(v.n);
      if (run <= 2 && v.n == 7) spin();
    }
  };
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "p").quarantined == 2);
  CHECK(process_of(l, p, "p").redelivered == 2);
  CHECK(got.size() == 22);
  CHECK(std::count(got.begin(), got.end(), 7) == 3);
}
