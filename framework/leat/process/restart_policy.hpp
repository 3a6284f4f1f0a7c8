// SPDX-License-Identifier: BSL-1.0
//
// Whether and when something that has ended is started again: a function of a policy, of the restarts before
// (restart_history), and of the time, which is passed in.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/restart_policy.hpp>

namespace leat {

enum class process_end : std::uint8_t {
  returned,
  failed,
  finished,  // returned, and there is nothing left that it could do
};

// The restarts of one process.
class restart_history {
 public:
  // Those that are still in the window.
  unsigned recent(const restart_policy& p, time_point now) const noexcept;
  // How often the pause has doubled; none after a window without a restart.
  unsigned doublings(const restart_policy& p, time_point now) const noexcept;

  void restarted(const restart_policy& p, time_point now);
  // So that the next `restarted` need not allocate. The first time for many.
  void make_room(const restart_policy& p) {
    if (at_.capacity() == 0) at_.reserve(std::min<std::size_t>(p.burst, 1022) + 2);
    if (at_.size() == at_.capacity()) at_.reserve(at_.size() * 2);
  }

 private:
  std::vector<time_point> at_;  // no more than `burst`
  unsigned streak_ = 0;         // restarts without a quiet window in between
};

struct restart_decision {
  enum class kind : std::uint8_t {
    stays_ended,
    restarts,
    limit_reached,
    expected,  // it was stopped to be restarted with another, or for good
  };
  kind what = kind::stays_ended;
  nanoseconds pause{0};  // before the restart
  unsigned recent = 0;   // restarts in the window, with this one
};

// `random` is in [0, 1); the pause is within a tenth of what it would be without, and never above the
// longest.
restart_decision decide(const restart_policy& p, const restart_history& h, process_end how, time_point now,
                        double random) noexcept;

}  // namespace leat
