// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/wait_group.hpp>

#include <csignal>
#include <limits>
#include <thread>
#include <vector>

#include "../sched/fixture.hpp"
#include "csp/start_waiting.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::csp::test::start_waiting;

namespace {
constexpr int rounds = fiber::under_tsan ? 500 : 5'000;
}  // namespace

TEST_CASE("a wait at zero returns at once, also on a plain thread") {
  wait_group none;
  CHECK(none.wait() == wait_status::done);
  CHECK(none.count() == 0);
  sweep_clean([] {
    wait_group g;
    CHECK(g.wait() == wait_status::done);
    CHECK(g.wait_until(now() - 1h) == wait_status::done);
  });
}

TEST_CASE("a wait ends when all that was added is done") {
  sweep_clean([] {
    wait_group g;
    std::atomic<int> ran{0};
    for (int i = 0; i < 100; ++i) {
      g.add();
      go([&] {
        if (ran % 3 == 0) yield();
        ++ran;
        g.done();
      });
    }
    CHECK(g.wait() == wait_status::done);
    CHECK(ran == 100);
    CHECK(g.count() == 0);
  });
}

TEST_CASE("many wait for the same zero, Gs and threads") {
  sweep_clean([] {
    wait_group g(1);
    std::atomic<int> through{0};
    std::vector<task<void>> waiting;
    for (int i = 0; i < 5; ++i)
      waiting.push_back(start_waiting([&] {
        CHECK(g.wait() == wait_status::done);
        ++through;
      }));
    std::thread outside([&] {
      CHECK(g.wait() == wait_status::done);
      ++through;
    });
    CHECK(through == 0);
    g.done();
    for (auto& t : waiting) (void)t.join();
    blocking([&] { outside.join(); });
    CHECK(through == 6);
  });
}

TEST_CASE("a wait ends in time, and a later one still sees the zero") {
  sweep_clean([] {
    wait_group g(1);
    CHECK(g.wait_for(100us) == wait_status::timeout);
    CHECK(g.wait_until(now() - 1s) == wait_status::timeout);
    g.done();
    CHECK(g.wait_for(1h) == wait_status::done);
    std::thread([] {
      wait_group h(1);
      CHECK(h.wait_for(100us) == wait_status::timeout);
      h.done();
    }).join();
  });
}

TEST_CASE("a stop ends a wait, and an insisted one is thrown out of it") {
  sweep_clean([] {
    wait_group g(1);
    auto result = wait_status::done;
    auto t = start_waiting([&] { result = g.wait(); });
    t.request_stop();
    (void)t.join();
    CHECK(result == wait_status::stopped);
    stop_source stop;
    bool threw = false;
    auto u = start_waiting(
        [&] {
          try {
            (void)g.wait_for(1h);
          } catch (const stopped&) {
            threw = true;
          }
        },
        {.stop = stop});
    stop.insist();
    (void)u.join();
    CHECK(threw);
    g.done();
  });
}

TEST_CASE("a count that would overflow is refused and changes nothing") {
  wait_group g(3);
  CHECK_THROWS_AS(g.add(std::numeric_limits<std::size_t>::max()), std::length_error);
  CHECK_THROWS_AS(g.add(std::numeric_limits<std::size_t>::max() / 4), std::length_error);
  CHECK(g.count() == 3);
  for (int i = 0; i < 3; ++i) g.done();
}

TEST_CASE("a group is used again, round after round") {
  sweep_clean([] {
    wait_group g;
    for (int n = 0; n < rounds / 10; ++n) {
      std::atomic<int> ran{0};
      g.add(3);
      for (int i = 0; i < 3; ++i)
        go([&] {
          ++ran;
          g.done();
        });
      CHECK(g.wait() == wait_status::done);
      CHECK(ran == 3);
    }
  });
}

TEST_CASE("the one who waited may destroy the group at once") {
  sweep_clean([] {
    for (int n = 0; n < rounds / 10; ++n) {
      auto g = std::make_unique<wait_group>(2);
      for (int i = 0; i < 2; ++i) go([p = g.get()] { p->done(); });
      if (n % 3 == 0) yield();
      CHECK((n % 2 == 0 ? g->wait() : g->wait_for(1h)) == wait_status::done);
      g.reset();
    }
  });
}

TEST_CASE("timeouts, stops and the last done may come together") {
  sweep_clean([] {
    for (int n = 0; n < rounds / 20; ++n) {
      wait_group g(1);
      stop_source stop;
      std::atomic<int> done{0}, stopped_{0}, timeout{0};
      std::vector<task<void>> all;
      for (int i = 0; i < 3; ++i)
        all.push_back(spawn({.stop = stop}, [&, i] {
          switch (i == 0 ? g.wait() : g.wait_for(std::chrono::microseconds(n % 20))) {
            case wait_status::done: ++done; break;
            case wait_status::stopped: ++stopped_; break;
            case wait_status::timeout: ++timeout; break;
          }
        }));
      auto s = spawn([&] { stop.request_stop(); });
      if (n % 2 == 0) yield();
      g.done();
      for (auto& t : all) (void)t.join();
      (void)s.join();
      CHECK(done + stopped_ + timeout == 3);
      CHECK(g.wait() == wait_status::done);
    }
  });
}

LEAT_CHILD(done_without_add) {
  wait_group g(1);
  g.done();
  g.done();
}

TEST_CASE("a done without an add aborts, and says so") {
  const auto r = test::run_self("done_without_add");
  CHECK(r.died_by(SIGABRT));
  CHECK(r.said("wait_group::done without add"));
}
