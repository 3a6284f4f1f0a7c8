// SPDX-License-Identifier: BSL-1.0
#include <memory>
#include <set>
#include <stdexcept>
#include <string>

#include <leat/csp/task_set.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

TEST_CASE("results come in the order in which members end, with the numbers that go gave") {
  sweep_clean([] {
    channel<int> first, second;
    task_set<std::string> set;
    CHECK(set.go([=] {
      (void)second.recv();
      return std::string("a");
    }) == 0);
    CHECK(set.go("named", [=] {
      (void)first.recv();
      return std::string("b");
    }) == 1);
    CHECK(set.size() == 2);
    CHECK(!set.join_next_until(0ms));
    first.send(1);
    auto e = set.join_next();
    REQUIRE(e);
    CHECK(e->which == 1);
    CHECK(!e->failed());
    CHECK(e->get() == "b");
    second.send(1);
    e = set.join_next();
    REQUIRE(e);
    CHECK(e->which == 0);
    CHECK(e->get() == "a");
    CHECK(set.size() == 0);
    CHECK(set.join_next(e) == next_status::none);
    CHECK(!e);
  });
}

TEST_CASE("a failure is a result like another, and the others go on") {
  sweep_clean([] {
    channel<int> gate;
    task_set<int> set;
    const auto good = set.go([=] { return gate.recv().value_or(0); });
    const auto bad = set.go([]() -> int { throw std::runtime_error("broken"); });
    auto e = set.join_next();
    REQUIRE(e);
    CHECK(e->which == bad);
    CHECK(e->failed());
    CHECK_THROWS_WITH_AS((void)e->get(), "broken", std::runtime_error);
    gate.send(7);
    e = set.join_next();
    REQUIRE(e);
    CHECK(e->which == good);
    CHECK(e->get() == 7);
  });
}

TEST_CASE("members of nothing, of values that only move, and of Gs that are stopped") {
  sweep_clean([] {
    task_set<void> nothing;
    nothing.go([] {});
    nothing.go([] { throw stopped{}; });
    std::set<bool> ended_by_stop;
    while (auto e = nothing.join_next()) ended_by_stop.insert(e->stopped);
    CHECK(ended_by_stop.size() == 2);

    task_set<std::unique_ptr<int>> moved;
    moved.go([] { return std::make_unique<int>(3); });
    CHECK(*moved.join_next()->get() == 3);

    task_set<sleep_result> asleep;
    asleep.go([] { return sleep_for(1h); });
    asleep.stop();
    CHECK(asleep.join_next()->get() == sleep_result::stopped);
    asleep.go([] { return sleep_for(1h); });  // later ones too
    CHECK(asleep.join_next()->get() == sleep_result::stopped);
  });
}

TEST_CASE("the destructor stops and joins what is left, and what nobody fetched goes with it") {
  sweep_clean([] {
    const auto counted = std::make_shared<int>(0);
    {
      task_set<std::shared_ptr<int>> set;
      for (int i = 0; i < 3; ++i) set.go([counted] { return counted; });
      set.go([counted] {
        (void)sleep_for(1h);
        return counted;
      });
    }
    CHECK(counted.use_count() == 1);
  });
}

TEST_CASE("one who waits is ended by a stop and by a deadline, and the member is still there for the next") {
  sweep_clean([] {
    channel<int> gate;
    task_set<int> set;
    set.go([=] { return gate.recv().value_or(0); });
    std::optional<ended_task<int>> e;
    CHECK(set.join_next(e, 1ms) == next_status::timeout);
    next_status seen = next_status::none;
    auto waiting = spawn([&] {
      std::optional<ended_task<int>> mine;
      while ((seen = set.join_next(mine)) == next_status::none) yield();
    });
    // What one waits for is not another's.
    CHECK(eventually([&] { return set.join_next(e, 0ms) == next_status::none; }));
    waiting.request_stop();
    waiting.get();
    CHECK(seen == next_status::stopped);
    gate.send(5);
    REQUIRE(set.join_next(e) == next_status::ended);
    CHECK(e->get() == 5);
    CHECK_THROWS_AS(set.go({.stop = stop_source{}}, [] { return 1; }), std::invalid_argument);
  });
}

TEST_CASE("each member is fetched once, while several fetch and members start members") {
  sweep_clean([] {
    constexpr int roots = 50, each = 4;
    task_set<int> set;
    std::atomic<int> sum{0}, fetched{0};
    for (int i = 0; i < roots; ++i)
      set.go([&set, i] {
        for (int k = 1; k < each; ++k) set.go([i] { return i; });
        return i;
      });
    {
      task_group fetchers;
      for (int i = 0; i < 3; ++i)
        fetchers.go([&] {
          while (fetched < roots * each) {
            auto e = set.join_next_until(100us);
            if (!e) {
              (void)sleep_for(20us);
              continue;
            }
            sum += e->get();
            ++fetched;
          }
        });
      fetchers.wait();
    }
    CHECK(fetched == roots * each);
    CHECK(sum == each * roots * (roots - 1) / 2);
    CHECK(set.size() == 0);
  });
}
