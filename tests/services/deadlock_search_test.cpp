// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <vector>

#include <leat/services/deadlock.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace leat::services;
using namespace leat::services::test;

namespace {

using numbers = std::vector<std::size_t>;

replica_view runs(config::index process) { return {process, false, {}}; }
replica_view ended(config::index process) { return {process, true, {}}; }
// Waits for any of them.
replica_view waits_for(config::index process, std::vector<config::index> helpers) {
  return {process, false, {{0, false, {std::move(helpers)}}}};
}

}  // namespace

TEST_CASE("two that wait for each other are stuck, however many run beside them") {
  const auto found = find_deadlocks({runs(0), waits_for(1, {2}), waits_for(2, {1}), runs(3)}, 4);
  REQUIRE(found.size() == 1);
  CHECK(found[0].members == numbers{1, 2});
  CHECK(found[0].behind.empty());
}

TEST_CASE("those who wait for somebody that runs are not stuck, along the whole chain") {
  CHECK(find_deadlocks({runs(0), waits_for(1, {0}), waits_for(2, {1}), waits_for(3, {2})}, 4).empty());
  CHECK(find_deadlocks({waits_for(0, {1}), waits_for(1, {0, 2}), runs(2)}, 3).empty());
  CHECK(find_deadlocks({}, 0).empty());
  CHECK(find_deadlocks({runs(0)}, 1).empty());
}

TEST_CASE("one that waits for itself is a set, one that waits for nobody is none") {
  const auto found = find_deadlocks({waits_for(0, {0}), waits_for(1, {})}, 2);
  REQUIRE(found.size() == 1);
  CHECK(found[0].members == numbers{0});
}

TEST_CASE("whoever waits for a set without being waited for is behind it") {
  const auto found =
      find_deadlocks({waits_for(0, {1}), waits_for(1, {0}), waits_for(2, {1}), waits_for(3, {2})}, 4);
  REQUIRE(found.size() == 1);
  CHECK(found[0].members == numbers{0, 1});
  CHECK(found[0].behind == numbers{2, 3});
}

TEST_CASE("sets that have nothing to do with each other are told apart") {
  const auto found = find_deadlocks({waits_for(0, {1}), waits_for(1, {0}), waits_for(2, {3}),
                                     waits_for(3, {4}), waits_for(4, {2}), runs(5)},
                                    6);
  REQUIRE(found.size() == 2);
  CHECK(found[0].members.size() + found[1].members.size() == 5);
}

TEST_CASE("one replica that is not stuck helps all who wait for its process") {
  CHECK(find_deadlocks({waits_for(0, {1}), waits_for(1, {0}), runs(1)}, 2).empty());
  const auto found = find_deadlocks({waits_for(0, {1}), waits_for(1, {0}), ended(1), waits_for(1, {0})}, 2);
  REQUIRE(found.size() == 1);
  CHECK(found[0].members == numbers{0, 1, 3});
}

TEST_CASE("a select is stuck when each of its cases is; a send to several when one of them is") {
  const replica_view chooses{0, false, {{0, false, {{1}}}, {1, false, {{2}}}}};
  CHECK(find_deadlocks({chooses, waits_for(1, {0}), runs(2)}, 3).empty());
  CHECK(find_deadlocks({chooses, waits_for(1, {0}), waits_for(2, {0})}, 3).size() == 1);
  const replica_view copies{0, false, {{0, true, {{1}, {2}}}}};
  CHECK(find_deadlocks({copies, runs(1), runs(2)}, 3).empty());
  const auto found = find_deadlocks({copies, waits_for(1, {0}), runs(2)}, 3);
  REQUIRE(found.size() == 1);
  CHECK(found[0].members == numbers{0, 1});
}

TEST_CASE("a long chain and a large circle are no matter of the stack") {
  const std::size_t n = 100000;
  std::vector<replica_view> chain{runs(0)};
  for (std::size_t i = 1; i < n; ++i)
    chain.push_back(waits_for(static_cast<config::index>(i), {static_cast<config::index>(i - 1)}));
  CHECK(find_deadlocks(chain, n).empty());
  chain[0] = waits_for(0, {static_cast<config::index>(n - 1)});
  const auto found = find_deadlocks(chain, n);
  REQUIRE(found.size() == 1);
  CHECK(found[0].members.size() == n);
}

TEST_CASE("only processes that are joined in two ways can wait for each other in a circle") {
  CHECK_FALSE(can_deadlock(plan_of(R"(
[process.source]
use = "counter"
[process.middle]
use = "relay"
in = { from = "source.values" }
[process.sink]
use = "noting"
in = { values = "middle.to" }
)")));
  CHECK(can_deadlock(plan_of(R"(
[process.left]
use = "relay"
in = { from = "b" }
out = { to = "a" }
[process.right]
use = "relay"
in = { from = "a" }
out = { to = "b" }
[channel.a]
[channel.b]
)")));
  CHECK(can_deadlock(plan_of(R"(
[process.alone]
use = "relay"
in = { from = "a" }
out = { to = "a" }
[channel.a]
)")));
}
