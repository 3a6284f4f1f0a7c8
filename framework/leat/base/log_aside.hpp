// SPDX-License-Identifier: BSL-1.0
//
// Lines of those who must not wait for a sink of the program's own (set_log_sink), which may wait for anybody: sysmon, and
// hosts of services. They are kept, as many as there is room for, and a thread gives them to the sink; the rest is counted and
// told. Without a sink there is no such thread.
//
// Roles. Anybody puts a line. One thread gives them away, one after the other.
//   put                                        the thread
//    1 lock; line to the queue, or lost + 1     a reads `puts`
//    2 unlock; puts + 1; wakes                  b lock; takes the first line out; unlock; gives it; until there is none
//                                               c sleeps while `puts` is what a read
// Forbidden: it sleeps, and a line is there. One that came after b found nothing changes `puts` after a.
//
// No allocation but for the thread. Test: tests/base/log_test.cpp.
#pragma once
#include <string_view>

#include <leat/base/log.hpp>

namespace leat::detail {

// Whether the calling thread must not wait for a sink; asked with each line. Null: nobody minds.
extern std::atomic<bool (*)() noexcept> must_not_wait_for_sink;

// Starts the thread, once per process; one caller at a time. False: there is none, and nothing may be put.
bool start_log_aside() noexcept;
void put_log_aside(log_level level, std::string_view component, std::string_view text) noexcept;
// Until all that was put has been given. False: not within so long.
bool wait_for_log_aside(int within_ms) noexcept;

// In log.cpp: gives it to the sink, if there still is one, or to stderr.
void give_log_line(log_level level, std::string_view component, std::string_view text) noexcept;

}  // namespace leat::detail
