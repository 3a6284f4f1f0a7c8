// SPDX-License-Identifier: BSL-1.0
#include <leat/base/deadlines.hpp>

#include <doctest/doctest.h>

#include <random>
#include <set>
#include <utility>

using namespace leat;

namespace {
time_point at(int ns) { return time_point(nanoseconds(ns)); }
}  // namespace

TEST_CASE("the first of several deadlines is found, and one that is cleared is not") {
  deadlines d;
  CHECK(d.next_at() == never);
  for (int i = 0; i < 3; ++i) (void)d.add();
  CHECK(d.next_at() == never);
  d.set(1, at(20));
  d.set(0, at(30));
  d.set(2, at(20));
  CHECK(d.next() == 1);
  d.set(1, never);
  CHECK(d.next() == 2);
  CHECK(d.at(1) == never);
  d.set(2, at(40));
  CHECK(d.next() == 0);
  d.set(0, never);
  d.set(0, never);
  d.set(2, never);
  CHECK(d.next_at() == never);
}

TEST_CASE("in any order of changes it says what a sorted set says") {
  std::mt19937 random(7);
  for (int round = 0; round < 200; ++round) {
    deadlines d;
    std::set<std::pair<time_point, std::size_t>> model;
    const std::size_t n = 1 + random() % 40;
    for (std::size_t i = 0; i < n; ++i) (void)d.add();
    for (int step = 0; step < 300; ++step) {
      const std::size_t i = random() % n;
      const time_point t = random() % 4 == 0 ? never : at(static_cast<int>(random() % 50));
      if (d.at(i) != never) model.erase({d.at(i), i});
      d.set(i, t);
      if (t != never) model.insert({t, i});
      REQUIRE(d.next_at() == (model.empty() ? never : model.begin()->first));
      if (!model.empty()) REQUIRE(d.next() == model.begin()->second);
    }
  }
}
