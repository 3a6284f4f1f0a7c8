// SPDX-License-Identifier: BSL-1.0
//
// Each key of [runtime], from the text to what the scheduler then does.
#include <sched.h>
#include <algorithm>
#include <cstdlib>
#include <functional>
#include <thread>

#include <leat/sched/blocking.hpp>

#include "fixture.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;
using leat::sched::event_kind;

namespace {

std::function<void()> body;

class observer : public process {
  void run() override { body(); }
};

// Runs f as a process of a service with this [runtime].
int run_with(const std::string& keys, std::function<void()> f) {
  body = std::move(f);
  const config::plan p =
      plan_of("[service]\nname = \"s\"\n[process.o]\nuse = \"observer\"\n[runtime]\n" + keys + "\n");
  return leat::run(runtime_options_of(p), [&] { return exit_code(host(p).run({})); });
}
void with_runtime(const std::string& keys, std::function<void()> f) {
  CHECK(run_with(keys, std::move(f)) == 0);
}

// Keeps the thread, and with it the P until that is retaken.
void compute_for(nanoseconds d) {
  const time_point until = now() + d;
  while (now() < until) {
  }
}

// 2 KiB of stack a turn.
[[gnu::noinline]] int use_stack(int turns) {
  volatile char room[2048];
  asm volatile("" : : "r"(&room[0]) : "memory");  // it stays whole
  room[0] = static_cast<char>(turns);
  const int below = turns > 0 ? use_stack(turns - 1) : 0;
  return below + room[0] - room[0];
}

// Most Ms while six Gs block their threads. At the limit they block everybody, so they end by themselves.
// With six Gs that sleep with their threads, until there are more than `many`, or for so long.
unsigned most_threads_with_sleepers(unsigned many, nanoseconds longest) {
  std::atomic<int> ended{0};
  std::atomic<bool> over{false};
  for (int i = 0; i < 6; ++i)
    go([&] {
      for (const deadline end = longest; !over && !end.expired();) std::this_thread::sleep_for(5ms);
      ++ended;
    });
  unsigned most = 0;
  while (ended < 6) {
    most = std::max(most, stats().threads);
    over = over || most > many;
    (void)sleep_for(1ms);
  }
  return most;
}

}  // namespace

LEAT_PROCESS(observer, "does what the test says");

TEST_CASE("procs is the number of Ps") {
  for (const unsigned n : {1u, 3u, 5u})
    with_runtime("procs = " + std::to_string(n), [n] {
      CHECK(stats().procs == n);
      CHECK(stats().local_lengths.size() == n);
    });
  // Here: a thread of a runtime may be kept off a CPU for a moment.
  const unsigned by_default = auto_procs().procs;
  with_runtime("procs = \"auto\"", [&] { CHECK(stats().procs == by_default); });
}

TEST_CASE("run_queue is the capacity of a P's own queue") {
  for (const std::size_t capacity : {4u, 256u}) {
    with_runtime("procs = 1\nslice = \"1h\"\nrun_queue = " + std::to_string(capacity), [capacity] {
      yield();  // to what the host has started besides
      std::atomic<int> ran{0};
      std::size_t longest = 0;
      for (int i = 0; i < 20; ++i) {
        go([&] { ++ran; });
        longest = std::max(longest, stats().local_lengths[0]);
      }
      CHECK(longest == std::min<std::size_t>(capacity, 20));
      CHECK(events_of(event_kind::overflowed).empty() == (capacity > 20));
      CHECK(eventually([&] { return ran == 20; }));
    });
  }
}

TEST_CASE("spinning limits the spinning Ms") {
  for (const unsigned limit : {0u, 1u}) {
    with_runtime("procs = 4\nspinning = " + std::to_string(limit), [limit] {
      // Work from outside, until somebody has spun; with none allowed, for some rounds.
      for (int round = 0; limit == 0 ? round < 50 : round < 20000; ++round) {
        std::atomic<int> ran{0};
        from_outside(4, [&] { ++ran; });
        CHECK(eventually([&] { return ran == 4; }));
        if (stats().most_spinning > 0) break;
      }
      CHECK(stats().most_spinning == limit);
    });
  }
}

TEST_CASE("slice is how long a G computes before its P is retaken") {
  with_runtime("procs = 1\nslice = \"1ms\"", [] {
    const std::uint64_t id = self().id;
    go([] {});
    const auto before = stats().retakes;
    CHECK(eventually_without_entering([&] { return stats().retakes > before; }));
    yield();
    CHECK_FALSE(events_of(event_kind::retaken, id).empty());
  });
  with_runtime("procs = 1\nslice = \"1h\"", [] {
    go([] {});
    compute_for(60ms);
    CHECK(stats().retakes == 0);
    CHECK(events_of(event_kind::retaken).empty());
  });
}

TEST_CASE("max_threads limits the Ms") {
  log_catcher log;
  with_runtime("procs = 1\nmax_threads = 3\nslice = \"1ms\"",
               [] { CHECK(most_threads_with_sleepers(3, 200ms) <= 3); });
  with_runtime("procs = 1\nmax_threads = 64\nslice = \"1ms\"",
               [] { CHECK(most_threads_with_sleepers(3, patience) > 3); });
}

TEST_CASE("cpus is where the Ms may run") {
  cpu_set_t allowed;
  CPU_ZERO(&allowed);
  REQUIRE(::sched_getaffinity(0, sizeof allowed, &allowed) == 0);
  for (unsigned cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (!CPU_ISSET(cpu, &allowed)) continue;
    with_runtime("cpus = [" + std::to_string(cpu) + "]", [cpu] {
      cpu_set_t mine;
      CPU_ZERO(&mine);
      REQUIRE(::sched_getaffinity(0, sizeof mine, &mine) == 0);
      CHECK(CPU_COUNT(&mine) == 1);
      CHECK(CPU_ISSET(cpu, &mine));
    });
  }
}

TEST_CASE("grace is how long Gs that are left at the end have") {
  const auto end_beside_a_mule = [](const char* grace) {
    time_point begin;
    with_runtime(std::string("procs = 2\ngrace = ") + grace, [&] {
      go([] {
        for (;;) (void)sleep_for(1ms);  // until it is thrown out
      });
      begin = now();
    });
    return now() - begin;
  };
  CHECK(end_beside_a_mule("\"600ms\"") >= 600ms);
  // Less than without the key. A busy machine adds to it.
  const deadline enough = patience;
  auto best = end_beside_a_mule("\"50ms\"");
  while (best >= 190ms && !enough.expired()) best = std::min(best, end_beside_a_mule("\"50ms\""));
  CHECK(best < 190ms);
}

TEST_CASE("trace prints the scheduler's figures, this often") {
  for (const bool on : {true, false}) {
    log_catcher log;
    with_runtime(on ? "procs = 2\ntrace = \"5ms\"" : "procs = 2\ntrace = \"off\"", [&] {
      if (on) {
        CHECK(eventually([&] { return log.said("procs=2"); }));
      } else {
        (void)sleep_for(30ms);
      }
    });
    CHECK(log.said("procs=2") == on);
  }
}

// A child: what does not fit is a stack that overflows.
LEAT_CHILD(checks_a_deployment) {
  run_with("", [] {
    const config::plan p =
        plan_of_files({{"one.toml", "[service]\nname = \"one\"\n[process.o]\nuse = \"observer\"\n"}});
    if (p.processes.size() != 1) std::abort();
  });
}

TEST_CASE("a process reads and checks a deployment on a stack of the usual size") {
  const auto read = leat::test::run_self("checks_a_deployment");
  INFO(read.output);
  CHECK(read.exited(0));
}

void need_100k() { (void)use_stack(static_cast<int>(fiber::room_for(100 * 1024) / 2048)); }
LEAT_CHILD(needs_100k_of_64k) { run_with("stack = \"64K\"", need_100k); }
LEAT_CHILD(needs_100k_of_256k) { run_with("stack = \"256K\"", need_100k); }

TEST_CASE("stack is the size of a process's stack") {
  if (!fiber::under_tsan) {
    const auto small = leat::test::run_self("needs_100k_of_64k");
    INFO(small.output);
    CHECK_FALSE(small.exited(0));
  }
  const auto large = leat::test::run_self("needs_100k_of_256k");
  INFO(large.output);
  CHECK(large.exited(0));
}
