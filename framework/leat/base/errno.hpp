// SPDX-License-Identifier: BSL-1.0
//
// errno, right also after a G has changed threads.
//
// errno is a variable of the thread. The C library declares the function that finds it `const`: a compiler
// may call it once in a function and keep the address. A thread never leaves a function on another thread's
// errno; a G does:
//
//     n = ::read(fd, to, size);       // -1, EAGAIN: errno's address is found here, on thread A
//     if (errno == EAGAIN) leat::sleep_for(1ms);
//     n = ::read(fd, to, size);       // -1, EBADF on thread B
//     if (errno == EBADF) ...         // GCC and Clang read A's errno here
//
// So `errno` is mapped to a function that no compiler can take for const: it is not inlined, and has an asm
// statement that may do anything. It costs what the C library's costs, a call. This header does so for the
// code that comes after it; <leat/leat.hpp> includes it first. Users of Leat's targets, and of pkg-config,
// get it for every file, since their <errno.h> is leat/base/system/errno.h: then inline functions of other
// headers are right as well (std::stol tells by errno that a number is too large). this_thread.hpp does the
// same for pthread_self.
//
// Not mapped where LEAT_PLAIN_ERRNO is defined; last_error() is right there too. What is still wrong: an
// address of errno kept across a call that may park. Nor is errno kept across one: each thread has its own,
// and the runtime makes system calls. Read it right after the call that failed. leat::blocking brings it
// along from the call made there.
//
// Test: tests/sched/errno_test.cpp, which shows the trap as well.
#if !defined(LEAT_BASE_ERRNO_HPP)  // #pragma once does not hold for a main file
#define LEAT_BASE_ERRNO_HPP
#include <cerrno>

namespace leat {
namespace detail {

// Not watched: handlers of signals use it.
[[gnu::noinline, gnu::no_sanitize_thread]] inline int* errno_location() noexcept {
  int* p = &errno;
  asm volatile("" : "+r"(p) : : "memory");  // neither pure nor const: two calls are never merged
  return p;
}

}  // namespace detail

// errno of the thread that the caller is on. Right after the call that failed.
inline int last_error() noexcept { return *detail::errno_location(); }

}  // namespace leat

#if !defined(LEAT_PLAIN_ERRNO)
#undef errno
#define errno (*::leat::detail::errno_location())
#endif

#endif  // LEAT_BASE_ERRNO_HPP
