// SPDX-License-Identifier: BSL-1.0
#include <leat/base/clock.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <optional>
#include <thread>

using namespace std::chrono_literals;
using leat::deadline;
using leat::from_ns;
using leat::nanoseconds;
using leat::time_point;

static constexpr auto longest = nanoseconds::max();

TEST_CASE("now is the steady clock of the standard library") {
  const auto before = std::chrono::steady_clock::now();
  const time_point here = leat::now();
  const auto after = std::chrono::steady_clock::now();
  CHECK(before <= here);
  CHECK(here <= after);
  CHECK(leat::to_ns(here) <= leat::now_ns());
  CHECK(leat::system_clock_source().now() >= here);
}

TEST_CASE("a deadline from a duration counts from now") {
  const time_point before = leat::now();
  const deadline soon = 10s;
  const time_point after = leat::now();
  CHECK(soon.at() >= before + 10s);
  CHECK(soon.at() <= after + 10s);
  CHECK_FALSE(soon.expired());
  CHECK(soon.left() <= 10s);
  CHECK(soon.left() > 0s);
}

TEST_CASE("a deadline that has come is expired and has nothing left") {
  const deadline at = from_ns(1000);
  CHECK(at.expired());
  CHECK(at.left() == 0ns);
  CHECK_FALSE(at.expired(from_ns(999)));
  CHECK(at.expired(from_ns(1000)));
  CHECK(at.left(from_ns(400)) == 600ns);
  CHECK(at.left(from_ns(5000)) == 0ns);
  CHECK(deadline(0s).expired());
  CHECK(deadline(-5s).expired());
}

TEST_CASE("never does not expire, not even at the end of time") {
  CHECK(deadline::never().is_never());
  CHECK_FALSE(deadline::never().expired());
  CHECK_FALSE(deadline::never().expired(leat::never));
  CHECK(deadline::never().left() == longest);
  CHECK(deadline(leat::never) == deadline::never());
  CHECK(deadline(from_ns(5)) < deadline::never());
}

TEST_CASE("a wait longer than the clock can count is never") {
  CHECK(deadline(longest).is_never());
  CHECK(deadline(longest, from_ns(-1000)).is_never());
  CHECK(deadline(longest - 1ns).is_never());
  CHECK(deadline(std::chrono::hours::max()).is_never());
  CHECK(deadline(std::chrono::duration<unsigned long long>::max()).is_never());
  CHECK(deadline(std::chrono::duration<double>(1e300)).is_never());
  CHECK(deadline(std::chrono::duration<double>(std::numeric_limits<double>::infinity())).is_never());
}

TEST_CASE("a wait before the beginning of time has expired") {
  CHECK(deadline(nanoseconds::min(), from_ns(-1000)).at() == time_point::min());
  CHECK(deadline(std::chrono::hours::min(), from_ns(-1000)).at() == time_point::min());
  CHECK(deadline(std::chrono::duration<double>(-1e300)).expired());
  CHECK(deadline(std::chrono::duration<double>(std::numeric_limits<double>::quiet_NaN())).expired());
}

TEST_CASE("durations of any type become nanoseconds, saturated") {
  using std::chrono::duration;
  CHECK(leat::saturate_ns(duration<int, std::milli>(std::numeric_limits<int>::max())) == 2'147'483'647ms);
  CHECK(leat::saturate_ns(duration<int, std::ratio<3600>>(std::numeric_limits<int>::max())) == longest);
  CHECK(leat::saturate_ns(duration<int, std::ratio<3600>>(std::numeric_limits<int>::min())) ==
        nanoseconds::min());
  CHECK(leat::saturate_ns(duration<unsigned char>(200)) == 200s);
  CHECK(leat::saturate_ns(9'223'372'036s) == 9'223'372'036'000'000'000ns);
  CHECK(leat::saturate_ns(9'223'372'037s) == longest);
  CHECK(leat::saturate_ns(-9'223'372'037s) == nanoseconds::min());
  CHECK(leat::saturate_ns(duration<double>(1.5)) == 1500ms);
  CHECK(leat::saturate_ns(duration<double>(9.3e9)) == longest);
  CHECK(leat::saturate_ns(duration<float>(-0.5F)) == -500ms);
  CHECK(leat::saturate_ns(duration<long long, std::pico>(5'999)) == 5ns);
  using thirds = duration<long long, std::ratio<1, 3>>;
  CHECK(leat::saturate_ns(thirds(9)) == 3s);
  CHECK(leat::saturate_ns(thirds::max()) == longest);
  CHECK(leat::saturate_ns(thirds::min()) == nanoseconds::min());
}

TEST_CASE("a span of time that an option takes saturates, and is one of nanoseconds otherwise") {
  struct options {
    leat::timespan grace = 200ms;
    std::optional<leat::timespan> watchdog = {};
  };
  CHECK(options{}.grace == 200ms);
  const options most{.grace = std::chrono::hours::max(), .watchdog = std::chrono::minutes::max()};
  CHECK(most.grace == longest);
  CHECK(most.watchdog == leat::timespan(longest));
  options o;
  o.grace = std::chrono::hours::min();
  CHECK(o.grace == nanoseconds::min());
  o.grace = std::chrono::duration<double>(1.5);
  CHECK(o.grace * 2 == 3s);
  const nanoseconds plain = o.grace;
  CHECK(plain == 1500ms);
  CHECK(deadline(most.grace).is_never());
}

TEST_CASE("a deadline is made of a moment of any clock and any kind") {
  using namespace std::chrono;
  const auto near = [](deadline d, nanoseconds ahead) {
    const nanoseconds left = d.left();
    return left <= ahead && left > ahead - 30min;  // however slow the machine
  };
  CHECK(near(steady_clock::now() + 1h, 1h));
  CHECK(near(system_clock::now() + 1h, 1h));
  CHECK(near(steady_clock::now() + duration<double>(3600.0), 1h));
  CHECK(near(time_point_cast<seconds>(system_clock::now()) + 2h, 2h));
  CHECK(deadline(system_clock::now() - 1h).expired());
  CHECK(deadline(system_clock::time_point::max()).is_never());
  CHECK(deadline(std::chrono::time_point<system_clock, hours>::max()).is_never());
  CHECK(deadline(std::chrono::time_point<steady_clock, hours>::max()).is_never());
  CHECK(deadline(std::chrono::time_point<steady_clock, hours>::min()).expired());
  CHECK(
      deadline(std::chrono::time_point<system_clock, duration<double>>(duration<double>(1e300))).is_never());
  CHECK(deadline(system_clock::time_point::min()).expired());
}

TEST_CASE("adding and subtracting times saturates") {
  CHECK(leat::saturating_add(from_ns(5), 6ns) == from_ns(11));
  CHECK(leat::saturating_add(leat::never, 1ns) == leat::never);
  CHECK(leat::saturating_add(time_point::min(), -1ns) == time_point::min());
  CHECK(leat::saturating_sub(from_ns(5), from_ns(8)) == -3ns);
  CHECK(leat::saturating_sub(leat::never, from_ns(-1)) == longest);
  CHECK(leat::saturating_sub(time_point::min(), from_ns(1)) == nanoseconds::min());
}

TEST_CASE("a manual clock moves only when told") {
  leat::manual_clock clock(from_ns(100));
  const leat::clock_source& source = clock;
  CHECK(source.now() == from_ns(100));
  clock.advance(50ns);
  CHECK(source.now() == from_ns(150));
  clock.set(from_ns(7));
  CHECK(source.now() == from_ns(7));
  clock.advance(longest);
  CHECK(source.now() == leat::never);
  clock.advance(longest);
  CHECK(source.now() == leat::never);
}

TEST_CASE("advances of a manual clock from two threads all count") {
  leat::manual_clock clock(from_ns(0));
  int published = 0;
  std::thread other([&] {
    for (int i = 0; i < 50'000; ++i) clock.advance(1ns);
    published = 42;
    clock.advance(1s);
  });
  for (int i = 0; i < 50'000; ++i) clock.advance(1ns);
  while (clock.now() < from_ns(1'000'000'000)) std::this_thread::yield();
  CHECK(published == 42);
  other.join();
  CHECK(clock.now() == from_ns(1'000'100'000));
}
