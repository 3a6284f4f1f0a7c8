// SPDX-License-Identifier: BSL-1.0
//
// What is restarted, in which order, how often, and what is said about it.
#include <algorithm>
#include <functional>
#include <thread>
#include "misbehaving.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

// It is stopped when `enough` says so; empty: it ends by itself.
ledger run_acting(const config::plan& p, std::function<void(int, const in<number>&)> what,
                  const std::function<bool()>& enough) {
  act = std::move(what);
  act_runs = 0;
  events.clear();
  return run_plan(p, [&](const channel<int>& stop) {
    if (!enough) return;
    CHECK(eventually(enough));
    stop.send(15);
  });
}
// `stop_at`: it is stopped when so many runs have begun; 0: it ends by itself.
ledger run_acting(const config::plan& p, std::function<void(int, const in<number>&)> what, int stop_at = 0) {
  if (stop_at == 0) return run_acting(p, std::move(what), std::function<bool()>());
  return run_acting(p, std::move(what), [stop_at] { return act_runs >= stop_at; });
}

std::string alone(const std::string& restart, const std::string& more = {}) {
  return "[service]\nname = \"s\"\ndrain = \"20ms\"\n[supervisor]\ngrace = \"10s\"\n[process.p]\nuse = "
         "\"acts\"\n"
         "restart = { " +
         restart + " }\n" + more;
}

// Three in a row, from sink to source: last, p, first. p acts.
config::plan chain(const std::string& restart) {
  return plan_of(alone(restart, R"(
in = { values = "first.to" }
out = { to = "done" }
[channel.done]
[process.last]
use = "bystander"
in = { values = "done" }
[process.first]
use = "bystander"
)"));
}

class remembers : public process {
  state<int> runs{this, "runs"};
  void run() override {
    const int n = runs.load() + 1;
    runs.save(n);
    if (n < 4) throw std::runtime_error("not yet");
  }
};

}  // namespace

LEAT_PROCESS(remembers, "ends when it has run four times");

TEST_CASE("a process that throws is replaced by a new object, and the values in its channels survive") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
config = { count = 300 }
[process.middle]
use = "acts"
in = { values = "source.values" }
restart = { backoff = ["1ms", "1ms"], burst = 10 }
)");
  std::vector<int> got;
  const ledger l = run_acting(p, [&](int run, const in<number>& values) {
    for (const number& v : values) {
      got.push_back(v.n);
      if (v.n % 100 == 0 && run < 4) throw std::runtime_error("a hundred");
    }
  });
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "middle").runs == 4);
  CHECK(process_of(l, p, "middle").restarts == 3);
  CHECK(process_of(l, p, "middle").failures == 3);
  CHECK(got.size() == 300);
  CHECK(std::is_sorted(got.begin(), got.end()));
  CHECK(log.said("process 'middle' (acts, t.toml:8) failed: a hundred; restarts in "));
  CHECK(log.said(" (3 of 10 in 5m)"));
  CHECK(to_text(l, p).find("process s/middle  runs 4, failures 3, restarts 3, longest run ") !=
        std::string::npos);
}

TEST_CASE("`when` says which ends are followed by a restart; a channel is closed after the last of them") {
  log_catcher log;
  struct row {
    const char* when;
    bool throws;
    int runs;
    int code;
  };
  for (const row& r : {row{"always", false, 4, 0}, row{"always", true, 4, 0}, row{"failure", false, 1, 0},
                       row{"failure", true, 4, 0}, row{"never", false, 1, 0}, row{"never", true, 1, 1}}) {
    const std::string when = r.when;
    const config::plan p =
        plan_of(alone("when = \"" + when + "\", backoff = [\"0\", \"0\"]", "out = { to = \"c\" }\n") +
                "[channel.c]\n[process.sink]\nuse = \"noting\"\nin = { values = \"c\" }\n");
    const ledger l = run_acting(
        p,
        [&](int run, const in<number>&) {
          if (run < 4 && r.throws) throw std::runtime_error("early");
          if (run < 4) return;
          while (when == "always" && sleep_for(1h) != sleep_result::stopped) {
          }
        },
        when == "always" ? 4 : 0);
    CHECK(act_runs == r.runs);
    CHECK(exit_code(l) == r.code);
    CHECK(process_of(l, p, "sink").runs == 1);
  }
  CHECK(log.said("failed: early; it stays ended (restart.when is never)"));
}

TEST_CASE("one that is always restarted has finished when all it reads from is closed and empty") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "counter"
config = { count = 10 }
[process.p]
use = "acts"
in = { values = "source.values" }
restart = { when = "always", backoff = ["0", "0"], burst = 100 }
)");
  int got = 0;
  const ledger l = run_acting(p, [&](int, const in<number>& values) {
    if (values.recv()) ++got;
  });
  CHECK(got == 10);
  CHECK(exit_code(l) == 0);
}

TEST_CASE("strategies: what is stopped and started with the one that failed, and in which order") {
  const auto with = [](const std::string& strategy) {
    return run_acting(
        chain("strategy = \"" + strategy + "\", backoff = [\"1ms\", \"1ms\"]"),
        [](int run, const in<number>&) {
          if (run == 1) CHECK(eventually(both_started));
          events.note("+p");
          if (run == 1) throw std::runtime_error("once");
          while (sleep_for(1h) != sleep_result::stopped) {
          }
        },
        [] { return count_of(events.text(), "+p") == 2; });  // a run that has begun may not have noted it
  };
  log_catcher log;
  CHECK(exit_code(with("one-for-one")) == 0);
  CHECK(what_followed().substr(0, 5) == "+p +p");
  CHECK(exit_code(with("one-for-all")) == 0);
  CHECK(what_followed().substr(0, 16) == "+p -first -last ");
  CHECK(count_of(events.text(), "+last") == 2);
  CHECK(count_of(events.text(), "+first") == 2);
  CHECK(log.said("failed: once; with 2 others it restarts in "));
  CHECK(exit_code(with("rest-for-one")) == 0);
  CHECK(what_followed().substr(0, 9) == "+p -first");
  CHECK(count_of(events.text(), "+last") == 1);
  CHECK(count_of(events.text(), "+first") == 2);
  CHECK(log.said("failed: once; with 1 other it restarts in "));
}

TEST_CASE(
    "a restart storm: the pauses double, the limit stops the service, and the log has a line a failure") {
  log_catcher log;
  const config::plan p = plan_of(alone("burst = 6, backoff = [\"2ms\", \"16ms\"]"));
  std::vector<time_point> starts;
  const ledger l = run_acting(p, [&](int, const in<number>&) {
    starts.push_back(now());
    throw std::runtime_error("at once");
  });
  CHECK(exit_code(l) == 1);
  REQUIRE(starts.size() == 7);
  const nanoseconds least[] = {1800us, 3600us, 7200us, 14400us, 14400us, 14400us};
  for (std::size_t i = 0; i < 6; ++i) CHECK(starts[i + 1] - starts[i] >= least[i]);
  CHECK(count_of(log.text(), "\n") == 7);
  CHECK(log.said("failed: at once; 6 restarts in 5m are the limit: its service 's' stops"));
}

TEST_CASE("on_limit = \"exit\" ends all services, without draining") {
  log_catcher log;
  const config::plan p = plan_of_files({{"bad.toml", R"(
[service]
name = "bad"
[supervisor]
on_limit = "exit"
[process.p]
use = "acts"
restart = { burst = 1, backoff = ["1ms", "1ms"] }
)"},
                                        {"good.toml", R"(
[service]
name = "good"
drain = "1h"
[process.first]
use = "bystander"
)"}});
  nanoseconds took{};
  act = [](int, const in<number>&) {
    CHECK(eventually([] { return events.text() == "+first"; }));
    throw std::runtime_error("no");
  };
  act_runs = 0;
  events.clear();
  const ledger l = run_plan(p, [](const channel<int>&) {}, &took);
  CHECK(exit_code(l) == 1);
  CHECK(events.text() == "+first -first");
  CHECK(took < 20s);
  CHECK(log.said("1 restart in 5m is the limit: the program ends"));
}

TEST_CASE(
    "a service that is stopped restarts nothing: neither what fails then nor what waited for its turn") {
  log_catcher log;
  const config::plan p =
      plan_of(alone("backoff = [\"1h\", \"1h\"]", "[process.other]\nuse = \"bystander\"\n"));
  act = [](int, const in<number>&) { throw std::runtime_error("waits for an hour"); };
  act_runs = 0;
  events.clear();
  const ledger l = run_plan(p, [&](const channel<int>& stop) {
    // One whose end is heard after the stop was never to be started again.
    CHECK(eventually([&] { return log.said("failed: waits for an hour; restarts in "); }));
    stop.send(15);
  });
  CHECK(process_of(l, p, "p").runs == 1);
  CHECK(process_of(l, p, "p").left_behind == 0);
  CHECK(exit_code(l) == 1);
  CHECK(log.said("had failed and was to be started again; now it stays ended"));
  CHECK(count_of(log.text(), "now it stays ended") == 1);
  const ledger m = run_acting(
      plan_of(alone("backoff = [\"0\", \"0\"]")),
      [](int, const in<number>&) {
        while (sleep_for(1h) != sleep_result::stopped) {
        }
        throw std::runtime_error("on the way out");
      },
      1);
  CHECK(m.processes[0].runs == 1);
  CHECK(m.processes[0].failures == 1);
  CHECK(exit_code(m) == 1);
  CHECK(log.said("failed: on the way out; it stays ended"));
}

TEST_CASE("each replica is restarted by itself") {
  log_catcher log;
  const config::plan p = plan_of(alone("burst = 1, backoff = [\"1ms\", \"1ms\"]", "replicas = 3\n"));
  // Each of the first three fails, once for each replica if they have histories of their own.
  const ledger l = run_acting(p, [](int run, const in<number>&) {
    if (run <= 3) {
      CHECK(eventually([] { return act_runs >= 3; }));
      throw std::runtime_error("first time");
    }
  });
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "p").runs == 6);
  CHECK(log.said("process 'p/0' "));
  CHECK(log.said("process 'p/2' "));
}

TEST_CASE(
    "one that does not end when others restart is put out where it stands, and uses nothing of its "
    "successor's") {
  log_catcher log;
  // Fenced, it may look at them once more after this test.
  static std::atomic<bool> released{false}, came_back{false};
  static std::atomic<int> in_hand{0};
  const config::plan p = plan_of(R"(
[service]
name = "s"
[supervisor]
grace = "5ms"
[runtime]
procs = 2
grace = "5ms"
[process.p]
use = "acts"
replicas = 2
hang = "1h"
restart = { strategy = "one-for-all", backoff = ["0", "0"] }
)");
  const ledger l = run_acting(p, [&](int run, const in<number>&) {
    if (run == 1) {  // neither ends nor enters the runtime
      ++in_hand;
      while (!released) std::this_thread::sleep_for(1ms);
      yield();  // here it ends
      came_back = true;
      return;
    }
    if (run == 2) {
      while (in_hand == 0) std::this_thread::sleep_for(1ms);
      throw std::runtime_error("fails");
    }
    // The last to start: its predecessor stands there still, and is let go now.
    if (run == 4) {
      CHECK(stats().quarantined == 1);  // fenced, or frozen in its sleep
      released = true;
      CHECK(eventually([] { return stats().fenced == 0; }));
    }
  });
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "p").runs == 4);
  CHECK(process_of(l, p, "p").quarantined == 1);
  CHECK_FALSE(came_back);
  CHECK(log.said("was asked to stop, and insisted on, and does not end: it is put out where it stands"));
  CHECK(log.said("went on after it was thrown out: it is quarantined; what it holds stays held"));
}

TEST_CASE("a process keeps its state over restarts, each replica its own") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.p]
use = "remembers"
replicas = 2
restart = { backoff = ["0", "0"] }
)");
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "p").runs == 8);
}
