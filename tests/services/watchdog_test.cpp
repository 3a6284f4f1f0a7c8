// SPDX-License-Identifier: BSL-1.0
//
// Processes that stand still: `watchdog`, and what systemd is told.
#include <leat/sched/blocking.hpp>

#include <functional>
#include <thread>

#include "misbehaving.hpp"
#include "program.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

// Waits without receiving or sending.
void stand_still() {
  while (sleep_for(1h) != sleep_result::stopped) {
  }
}

ledger run_acting(const config::plan& p, std::function<void(int, const in<number>&)> what, int stop_at = 0) {
  act = std::move(what);
  act_runs = 0;
  return run_plan(p, [stop_at](const channel<int>& stop) {
    if (stop_at == 0) return;
    CHECK(eventually([&] { return act_runs >= stop_at; }));
    stop.send(15);
  });
}

// A value each 5 ms, forty times.
class slow_source : public process {
  out<number> values{this, "values"};
  void run() override {
    for (int i = 0; i < 40 && values.send({i}) == send_status::sent; ++i) (void)sleep_for(5ms);
  }
};

// For longer than the watchdog of its test.
class long_source : public process {
  out<number> values{this, "values"};
  void run() override {
    for (const auto until = now() + 1500ms; now() < until && values.send({1}) == send_status::sent;)
      (void)sleep_for(5ms);
  }
};

}  // namespace

LEAT_PROCESS(slow_source, "sends now and then");
LEAT_PROCESS(long_source, "sends now and then for a second and a half");

namespace {

// A machine that gives a process no time for longer than its watchdog's makes it stand still once more: `./dev
// soak` asks for exactly one failure.
void replace_what_stands_still() {
  log_catcher log;
  const std::string ring = "in = { values = \"a.values\" }\n";
  const std::string two =
      "in = { values = [\"a.values\", \"b\"] }\n[channel.b]\n[process.b]\nuse = \"counter\"\n"
      "config = { count = 20 }\nout = { values = \"b\" }\n";
  const std::string locked =
      "in = { values = \"b\" }\n[channel.b]\nfull = \"drop-oldest\"\n[process.b]\nuse = "
      "\"counter\"\nconfig = { count = 20 }\nout = { values = \"b\" }\n[process.rest]\nuse = \"noting\"\n"
      "in = { values = \"a.values\" }\n";
  for (const std::string& way : {ring, "delivery = \"at-least-once\"\n" + ring, two, locked}) {
    const config::plan p = plan_of(
        "[service]\nname = \"s\"\n[process.a]\nuse = \"counter\"\nconfig = { count = 40 }\n[process.p]\n"
        "use = \"acts\"\nwatchdog = \"400ms\"\nrestart = { backoff = [\"0\", \"0\"] }\n" +
        way);
    const ledger l = run_acting(p, [](int run, const in<number>& values) {
      if (run == 1) stand_still();
      for (const number& v : values) {
        (void)v;
        (void)sleep_for(2ms);  // slow, and never for as long as the watchdog's time
      }
    });
    CHECK(exit_code(l) == 0);
    CHECK(process_of(l, p, "p").runs >= 2);
    CHECK(process_of(l, p, "p").failures == process_of(l, p, "p").runs - 1);
    if (leat::test::soaking()) CHECK(process_of(l, p, "p").failures == 1);
  }
  CHECK(log.said("failed: it has neither received nor sent for 400ms; restarts in 0"));
}

}  // namespace

TEST_CASE("a process that neither receives nor sends for its watchdog's time is replaced") {
  replace_what_stands_still();
}
TEST_CASE("a process that receives slowly is never taken for one that stands still" * leat::test::soak) {
  replace_what_stands_still();
}

TEST_CASE("one that was asked to stop before its service drains is insisted on while it does") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "1h"
[process.a]
use = "counter"
[process.p]
use = "acts"
watchdog = "100ms"
grace = "1s"
in = { values = "a.values" }
)");
  static std::atomic<bool> asked;
  asked = false;
  act_runs = 0;
  act = [](int run, const in<number>& values) {
    if (run > 1) return;
    for (;;) {
      if (sleep_for(1h) == sleep_result::stopped) asked = true;
      if (asked) (void)values.try_recv();  // throws when it is insisted on
    }
  };
  (void)run_plan(p, [](const channel<int>& stop) {
    CHECK(eventually([] { return asked.load(); }));
    stop.send(15);
  });
  CHECK(log.said("failed: it has neither received nor sent for 100ms"));
}

TEST_CASE("sending counts as well, also on a channel with other writers" * leat::test::soak) {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.slow]
use = "long_source"
replicas = 2
watchdog = "1s"
out = { values = "c" }
[process.sink]
use = "noting"
in = { values = "c" }
[channel.c]
)");
  const ledger l = run_plan(p);
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "slow").runs == 2);
  CHECK(log.text().empty());
}

TEST_CASE("replicas are watched one by one") {
  log_catcher log;
  const config::plan p = plan_of(R"(
[service]
name = "s"
[process.source]
use = "slow_source"
[process.p]
use = "acts"
replicas = 2
watchdog = "2s"
in = { values = "source.values" }
restart = { backoff = ["0", "0"] }
)");
  const ledger l = run_acting(p, [](int run, const in<number>& values) {
    if (run == 1) stand_still();  // the other one goes on
    for (const number& v : values) (void)v;
  });
  INFO(log.text());
  CHECK(exit_code(l) == 0);
  CHECK(process_of(l, p, "p").failures >= 1);
  CHECK(process_of(l, p, "p").runs == 2 + process_of(l, p, "p").failures);
}

TEST_CASE("systemd hears of life only while every critical process is there") {
  log_catcher log;
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  ::setenv("NOTIFY_SOCKET", (folder.path() + "/notify").c_str(), 1);
  ::setenv("WATCHDOG_USEC", "4000", 1);
  ::unsetenv("WATCHDOG_PID");
  const auto run_critical = [&](const char* pause, bool critical) {
    const config::plan p =
        plan_of("[service]\nname = \"s\"\ndrain = \"10ms\"\n[process.p]\nuse = \"acts\"\ncritical = " +
                std::string(critical ? "true" : "false") + "\nrestart = { backoff = [\"" + pause +
                "\", \"1h\"] }\n[process.other]\nuse = \"bystander\"\n");
    std::atomic<bool> may_fail{false};
    bool comes_back = false;
    act_runs = 0;
    act = [&](int run, const in<number>&) {
      if (run > 1) return stand_still();
      while (!may_fail && sleep_for(1ms) != sleep_result::stopped) {
      }
      throw std::runtime_error("critical");
    };
    (void)run_plan(p, [&](const channel<int>& stop) {
      leat::blocking([&] {
        CHECK(systemd.next() == "READY=1");
        for (int i = 0; i < 3; ++i) CHECK(systemd.next() == "WATCHDOG=1");
      });
      may_fail = true;
      CHECK(eventually([&] { return log.said("critical; restarts in"); }));
      (void)systemd.waiting();  // those of before
      const bool stays_down = std::string(pause) == "1h";
      if (stays_down) {
        for (int i = 0; i < 10 && !comes_back; ++i) {
          (void)sleep_for(5ms);
          comes_back = systemd.waiting() > 0;
        }
      } else {
        leat::blocking([&] { comes_back = systemd.next() == "WATCHDOG=1"; });
      }
      stop.send(15);
    });
    while (systemd.waiting() > 0) {
    }
    return comes_back;
  };
  CHECK_FALSE(run_critical("1h", true));
  CHECK(run_critical("1ms", true));
  CHECK(run_critical("1h", false));
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
}

TEST_CASE("systemd does not hear of life while a process stands still and has not been replaced") {
  log_catcher log;
  const scratch_folder folder;
  const notify_socket systemd(folder.path() + "/notify");
  ::setenv("NOTIFY_SOCKET", (folder.path() + "/notify").c_str(), 1);
  ::setenv("WATCHDOG_USEC", "4000", 1);
  static std::atomic<bool> released{false};  // of a thread that the end of the runtime may not wait for
  const config::plan p = plan_of(R"(
[service]
name = "s"
drain = "10ms"
[runtime]
procs = 2
grace = "10ms"
[process.p]
use = "acts"
hang = "1h"
grace = "10ms"
watchdog = "20ms"
restart = { backoff = ["0", "0"] }
)");
  act_runs = 0;
  act = [&](int run, const in<number>&) {
    if (run > 1) return stand_still();
    leat::blocking([&] {  // which is not cut short
      while (!released) std::this_thread::sleep_for(1ms);
    });
  };
  bool silent = true;
  (void)run_plan(p, [&](const channel<int>& stop) {
    CHECK(eventually([&] { return log.said("does not end"); }));
    (void)systemd.waiting();
    for (int i = 0; i < 6; ++i) {
      (void)sleep_for(5ms);
      silent = silent && systemd.waiting() == 0;
    }
    released = true;
    leat::blocking([&] { CHECK(systemd.next() == "WATCHDOG=1"); });
    stop.send(15);
  });
  CHECK(silent);
  ::unsetenv("NOTIFY_SOCKET");
  ::unsetenv("WATCHDOG_USEC");
}
