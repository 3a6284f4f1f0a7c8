// SPDX-License-Identifier: BSL-1.0
//
// Hangs elsewhere than in run(): in a constructor, at the first start and at a restart. They are replaced, a
// neighbour goes on, and SIGTERM is answered.
#include <signal.h>
#include <unistd.h>

#include <leat/net/signals.hpp>

#include "misbehaving.hpp"

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
