// SPDX-License-Identifier: BSL-1.0
//
// The arithmetic of filters, without clocks or channels. Not installed.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

#include <leat/base/clock.hpp>

namespace leat::stock {

// The mean of the last so many values.
class moving_mean {
 public:
  explicit moving_mean(std::size_t window) : window_(window) {}

  // The last values stay, as far as there is room.
  void resize(std::size_t window) {
    if (window == window_) return;
    if (ring_.size() == window_)  // else the oldest is the first
      std::rotate(ring_.begin(), ring_.begin() + static_cast<std::ptrdiff_t>(next_), ring_.end());
    if (ring_.size() > window) {
      ring_.erase(ring_.begin(), ring_.end() - static_cast<std::ptrdiff_t>(window));
      ring_.shrink_to_fit();
    }
    window_ = window;
    next_ = ring_.size() == window_ ? 0 : ring_.size();
    sum_anew();
  }

  double add(double v) {
    if (ring_.size() < window_) {
      ring_.push_back(v);
      sum_ += v;
    } else {
      sum_ += v - ring_[next_];
      ring_[next_] = v;
    }
    if (++next_ == window_) {
      next_ = 0;
      sum_anew();  // rounding errors do not gather for longer than one turn
    }
    return sum_ / static_cast<double>(ring_.size());
  }

 private:
  void sum_anew() noexcept {
    sum_ = 0;
    for (const double x : ring_) sum_ += x;
  }

  std::size_t window_;
  std::vector<double> ring_;
  std::size_t next_ = 0;
  double sum_ = 0;
};

struct extremes {
  double min = 0, max = 0, sum = 0;
  std::int64_t count = 0;

  void add(double v) noexcept {
    min = count == 0 ? v : std::min(min, v);
    max = count == 0 ? v : std::max(max, v);
    sum += v;
    ++count;
  }
  double mean() const noexcept { return sum / static_cast<double>(count); }
};

// Which values differ enough from the last that passed.
struct band {
  double absolute = 0;
  double percent = 0;                      // of the last that passed
  nanoseconds every = nanoseconds::max();  // after that long, any passes
};
class deadband_state {
 public:
  bool passes(double v, time_point now, const band& b) noexcept {
    const double half = std::max(b.absolute, std::fabs(last_) * b.percent / 100);
    if (any_ && std::fabs(v - last_) <= half && saturating_sub(now, at_) < b.every) return false;
    any_ = true;
    last_ = v;
    at_ = now;
    return true;
  }

 private:
  bool any_ = false;
  double last_ = 0;
  time_point at_{};
};

// At most so many a second, after a burst of at most so many at once.
class rate_limit {
 public:
  rate_limit(double per_second, double burst) { set(per_second, burst); }

  // From now on. What went before counts as so many as it was.
  void change(double per_second, double burst, time_point now) noexcept {
    const nanoseconds left = saturating_sub(free_at_, now);
    const double taken =
        any_ && left.count() > 0 ? static_cast<double>(left.count()) / static_cast<double>(gap_.count()) : 0;
    set(per_second, burst);
    if (taken > 0) free_at_ = saturating_add(now, times(gap_, taken));
  }

  // When the next may go; not after now: at once.
  time_point due() const noexcept { return any_ ? saturating_add(free_at_, -slack_) : time_point::min(); }
  // One goes now.
  void take(time_point now) noexcept {
    free_at_ = saturating_add(any_ ? std::max(free_at_, now) : now, gap_);
    any_ = true;
  }

 private:
  static nanoseconds times(nanoseconds d, double n) noexcept {
    return nanoseconds(static_cast<std::int64_t>(std::min(static_cast<double>(d.count()) * n, 4e18)));
  }
  void set(double per_second, double burst) noexcept {
    gap_ = nanoseconds(std::max<std::int64_t>(1, std::llround(1e9 / per_second)));
    slack_ = times(gap_, burst - 1);
  }

  nanoseconds gap_{1}, slack_{0};
  bool any_ = false;
  time_point free_at_{};  // when nothing is left of what went before
};

}  // namespace leat::stock
