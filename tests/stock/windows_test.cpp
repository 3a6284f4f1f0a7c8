// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic of filters, which needs no runtime.
#include <cmath>
#include <limits>

#include <leat/stock/support.hpp>
#include <leat/stock/windows.hpp>
#include "stock/fixture.hpp"

namespace leat::stock::test {
namespace {

TEST_CASE("a band is left by the larger of its two widths, and counts from the last that passed") {
  const time_point t = from_ns(1);
  deadband_state s;
  const band b{.absolute = 1, .percent = 10};
  CHECK(s.passes(0, t, b));
  CHECK_FALSE(s.passes(1, t, b));
  CHECK_FALSE(s.passes(-1, t, b));
  CHECK(s.passes(1.5, t, b));
  CHECK_FALSE(s.passes(2.25, t, b));
  CHECK(s.passes(100, t, b));
  CHECK_FALSE(s.passes(110, t, b));
  CHECK_FALSE(s.passes(90, t, b));
  CHECK(s.passes(89, t, b));
}

TEST_CASE("after its longest silence a band lets the next one pass") {
  deadband_state s;
  const band b{.absolute = 1, .every = 10s};
  CHECK(s.passes(5, from_ns(0), b));
  CHECK_FALSE(s.passes(5, from_ns(9'999'999'999), b));
  CHECK(s.passes(5, from_ns(10'000'000'000), b));
  CHECK_FALSE(s.passes(5, from_ns(19'999'999'999), b));
}

TEST_CASE("a rate is kept, after a burst") {
  rate_limit l(10, 3);
  time_point t = from_ns(5'000'000'000);
  for (int i = 0; i < 3; ++i) {
    CHECK(l.due() <= t);
    l.take(t);
  }
  CHECK(l.due() == from_ns(5'100'000'000));
  l.take(l.due());
  CHECK(l.due() == from_ns(5'200'000'000));
  // A pause brings no more than one burst back.
  t = from_ns(60'000'000'000);
  for (int i = 0; i < 3; ++i) {
    CHECK(l.due() <= t);
    l.take(t);
  }
  CHECK(l.due() > t);
}

TEST_CASE("a moving mean forgets what has left its window, also its rounding errors") {
  moving_mean m(3);
  CHECK(m.add(1) == 1);
  CHECK(m.add(2) == 1.5);
  CHECK(m.add(6) == 3);
  CHECK(m.add(1) == 3);
  moving_mean n(2);
  n.add(1e17);
  n.add(1);
  for (int i = 0; i < 4; ++i) n.add(0.25);
  CHECK(n.add(0.25) == 0.25);
}

TEST_CASE("of too many keys the one that was unused longest is forgotten") {
  keyed<int> k(2);
  const auto fresh = [] { return 0; };
  k.get("a", fresh) = 1;
  k.get("b", fresh) = 2;
  CHECK(k.get("a", fresh) == 1);
  CHECK(*k.displaced_by("c") == 2);
  CHECK(k.displaced_by("b") == nullptr);
  k.get("c", fresh) = 3;
  CHECK(k.get("a", fresh) == 1);
  CHECK(k.get("c", fresh) == 3);
  CHECK(k.get("b", fresh) == 0);
  CHECK(k.size() == 2);
}

}  // namespace
}  // namespace leat::stock::test
