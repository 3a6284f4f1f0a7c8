// SPDX-License-Identifier: BSL-1.0
//
// errno, for functions that wait. The C library lets compilers keep errno's address across calls; a G that
// waits may come back on another thread, whose errno is elsewhere (fiber/thread_slot.hpp).
#pragma once
#include <cerrno>

namespace leat::net {

// Right after the call that failed.
[[gnu::noinline]] inline int last_error() noexcept {
  int e = errno;
  asm volatile("" : "+r"(e) : : "memory");  // neither pure nor const: two calls are never merged
  return e;
}

}  // namespace leat::net
