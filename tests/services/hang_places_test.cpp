// SPDX-License-Identifier: BSL-1.0
//
// Hangs elsewhere than in run(): in a constructor, at the first start and at a restart; processes that go on
// although they were thrown out; and those that wait for a lock which one of them holds. They are replaced, a
// neighbour goes on, and SIGTERM is answered.
#include <pthread.h>
#include <signal.h>
#include <unistd.h>
#include <cstdio>
#include <cstdlib>

#include <leat/net/signals.hpp>

#include "misbehaving.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

std::atomic<int> made{0};         // objects of `hard_to_make`, from 1 on
std::atomic<int> hangs_first{0};  // the first object whose constructor hangs, and the last
std::atomic<int> hangs_last{0};
std::atomic<int> in_constructor{0};
std::atomic<int> beats{0};

[[gnu::noinline]] void spin() {
  volatile unsigned turns = 0;
  for (;;) turns = turns + 1;
}

[[gnu::noinline]] void read_for_ever() {
  int ends[2];
  char c = 0;
  if (::pipe(ends) == 0)
    while (::read(ends[0], &c, 1) < 0) {
    }
}

class hard_to_make : public process {
 public:
  hard_to_make() {
    const int n = ++made;
    if (n < hangs_first || n > hangs_last) return;
    ++in_constructor;
    spin();
  }

 private:
  void run() override { act(++act_runs, {}); }
};

// The neighbour: it works all the time.
class heart : public process {
  void run() override {
    while (sleep_for(1ms) != sleep_result::stopped) ++beats;
  }
};

bool goes_on() {
  const int before = beats;
  return eventually([=] { return beats >= before + 5; });
}

void wait_for_stop() {
  while (sleep_for(1h) != sleep_result::stopped) {
  }
}

// With a SIGTERM for this program when `meanwhile` has returned.
template <class F>
ledger run_until_sigterm(const config::plan& p, F meanwhile) {
  ledger l;
  leat::run(runtime_options_of(p), [&] {
    const in<int> asked = signals(SIGTERM);
    auto beside = spawn("beside", [&] {
      CHECK(goes_on());
      meanwhile();
      CHECK(goes_on());
      ::kill(::getpid(), SIGTERM);
    });
    l = host(p).run(asked);
  });
  return l;
}

config::plan plan_with(const std::string& use, const std::string& restart, const std::string& limits) {
  const config::plan p = plan_of(
      "[service]\nname = \"s\"\ndrain = \"50ms\"\n[runtime]\nprocs = 2\n[process.neighbour]\nuse = "
      "\"heart\"\ngrace = \"1m\"\n[process.p]\nuse = \"" +
      use + "\"\nrestart = { backoff = [\"1ms\", \"1ms\"], burst = 1000" + restart + " }\n" + limits);
  act_runs = made = in_constructor = beats = 0;
  return p;
}

void constructors_hang(int first, int last) {
  hangs_first = first;
  hangs_last = last;
}

}  // namespace

LEAT_PROCESS(hard_to_make, "whose constructor may hang");
LEAT_PROCESS(heart, "works all the time");

TEST_CASE("a constructor that hangs at the first start is a hang of its process, which is replaced") {
  if (fiber::under_tsan) return;
  log_catcher log;
  const config::plan p = plan_with("hard_to_make", "", "hang = \"30ms\"\ngrace = \"10ms\"\n");
  constructors_hang(1, 3);
  act = [](int, const in<number>&) { wait_for_stop(); };
  const ledger l = run_until_sigterm(p, [] { CHECK(eventually([] { return act_runs == 1; })); });
  INFO(log.text());
  const process_account& a = process_of(l, p, "p");
  CHECK(made == 4);
  CHECK(a.runs == 4);
  CHECK(a.failures == 3);
  CHECK(a.overruns == 3);
  CHECK(a.quarantined == 3);
  CHECK(process_of(l, p, "neighbour").runs == 1);
  CHECK(exit_code(l) == 0);
  CHECK(count_of(log.text(), " and never entered: it is quarantined; what it holds stays held") == 3);
}

TEST_CASE("a constructor that hangs at a restart is a hang of its process, which is replaced") {
  if (fiber::under_tsan) return;
  log_catcher log;
  const config::plan p = plan_with("hard_to_make", "", "hang = \"30ms\"\ngrace = \"10ms\"\n");
  constructors_hang(2, 3);
  act = [](int run, const in<number>&) {
    if (run == 1) throw std::runtime_error("the first one fails");
    wait_for_stop();
  };
  const ledger l = run_until_sigterm(p, [] { CHECK(eventually([] { return act_runs == 2; })); });
  INFO(log.text());
  const process_account& a = process_of(l, p, "p");
  CHECK(made == 4);
  CHECK(a.runs == 4);
  CHECK(a.failures == 3);
  CHECK(a.quarantined == 2);
  CHECK(process_of(l, p, "neighbour").runs == 1);
  CHECK(exit_code(l) == 0);
  CHECK(log.said("failed: the first one fails; restarts in "));
}

TEST_CASE("a signal to end is answered while a constructor hangs") {
  if (fiber::under_tsan) return;
  for (const bool at_restart : {false, true}) {
    log_catcher log;
    const config::plan p = plan_with("hard_to_make", "", "hang = \"1h\"\ngrace = \"10ms\"\n");
    constructors_hang(at_restart ? 2 : 1, 1000);
    act = [](int, const in<number>&) { throw std::runtime_error("the first one fails"); };
    const ledger l = run_until_sigterm(p, [] { CHECK(eventually([] { return in_constructor == 1; })); });
    INFO(log.text());
    CHECK(process_of(l, p, "p").runs == (at_restart ? 2 : 1));
    CHECK(process_of(l, p, "p").quarantined == 1);
    CHECK(process_of(l, p, "neighbour").failures == 0);
    CHECK(log.said("went on after it was thrown out: it is quarantined"));
  }
}

namespace {

// Thrown out at each entry, it goes on all the same.
[[noreturn]] void swallow_stops() {
  for (;;) try {
      (void)sleep_for(1ms);
    } catch (const stopped&) {
    }
}

}  // namespace

TEST_CASE("one that swallows its stop after a silence or a hang is quarantined and replaced") {
  if (fiber::under_tsan) return;
  for (const bool after_hang : {false, true}) {
    log_catcher log;
    const config::plan p =
        plan_with("acts", "",
                  std::string("grace = \"10ms\"\n") +
                      (after_hang ? "hang = \"30ms\"\n" : "hang = \"1m\"\nwatchdog = \"200ms\"\n"));
    act = [=](int run, const in<number>&) {
      if (run > 3) return;  // ended for good: a silence would fail it again
      while (after_hang && !stop_requested()) {
      }
      swallow_stops();
    };
    const ledger l = run_until_sigterm(p, [] { CHECK(eventually([] { return act_runs == 4; })); });
    INFO(log.text());
    const process_account& a = process_of(l, p, "p");
    CHECK(a.runs == 4);
    CHECK(a.failures == 3);
    CHECK(a.quarantined == 3);
    CHECK(a.left_behind == 0);
    CHECK(process_of(l, p, "neighbour").runs == 1);
    CHECK(exit_code(l) == 0);
    CHECK(count_of(log.text(), "it is quarantined; what it holds stays held") == 3);
    // After a hang it may not have come in before it was put out, on a busy machine.
    if (after_hang) continue;
    CHECK(count_of(log.text(), "does not end: it is put out where it stands") == 3);
    CHECK(count_of(log.text(), "went on after it was thrown out: it is quarantined") == 3);
    CHECK(log.said("failed: it has neither received nor sent for 200ms"));
  }
}

TEST_CASE("one that swallows its stop when others restart, or at the end, is quarantined") {
  if (fiber::under_tsan) return;
  for (const bool at_the_end : {false, true}) {
    log_catcher log;
    static std::atomic<int> swallowing{0};
    swallowing = 0;
    const config::plan p =
        plan_with("acts", ", strategy = \"one-for-all\"", "grace = \"10ms\"\nreplicas = 2\n");
    act = [=](int run, const in<number>&) {
      if (run == 1) {
        ++swallowing;
        swallow_stops();
      }
      if (run == 2 && !at_the_end) {
        CHECK(eventually([] { return swallowing == 1; }));
        throw std::runtime_error("fails");
      }
      wait_for_stop();
    };
    const int runs = at_the_end ? 2 : 4;
    const ledger l = run_until_sigterm(p, [=] { CHECK(eventually([=] { return act_runs == runs; })); });
    INFO(log.text());
    const process_account& a = process_of(l, p, "p");
    CHECK(a.runs == static_cast<std::uint64_t>(runs));
    CHECK(a.quarantined == 1);
    CHECK(a.left_behind == 0);
    CHECK(log.said("went on after it was thrown out: it is quarantined"));
  }
}

TEST_CASE("the ledger tells what has become of the threads of quarantined processes") {
  if (fiber::under_tsan || fiber::under_asan) return;  // with ASan the spinning one was seen to stay fenced
  log_catcher log;
  const config::plan p = plan_with("acts", "", "hang = \"30ms\"\ngrace = \"10ms\"\n");
  static std::atomic<bool> released;
  released = false;
  act = [](int run, const in<number>&) {
    if (run == 1) spin();
    if (run == 2) read_for_ever();
    // Below a frame of the C library its thread is neither left nor stopped.
    int two[] = {2, 1};
    if (run == 3)
      std::qsort(two, 2, sizeof two[0], [](const void*, const void*) {
        while (!released) {
        }
        return 0;
      });
    wait_for_stop();
  };
  ledger l =
      run_until_sigterm(p, [] { CHECK(eventually([] { return act_runs == 4 && stats().fenced == 1; })); });
  released = true;
  INFO(log.text());
  CHECK(process_of(l, p, "p").quarantined == 3);
  CHECK(l.fenced + l.frozen + l.back == 3);
  CHECK(l.fenced == 1);
  CHECK(l.frozen == 1);
  l.fenced = l.frozen = l.back = 1;
  CHECK(to_text(l, p).find("\nthreads of quarantined processes: fenced 1, frozen 1, back 1\n") !=
        std::string::npos);
  l.fenced = l.frozen = l.back = 0;
  CHECK(to_text(l, p).find("threads of quarantined") == std::string::npos);
}

namespace {

pthread_mutex_t of_a_library = PTHREAD_MUTEX_INITIALIZER;
std::atomic<bool> is_held{false};

// In a process of its own: who waits for the lock waits until the program ends.
[[noreturn]] void wait_for_a_held_lock(void (*hold)()) {
  static void (*how)();
  how = hold;
  act = [](int, const in<number>&) {
    const bool holds = !is_held.exchange(true);
    if (holds) {
      ::pthread_mutex_lock(&of_a_library);
      how();
    }
    // The other one, when that is out.
    (void)eventually([] { return stats().quarantined == 1; });
    ::pthread_mutex_lock(&of_a_library);
  };
  const config::plan p = plan_of(R"(
[service]
name = "s"
[runtime]
procs = 2
max_quarantined = 1
grace = "10ms"
[supervisor]
on_limit = "exit"
[process.p]
use = "acts"
replicas = 2
hang = "30ms"
grace = "10ms"
restart = { when = "never" }
)");
  log_catcher log;
  ledger l;
  leat::run(runtime_options_of(p), [&] { l = host(p).run({}); });
  std::fprintf(stderr, "%sexit code %d\n", log.text().c_str(), exit_code(l));
  std::fflush(stderr);
  ::_exit(0);
}

}  // namespace

LEAT_CHILD(waits_for_one_that_computes) { wait_for_a_held_lock(spin); }
LEAT_CHILD(waits_for_one_that_reads) { wait_for_a_held_lock(read_for_ever); }

TEST_CASE("who waits for a mutex that a quarantined process holds is told whose it is, at the limit") {
  if (fiber::under_tsan) return;
  for (const char* const child : {"waits_for_one_that_computes", "waits_for_one_that_reads"}) {
    const auto r = leat::test::run_self(child);
    INFO(std::string(child), "\n", r.output);
    CHECK(r.exited(0));
    CHECK(r.said("max_quarantined = 1 is the limit: the program ends"));
    const bool first_holds = r.said("'p/1' (acts, t.toml:11) waits for a mutex");
    const std::string holder = first_holds ? "p/0" : "p/1", waiter = first_holds ? "p/1" : "p/0";
    CHECK(r.said("waits for a mutex that the quarantined '" + holder + "' holds, and so may others."));
    CHECK(r.said("process '" + waiter + "' (acts, t.toml:11) waits for a mutex that '" + holder +
                 "' holds, which is quarantined"));
    CHECK(r.said("process '" + holder + "' (acts, t.toml:11) has run for "));
    CHECK(r.said("on_limit = \"exit\" lets systemd start one"));
    CHECK(r.said("exit code 1\n"));
  }
}
