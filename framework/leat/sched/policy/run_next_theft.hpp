// SPDX-License-Identifier: BSL-1.0
//
// Does an M that searches take the G in another P's run_next?
//
// It waits there for the end of its waker's turn, and that may take long: so yes. But one that waits again at
// once and is woken again at once, as behind a mutex that is locked and unlocked in a loop, goes back and forth
// between the cores, and both get nothing done. So a theft that follows the last one closely is the last for a
// while, and the while doubles as long as that goes on. What is left alone runs when its waker waits, or when
// sysmon takes the P.
//
// For the row mutex with more Ps than cores: a search through many Ps takes as long as the next wake, one through
// two is over before it. The M's own.
#pragma once
#include <algorithm>
#include <cstdint>

namespace leat::sched {

class run_next_theft_policy {
 public:
  static constexpr std::int64_t closely = 5'000;  // ns
  static constexpr std::int64_t shortest_pause = 10'000, longest_pause = 640'000;

  bool may_take(std::int64_t now) const noexcept { return now >= pause_ends_; }
  void took(std::int64_t now) noexcept {
    if (now - pause_ends_ >= closely) {
      pause_ = 0;
    } else {
      pause_ = std::clamp(2 * pause_, shortest_pause, longest_pause);
    }
    pause_ends_ = now + pause_;
  }

 private:
  std::int64_t pause_ = 0;
  std::int64_t pause_ends_ = 0;  // without a pause: when the last was taken
};

}  // namespace leat::sched
