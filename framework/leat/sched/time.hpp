// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <leat/base/clock.hpp>

namespace leat {

enum class sleep_result : unsigned char { elapsed, stopped };

// Parks the G, never the thread. `stopped`: the G was asked to stop before the time had come. On a thread
// that runs no G it is the thread that sleeps. Any duration, and any moment of any clock; one that is longer
// than the clock can count is without end.
sleep_result sleep_until(deadline when);
template <class Rep, class Period>
sleep_result sleep_for(std::chrono::duration<Rep, Period> d) {
  return sleep_until(deadline(d));
}

// Lets the others run.
void yield();

}  // namespace leat
