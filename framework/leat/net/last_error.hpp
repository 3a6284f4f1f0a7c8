// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cerrno>

namespace leat::net {

// errno, for code that parks: __errno_location() is declared const, so that a compiler may keep its result
// across a wait from which the G comes back on another thread.
[[gnu::noinline]] inline int last_error() noexcept { return errno; }

}  // namespace leat::net
