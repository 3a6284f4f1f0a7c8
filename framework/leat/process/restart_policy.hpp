// SPDX-License-Identifier: BSL-1.0
//
// Whether and when something that has ended is started again: a function of a policy, of what was restarted
// before, and of the time. Nothing here has a clock or a state of its own.
#pragma once
#include <chrono>
#include <cstdint>
#include <deque>

#include <leat/base/clock.hpp>

namespace leat {

enum class restart_when : std::uint8_t { always, failure, not_at_all };

// What is restarted with it, among those that a supervisor has: nothing, all, those started after it.
enum class restart_strategy : std::uint8_t { one_for_one, one_for_all, rest_for_one };

struct restart_policy {
  restart_when when = restart_when::failure;
  restart_strategy strategy = restart_strategy::one_for_one;
  unsigned burst = 5;  // most restarts in `window`; one more is the limit
  nanoseconds window = std::chrono::seconds(60);
  nanoseconds backoff = std::chrono::milliseconds(100);  // the first pause; each next one is twice as long
  nanoseconds longest_backoff = std::chrono::seconds(10);
};

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

 private:
  std::deque<time_point> at_;  // no more than `burst`
  unsigned streak_ = 0;        // restarts without a quiet window in between
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
