// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/world_order.hpp>
#include <leat/sched/world_watch.hpp>

#include <doctest/doctest.h>
#include <array>
#include <set>

namespace leat::sched {
namespace {

using ids = std::vector<std::uint64_t>;

std::vector<std::size_t> choices(world_order o, std::size_t n) {
  const ids ready{11, 12, 13, 14};
  std::vector<std::size_t> all;
  for (std::size_t i = 0; i < n; ++i) {
    all.push_back(o.choose(ready));
    all.push_back(o.gives_way(11) ? 1 : 0);
    all.push_back(o.draw());
  }
  return all;
}

TEST_CASE("the same seed decides the same, another one otherwise") {
  for (const order_strategy s : {order_strategy::random_walk, order_strategy::pct}) {
    CHECK(choices(world_order({.seed = 5, .strategy = s}), 100) ==
          choices(world_order({.seed = 5, .strategy = s}), 100));
    CHECK(choices(world_order({.seed = 5, .strategy = s}), 100) !=
          choices(world_order({.seed = 6, .strategy = s}), 100));
  }
}

TEST_CASE("a random walk chooses each of the ready ones equally often") {
  world_order o({.seed = 3});
  const ids ready{1, 2, 3, 4, 5};
  std::array<int, 5> times{};
  for (int i = 0; i < 10'000; ++i) ++times[o.choose(ready)];
  for (const int n : times) {
    CHECK(n > 1800);
    CHECK(n < 2200);
  }
}

TEST_CASE("under PCT one runs until it waits, but for depth - 1 falls") {
  for (std::uint64_t seed = 1; seed < 50; ++seed) {
    world_order o({.seed = seed, .strategy = order_strategy::pct, .depth = 3, .steps = 200});
    const ids ready{1, 2, 3, 4};
    std::size_t before = o.choose(ready);
    int changes = 0;
    for (int i = 0; i < 300; ++i) {
      const std::size_t now = o.choose(ready);
      changes += now != before;
      before = now;
    }
    CHECK(changes <= 2);
  }
}

TEST_CASE("under PCT one that is chosen on and on comes behind the others") {
  for (std::uint64_t seed = 1; seed < 20; ++seed) {
    world_order o({.seed = seed, .strategy = order_strategy::pct, .depth = 1});
    const ids ready{1, 2, 3, 4}, alone{1};
    std::array<int, 4> times{};
    for (int i = 0; i < 4000; ++i) ++times[o.choose(ready)];
    for (const int n : times) CHECK(n == 1000);
    // Nobody waits for it: it stays where it is.
    const std::size_t next = o.choose(ready);
    for (int i = 0; i < 2000; ++i) CHECK(o.choose(alone) == 0);
    CHECK(o.choose(ready) == next);
  }
}

TEST_CASE("a world that goes on without an end is logged once for each way to do so") {
  constexpr std::int64_t second = 1'000'000'000;
  using sight = world_watch::sight;
  const auto seen = [&](bool busy, bool turns, bool time) {
    world_watch w(0);
    std::vector<std::int64_t> at;
    sight what = sight::fine;
    for (std::int64_t i = 1; i <= 60; ++i) {
      const sight s = w.look(i * second, busy, turns ? static_cast<std::uint32_t>(i) : 7, time ? i : 7);
      if (s == sight::fine) continue;
      what = s;
      at.push_back(i);
    }
    CHECK(at.size() == (what == sight::fine ? 0 : 1));
    if (!at.empty()) CHECK(at[0] == 12);
    return what;
  };
  CHECK(seen(true, true, true) == sight::fine);
  CHECK(seen(true, false, false) == sight::computes);
  CHECK(seen(true, true, false) == sight::stands_still);
  CHECK(seen(false, false, false) == sight::fine);
}

TEST_CASE("the decisions that were made are enough to make them again, and none is the default") {
  world_order o({.seed = 9});
  const ids ready{1, 2, 3};
  std::vector<std::size_t> first;
  for (int i = 0; i < 200; ++i) first.push_back(i % 3 == 0 ? (o.gives_way(1) ? 1u : 0u) : o.choose(ready));
  world_order again({.seed = 9}, o.made());
  std::vector<std::size_t> second;
  for (int i = 0; i < 200; ++i)
    second.push_back(i % 3 == 0 ? (again.gives_way(1) ? 1u : 0u) : again.choose(ready));
  CHECK(first == second);
  for (const decision& d : o.made()) CHECK(d.choice != 0);
  world_order nothing({.seed = 9}, std::vector<decision>{});
  for (int i = 0; i < 200; ++i) CHECK(nothing.choose(ready) == 0);
}

TEST_CASE("shrinking finds the few decisions that matter") {
  std::vector<decision> all;
  for (std::uint64_t i = 0; i < 500; ++i) all.push_back({i, 1});
  int runs = 0;
  const auto least = shrink(all, [&](const std::vector<decision>& d) {
    ++runs;
    std::set<std::uint64_t> steps;
    for (const decision& x : d) steps.insert(x.step);
    return steps.contains(17) && steps.contains(401);
  });
  CHECK(least == std::vector<decision>{{17, 1}, {401, 1}});
  CHECK(runs < 300);
  CHECK(shrink(all, [](const auto&) { return true; }).empty());
}

}  // namespace
}  // namespace leat::sched
