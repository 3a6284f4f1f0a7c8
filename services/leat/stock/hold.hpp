// SPDX-License-Identifier: BSL-1.0
//
// The state of one alarm: raised or not, with hysteresis and times to hold. No clock, no channel. Not installed.
#pragma once
#include <leat/base/clock.hpp>

namespace leat::stock {

struct hold_times {
  nanoseconds raise{0}, clear{0};
};

//   not raised: `up` must be seen and not contradicted for `raise`; then it is raised
//   raised:     `down` the same for `clear`; then it is not
//
// A record with `up` false ends what is held before a raise, and one with `down` false before a clear. Where both are
// true, it stays as it is.
class hold_state {
 public:
  static hold_state raised() noexcept {
    hold_state s;
    s.raised_ = true;
    return s;
  }
  bool is_raised() const noexcept { return raised_; }
  // When what is held is over; never: nothing is.
  time_point due() const noexcept { return due_; }

  // One record. True: it is raised or cleared now.
  bool see(bool up, bool down, time_point now, const hold_times& t) noexcept {
    const bool wanted = raised_ ? down && !up : up && !down;
    if (!wanted) return due_ = never, false;
    if (due_ == never) due_ = saturating_add(now, raised_ ? t.clear : t.raise);
    return expire(now);
  }
  // Time passes. True as above.
  bool expire(time_point now) noexcept {
    if (due_ == never || now < due_) return false;
    raised_ = !raised_;
    due_ = never;
    return true;
  }

 private:
  bool raised_ = false;
  time_point due_ = never;
};

}  // namespace leat::stock
