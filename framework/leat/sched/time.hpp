// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <leat/base/clock.hpp>

namespace leat {

enum class sleep_result : unsigned char { elapsed, stopped };

// Parks the G, never the thread. `stopped`: the G was asked to stop before the time had come. On a thread
// that runs no G it is the thread that sleeps.
sleep_result sleep_until(time_point when);
sleep_result sleep_for(nanoseconds d);

// Lets the others run.
void yield();

}  // namespace leat
