// SPDX-License-Identifier: BSL-1.0
#include <leat/control/delay_histogram.hpp>

#include <doctest/doctest.h>

namespace leat::control {
namespace {

constexpr std::int64_t us = 1000;

TEST_CASE("percentiles are of the last 256 delays, once there are twenty") {
  delay_histogram h;
  for (int i = 0; i < 19; ++i) h.add(10 * us);
  CHECK(!h.recent().has_value());
  h.add(10 * us);
  REQUIRE(h.recent().has_value());
  CHECK(h.recent()->p50 == doctest::Approx(10e-6));

  for (int i = 0; i < 250; ++i) h.add(100 * us);
  for (int i = 0; i < 6; ++i) h.add(5000 * us);  // the short ones are forgotten
  CHECK(h.recent()->p50 == doctest::Approx(100e-6));
  CHECK(h.recent()->p99 == doctest::Approx(5e-3));
  CHECK(h.count() == 276);
}

TEST_CASE("buckets count since the start, and the last is all") {
  delay_histogram h;
  h.add(20 * us);  // on the bound: within
  h.add(21 * us);
  h.add(10'000'000 * us);  // above all bounds
  h.add(-5);               // a clock that stepped
  CHECK(h.up_to(0) == 2);
  CHECK(h.up_to(1) == 3);
  CHECK(h.up_to(delay_histogram::bounds.size() - 1) == 3);
  CHECK(h.count() == 4);
  CHECK(h.sum() == doctest::Approx(10.000041));
}

}  // namespace
}  // namespace leat::control
