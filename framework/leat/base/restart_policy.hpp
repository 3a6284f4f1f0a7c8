// SPDX-License-Identifier: BSL-1.0
//
// What a supervisor does when one of its children has ended; who decides by it: process/restart_policy.hpp.
#pragma once
#include <cstdint>

#include <leat/base/chrono.hpp>
#include <leat/base/clock.hpp>

namespace leat {

enum class restart_when : std::uint8_t { always, failure, not_at_all };

// What is restarted with it, among those that a supervisor has: nothing, all, those started after it.
enum class restart_strategy : std::uint8_t { one_for_one, one_for_all, rest_for_one };

// The defaults are for devices that come and go: what fails at once each time is given up after four minutes,
// what runs for some seconds before it fails never is. Thirty restarts with these pauses take 233 s.
struct restart_policy {
  restart_when when = restart_when::failure;
  restart_strategy strategy = restart_strategy::one_for_one;
  unsigned burst = 30;  // most restarts in `window`; one more is the limit
  timespan window = std::chrono::minutes(5);
  timespan backoff = std::chrono::milliseconds(100);  // the first pause; each next one is twice as long
  timespan longest_backoff = std::chrono::seconds(10);
};

}  // namespace leat
