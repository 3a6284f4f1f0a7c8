// SPDX-License-Identifier: BSL-1.0
#include <cstdio>
#include <memory>
#include <stdexcept>
#include <thread>

#include "fixture.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::test::run_self;

TEST_CASE("run returns main's int, or 0 when main returns nothing") {
  sweep([](const runtime_options& o) {
    CHECK(leat::run(o, [] { return 7; }) == 7);
    CHECK(leat::run(o, [] {}) == 0);
    CHECK(leat::run(o, [] { return true; }) == 1);
  });
  CHECK(leat::run([] { return -3; }) == -3);
}

namespace {
int free_main() { return 6; }
}  // namespace

TEST_CASE("main may be any callable: an lvalue, a const one, a function, one that cannot be copied") {
  auto lvalue = [n = 4]() mutable { return ++n; };
  CHECK(leat::run(with_procs(1), lvalue) == 5);
  CHECK(leat::run(with_procs(1), lvalue) == 6);
  const auto constant = [] { return 3; };
  CHECK(leat::run(constant) == 3);
  CHECK(leat::run(free_main) == 6);
  CHECK(leat::run([p = std::make_unique<int>(8)] { return *p; }) == 8);
}

TEST_CASE("an exception out of main comes out of run, and the others are stopped first") {
  std::atomic<bool> ended{false};
  CHECK_THROWS_WITH_AS(leat::run(with_procs(2),
                                 [&] {
                                   go([&] {
                                     (void)sleep_for(1h);
                                     ended = true;
                                   });
                                   throw std::runtime_error("no luck");
                                 }),
                       "no luck", std::runtime_error);
  CHECK(ended);
  CHECK(leat::run([] { return 1; }) == 1);
}

TEST_CASE("many runtimes one after the other start afresh and leave no thread") {
  for (int i = 0; i < 50; ++i) {
    const unsigned procs = 1u << (i % 3);
    run_clean(with_procs(procs, i % 2 ? 2 : 256), [&] {
      CHECK(stats().procs == procs);
      CHECK(stats().spawned == 1);
      std::atomic<int> n{0};
      for (int k = 0; k < 20; ++k) go([&] { ++n; });
      CHECK(eventually([&] { return n == 20; }));
    });
    CHECK(stats().procs == 0);
    CHECK(stats().threads == 0);
  }
}

TEST_CASE("run inside a G is refused, and so is a second one beside it") {
  run_clean(with_procs(2), [] {
    CHECK_THROWS_AS(leat::run([] {}), std::logic_error);
    bool refused = false;
    std::thread([&] {
      try {
        leat::run([] {});
      } catch (const std::logic_error&) {
        refused = true;
      }
    }).join();
    CHECK(refused);
    CHECK_THROWS_AS(blocking([] { return leat::run([] {}); }), std::logic_error);
    CHECK(spawn([] { return 5; }).get() == 5);
  });
}

TEST_CASE("the calling thread runs no G") {
  const pid_t caller = thread_id();
  run_clean(with_procs(2), [&] {
    CHECK(thread_id() != caller);
    for (int i = 0; i < 20; ++i) CHECK(spawn([] { return thread_id(); }).get() != caller);
  });
}

TEST_CASE("when main returns, the others are asked to stop and waited for") {
  sweep([](const runtime_options& o) {
    std::atomic<int> started{0}, ended{0};
    leat::run(o, [&] {
      for (int i = 0; i < 50; ++i) {
        go([&] {
          ++started;
          CHECK(sleep_for(1h) == sleep_result::stopped);
          CHECK(stop_requested());
          ++ended;
        });
      }
      CHECK(eventually([&] { return started == 50; }));
    });
    CHECK(ended == 50);
  });
}

TEST_CASE("Gs that were never run when main returned still run to their end") {
  sweep([](const runtime_options& o) {
    std::atomic<int> ran{0};
    leat::run(o, [&] {
      for (int i = 0; i < 100; ++i) go([&] { ++ran; });
    });
    CHECK(ran == 100);
  });
}

TEST_CASE("a G that ignores the stop is insisted on: its next wait throws") {
  std::atomic<int> stopped_results{0};
  std::atomic<bool> unwound{false};
  runtime_options o = with_procs(1);
  o.grace = 500ms;
  leat::run(o, [&] {
    go([&] {
      struct at_end {
        std::atomic<bool>& flag;
        ~at_end() { flag = true; }
      } mark{unwound};
      for (;;) {
        if (sleep_for(1ms) == sleep_result::stopped) ++stopped_results;
        yield();
      }
    });
    yield();
  });
  CHECK(stopped_results > 0);
  CHECK(unwound);
}

LEAT_CHILD(hog_is_left_behind) {
  runtime_options o = with_procs(1);
  o.grace = 20ms;
  const int status = leat::run(o, [] {
    static std::atomic<bool> runs{false};
    go("spinner", [] {
      runs = true;
      for (;;) cpu_pause();
    });
    while (!runs) (void)sleep_for(1ms);
    return 5;
  });
  std::printf("run returned %d\n", status);
}

TEST_CASE("a G that neither ends nor enters the runtime is reported and left behind") {
  const auto r = run_self("hog_is_left_behind");
  INFO(r.output);
  CHECK(r.exited(0));
  CHECK(r.said("run returned 5"));
  CHECK(r.said("'spinner'"));
}
