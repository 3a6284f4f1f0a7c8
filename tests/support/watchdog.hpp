// SPDX-License-Identifier: BSL-1.0
// The time limit of each test. A thread of its own waits; when a test overstays, it prints which one,
// where everything stood (the last words of base/check.hpp), the back-trace of each thread, and aborts.
#pragma once

#include <leat/base/clock.hpp>

namespace leat::test {

struct running_test {
  const char* name = nullptr;
  const char* file = nullptr;
  unsigned line = 0;
};

// Before the first test, from main.
void start_watchdog();
void stop_watchdog();

void test_begins(const running_test& test, nanoseconds limit);
void test_ends();
running_test current_test() noexcept;

// 300 s, with LEAT_LONG nine minutes, less than CTest waits, or LEAT_TEST_TIME_LIMIT: seconds, or a duration
// such as "500ms". Zero means no limit.
nanoseconds default_time_limit();

}  // namespace leat::test
