// SPDX-License-Identifier: BSL-1.0
//
// Large files, and how long they take.
#include "fixture.hpp"
#include "sched/hang_guard.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

std::string chains(int n, int count) {
  std::string text = "[service]\nname = \"s\"\n";
  for (int i = 0; i < n; ++i) {
    const std::string k = std::to_string(i);
    text += "[process.a" + k + "]\nuse = \"counter\"\nconfig = { count = " + std::to_string(count) +
            " }\n[process.b" + k + "]\nuse = \"noting\"\nin = { values = \"a" + k + ".values\" }\n";
  }
  return text;
}

}  // namespace

TEST_CASE("a file of a thousand processes is checked quickly" * leat::test::soak) {
  const std::string text = chains(500, 1);
  (void)plan_of(text);  // describes the classes
  const time_point begin = now();
  const config::plan p = plan_of(text);
  const nanoseconds took = now() - begin;
  CHECK(p.processes.size() == 1000);
  CHECK(leat::test::at_most("plan of 1,000 processes", took, 2s * sched::test::slow_build));
}

namespace {

void start_many() {
  const int pairs = fiber::under_tsan ? 100 : 5000;
  const config::plan p = plan_of(chains(pairs, 1));
  notes.clear();
  nanoseconds wired{}, started{}, over{};
  const int code = leat::run(runtime_options_of(p), [&] {
    const time_point begin = now();
    host h(p);
    wired = now() - begin;
    // Every counter has begun when all of their values have come.
    auto values = spawn([&] {
      const bool all = eventually([&] { return notes.total == pairs; });
      started = now() - begin;
      return all;
    });
    const ledger l = h.run({});
    over = now() - begin;
    CHECK(values.get());
    return exit_code(l);
  });
  CHECK(code == 0);
  if (!leat::test::soaking()) return;
  (void)leat::test::at_most("10,000 processes are wired", wired, 20s * sched::test::slow_build);
  (void)leat::test::at_most("10,000 processes have all sent a value", started, 20s * sched::test::slow_build);
  CHECK(leat::test::at_most("10,000 processes have ended", over, 20s * sched::test::slow_build));
}

}  // namespace

TEST_CASE("ten thousand processes start, talk and end") { start_many(); }
TEST_CASE("ten thousand processes start, talk and end quickly" * leat::test::soak) { start_many(); }
