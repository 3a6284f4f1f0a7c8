// SPDX-License-Identifier: BSL-1.0
// Steady time in nanoseconds. All arithmetic that users can push to the edge saturates: a very long
// wait is never(), not a wait in the past.
#pragma once

#include <time.h>

#include <atomic>
#include <compare>
#include <cstdint>
#include <leat/base/chrono.hpp>
#include <leat/base/system_time.hpp>
#include <limits>
#include <ratio>
#include <type_traits>

namespace leat {

using nanoseconds = std::chrono::nanoseconds;
using clock = std::chrono::steady_clock;
using time_point = std::chrono::time_point<clock, nanoseconds>;

inline constexpr time_point never = time_point::max();

namespace detail {
// The time of the simulated world that runs in this program (sched/world.hpp); 0: there is none.
inline constinit std::atomic<std::int64_t> world_time{0};
}  // namespace detail

// CLOCK_MONOTONIC, which is also what std::chrono::steady_clock reads on Linux. For what has to do with the kernel:
// how long threads sleep, and how long user code computes.
inline std::int64_t real_now_ns() noexcept {
  timespec t;
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + static_cast<std::int64_t>(t.tv_nsec);
}

// For all else: the same, or the time of a simulated world.
inline std::int64_t now_ns() noexcept {
  if (const std::int64_t t = detail::world_time.load(std::memory_order_relaxed)) [[unlikely]]
    return t;
  return real_now_ns();
}

inline time_point now() noexcept { return time_point(nanoseconds(now_ns())); }

constexpr std::int64_t to_ns(time_point t) noexcept { return t.time_since_epoch().count(); }
constexpr time_point from_ns(std::int64_t ns) noexcept { return time_point(nanoseconds(ns)); }

// Any duration as nanoseconds; what does not fit becomes the nearest that does, and not-a-number zero.
template <class Rep, class Period>
constexpr nanoseconds saturate_ns(std::chrono::duration<Rep, Period> d) noexcept {
  using in_ns = std::ratio_divide<Period, std::nano>;
  if constexpr (std::chrono::treat_as_floating_point_v<Rep> || (in_ns::num != 1 && in_ns::den != 1)) {
    // Also for units of which no whole number makes a nanosecond, or the other way round: thirds of a second.
    const double ns = std::chrono::duration<double, std::nano>(d).count();
    if (ns >= 0x1p63) return nanoseconds::max();
    if (ns <= -0x1p63) return nanoseconds::min();
    return ns == ns ? nanoseconds(static_cast<std::int64_t>(ns)) : nanoseconds::zero();
  } else if constexpr (std::ratio_less_v<Period, std::nano>) {
    return std::chrono::duration_cast<nanoseconds>(d);
  } else {
    // Compared in d's own unit, where the limits of nanoseconds always fit.
    using wide = std::chrono::duration<std::common_type_t<Rep, std::int64_t>, Period>;
    const wide w(d);
    if (w > std::chrono::duration_cast<wide>(nanoseconds::max())) return nanoseconds::max();
    if constexpr (std::is_signed_v<Rep>) {
      if (w < std::chrono::duration_cast<wide>(nanoseconds::min())) return nanoseconds::min();
    }
    return std::chrono::duration_cast<nanoseconds>(w);
  }
}

// What options say in nanoseconds: from a duration of any kind, which is saturated where the conversion of
// the standard library overflows (`.grace = std::chrono::hours::max()`).
class timespan : public nanoseconds {
 public:
  constexpr timespan() noexcept : nanoseconds(0) {}
  template <class Rep, class Period>
  constexpr timespan(std::chrono::duration<Rep, Period> d) noexcept : nanoseconds(saturate_ns(d)) {}
};

constexpr time_point saturating_add(time_point t, nanoseconds d) noexcept {
  std::int64_t sum = 0;
  if (__builtin_add_overflow(to_ns(t), static_cast<std::int64_t>(d.count()), &sum))
    return d.count() < 0 ? time_point::min() : time_point::max();
  return from_ns(sum);
}

// later - earlier
constexpr nanoseconds saturating_sub(time_point later, time_point earlier) noexcept {
  std::int64_t difference = 0;
  if (__builtin_sub_overflow(to_ns(later), to_ns(earlier), &difference))
    return later < earlier ? nanoseconds::min() : nanoseconds::max();
  return nanoseconds(difference);
}

// Where code that must be testable without waiting gets its time from.
class clock_source {
 public:
  virtual time_point now() const noexcept = 0;

 protected:
  ~clock_source() = default;
};

const clock_source& system_clock_source() noexcept;

// Stands still until a test moves it. Any thread may do anything with it.
class manual_clock final : public clock_source {
 public:
  explicit manual_clock(time_point start = from_ns(1'000'000'000)) noexcept : now_(to_ns(start)) {}

  time_point now() const noexcept override;
  void advance(nanoseconds d) noexcept;
  void set(time_point t) noexcept;

 private:
  // Release in advance and set pairs with acquire in now: who sees the new time sees what was done before it.
  std::atomic<std::int64_t> now_;
};

// A moment after which waiting ends. Converts from "in 50 ms" and from "at t" alike, so that one
// parameter serves both: durations of any kind, and moments of any clock. One of another clock than the
// steady one is as far from now as it is by that clock; if that clock is set meanwhile, the deadline does not
// follow. The system clock is that of the simulated world, if one runs.
class deadline {
 public:
  template <class Rep, class Period>
  deadline(std::chrono::duration<Rep, Period> from_now) noexcept : deadline(from_now, leat::now()) {}
  template <class Rep, class Period>
  constexpr deadline(std::chrono::duration<Rep, Period> from_start, time_point start) noexcept
      : at_(after(saturate_ns(from_start), start)) {}
  constexpr deadline(time_point at) noexcept : at_(at) {}
  template <class Clock, class Duration>
  deadline(std::chrono::time_point<Clock, Duration> at) noexcept : at_(of_clock(at)) {}

  static constexpr deadline never() noexcept { return deadline(leat::never); }

  constexpr time_point at() const noexcept { return at_; }
  constexpr bool is_never() const noexcept { return at_ == leat::never; }

  bool expired() const noexcept { return !is_never() && expired(leat::now()); }
  constexpr bool expired(time_point now) const noexcept { return !is_never() && at_ <= now; }

  // Zero once it has passed; nanoseconds::max() for never.
  nanoseconds left() const noexcept { return left(leat::now()); }
  constexpr nanoseconds left(time_point now) const noexcept {
    if (is_never()) return nanoseconds::max();
    return at_ <= now ? nanoseconds::zero() : saturating_sub(at_, now);
  }

  constexpr auto operator<=>(const deadline&) const noexcept = default;

 private:
  template <class Clock, class Duration>
  static time_point of_clock(std::chrono::time_point<Clock, Duration> at) noexcept {
    const time_point there = time_point(saturate_ns(at.time_since_epoch()));
    if constexpr (std::is_same_v<Clock, clock>) return there;
    if (there == leat::never) return there;
    return after(saturating_sub(there, now_by<Clock>()), leat::now());
  }
  template <class Clock>
  static time_point now_by() noexcept {
    if constexpr (std::is_same_v<Clock, std::chrono::system_clock>) return from_ns(system_now_ns());
    return time_point(saturate_ns(Clock::now().time_since_epoch()));
  }
  static constexpr time_point after(nanoseconds d, time_point start) noexcept {
    return d == nanoseconds::max() ? leat::never : saturating_add(start, d);
  }

  time_point at_;
};

}  // namespace leat
