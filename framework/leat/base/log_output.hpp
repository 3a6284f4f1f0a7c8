// SPDX-License-Identifier: BSL-1.0
//
// Lines on their way to stderr. Whoever logs never waits for whoever reads: a terminal that was stopped, a
// pipe that nobody empties, a journal that is slow.
//
// As long as stderr takes them, lines are written at once, by the thread that logs. When it does not, they
// are kept, as many as there is room for; the rest is counted, and told when lines go out again. What is kept
// goes out with the next line, or when sysmon looks, or at the end. Only in a simulated world (sched/world.hpp) a line
// waits for its reader: what is logged there is the same each time.
//
// Roles. Anybody puts a line: under the lock, at the end of the queue. One thread at a time empties it: it
// takes the front under the lock, writes without it, and takes away what was written.
//   put                                      empty
//    1 lock; line to the queue, or lost + 1    a `emptying` 0 -> 1 by exchange; else somebody is at it: done
//    2 unlock; empty                           b lock; copies the front; unlock; writes without waiting
//                                              c lock; takes away what was written; unlock; more: b
//                                              d `emptying` = 0 (seq_cst); more, and it was taken: a
// Forbidden: a line stays although stderr takes it, because its putter found somebody at a who had looked
// before 1: that one looks again at d.
//
// No allocation, errno kept. Test: tests/base/log_test.cpp.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leat {

namespace detail {

// Called by each thread that logs, before it counts or holds anything here; may keep it for good. Null: none.
extern std::atomic<void (*)() noexcept> before_log;

void put_log_line(std::string_view line) noexcept;
// Lines are kept because stderr took none. A word: to be read often.
bool log_is_stalled() noexcept;
// Bytes that are kept.
std::size_t log_backlog() noexcept;
void empty_log() noexcept;

}  // namespace detail

// For the end of a program: what is kept, and a text behind it, go to stderr, if it takes them within so
// long.
void write_last_words(std::string_view text, int within_ms) noexcept;

}  // namespace leat
