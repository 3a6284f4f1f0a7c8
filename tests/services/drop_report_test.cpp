// SPDX-License-Identifier: BSL-1.0
#include <leat/services/drop_report.hpp>

#include <doctest/doctest.h>

namespace leat::services {
namespace {

constexpr std::int64_t second = 1'000'000'000;

TEST_CASE("nothing is said of a queue that drops nothing") {
  drop_report r(2);
  for (std::int64_t t = 1; t < 200; ++t) CHECK(!r.add(0, 0, t * second));
}

TEST_CASE("a count that falls is no loss") {
  drop_report r(1);
  REQUIRE(r.add(0, 10, 0).has_value());
  CHECK(!r.add(0, 9, 61 * second));
  CHECK(r.add(0, 12, 122 * second)->since_last == 2);
}

TEST_CASE("the first loss is told at once, whenever it comes") {
  for (const std::int64_t at : {std::int64_t{0}, second, 100 * second}) {
    drop_report r(1);
    const auto line = r.add(0, 3, at);
    REQUIRE(line.has_value());
    CHECK(line->first);
    CHECK(line->since_last == 3);
    CHECK(line->in_all == 3);
  }
}

TEST_CASE("what comes later is told once a minute, with what came since") {
  drop_report r(1);
  REQUIRE(r.add(0, 10, 0).has_value());
  std::uint64_t dropped = 10;
  for (std::int64_t half = 1; half < 120; ++half) CHECK(!r.add(0, ++dropped, half * second / 2));
  const auto line = r.add(0, ++dropped, 60 * second);
  REQUIRE(line.has_value());
  CHECK(!line->first);
  CHECK(line->since_last == 120);
  CHECK(line->in_all == 130);
  CHECK(!r.add(0, ++dropped, 61 * second));
}

TEST_CASE("a minute without losses is a minute without lines, and the next loss is told at once") {
  drop_report r(1);
  REQUIRE(r.add(0, 5, 0).has_value());
  for (std::int64_t t = 1; t < 300; ++t) CHECK(!r.add(0, 5, t * second));
  const auto line = r.add(0, 6, 300 * second);
  REQUIRE(line.has_value());
  CHECK(line->since_last == 1);
  CHECK(line->in_all == 6);
}

TEST_CASE("what was lost within the minute and then stopped is told when the minute is over") {
  drop_report r(1);
  REQUIRE(r.add(0, 1, 0).has_value());
  CHECK(!r.add(0, 1000, second));
  const auto line = r.add(0, 1000, 60 * second);
  REQUIRE(line.has_value());
  CHECK(line->since_last == 999);
  CHECK(!r.add(0, 1000, 120 * second));
}

TEST_CASE("queues are told of apart") {
  drop_report r(3);
  CHECK(r.add(2, 1, 0).has_value());
  CHECK(r.add(0, 1, second).has_value());
  CHECK(!r.add(2, 2, 2 * second));
  CHECK(!r.add(1, 0, 2 * second));
}

}  // namespace
}  // namespace leat::services
