// SPDX-License-Identifier: BSL-1.0
#include <leat/services/cpu_meter.hpp>

#include <doctest/doctest.h>

namespace leat::services {
namespace {

constexpr std::int64_t second = 1'000'000'000;
constexpr std::uint64_t g = 7;

TEST_CASE("a share needs two marks with the same G") {
  cpu_meter m(3 * second);
  CHECK(!m.share_of(g));
  m.mark(second, {{g, 100}});
  CHECK(!m.share_of(g));
  m.mark(2 * second, {{8, 100}});
  CHECK(!m.share_of(g));
  m.mark(3 * second, {{g, 500'100}, {8, 100}});
  CHECK(m.share_of(g).value() == doctest::Approx(0.25));  // half a second of two
  CHECK(m.share_of(8).value() == 0);
  CHECK(!m.share_of(0));  // no G has this number
}

TEST_CASE("a count that begins anew at 2^32 is no loss of time") {
  cpu_meter m(3 * second);
  m.mark(second, {{g, 0xFFFF'FFFF}});
  m.mark(2 * second, {{g, 999'999}});
  CHECK(m.share_of(g).value() == doctest::Approx(1.0));
}

TEST_CASE("a time in which nobody watched is none without CPU") {
  cpu_meter m(3 * second);
  m.mark(second, {{g, 0}});
  m.mark(60 * second, {{g, 0}});
  CHECK(!m.share_of(g));
  m.mark(61 * second, {{g, 1'000'000}});
  CHECK(m.share_of(g).value() == doctest::Approx(1.0));
}

TEST_CASE("what was used long ago counts no more") {
  cpu_meter m(3 * second);
  for (std::uint32_t s = 1; s <= 20; ++s) m.mark(s * second, {{g, s <= 10 ? s * 1'000'000 : 10'000'000}});
  CHECK(m.share_of(g).value() == 0);
}

TEST_CASE("the program's share is of the time between two marks") {
  cpu_meter m(3 * second);
  m.mark_program(second, 5 * second);
  CHECK(m.program_share() == 0);
  m.mark_program(3 * second, 8 * second);
  CHECK(m.program_share() == doctest::Approx(1.5));
}

}  // namespace
}  // namespace leat::services
