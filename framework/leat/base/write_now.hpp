// SPDX-License-Identifier: BSL-1.0
//
// A write that never waits for who reads, whatever is behind the descriptor, and that changes nothing about it: stdout and
// stderr are shared with the shell and with others.
//
//   a socket          MSG_DONTWAIT
//   a file            as it is
//   a pipe            RWF_NOWAIT; where the kernel has none for it, poll and at most 4096 bytes, for which it then has room
//   a terminal        an open file of our own, O_NONBLOCK, made by way of /proc/self/fd and kept. That poll finds room in a
//                     terminal says nothing of how much: a write of more waits until somebody reads it all, which may be never
//                     (Ctrl-S). Where it cannot be had (no /proc, a terminal of another user), poll and few bytes at a time
//
// Async-signal-safe; without allocations and locks. Test: tests/base/write_now_test.cpp.
#pragma once
#include <sys/types.h>
#include <cstddef>

namespace leat {

// How many it took; 0: none now; -1: it never will. Changes errno.
ssize_t write_now(int fd, const char* from, std::size_t n) noexcept;

}  // namespace leat
