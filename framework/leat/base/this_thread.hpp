// SPDX-License-Identifier: BSL-1.0
//
// pthread_self, right also after a G has changed threads. The C library declares it `const`, as it does
// errno's address (errno.hpp tells the story), and std::this_thread::get_id() is an inline function around
// it: two calls in one function are one, also with a park between them. So calls go to a function that is
// never merged. Only calls: `&pthread_self` is the C library's. Not mapped where LEAT_PLAIN_ERRNO is defined.
//
// Which thread a G is on tells little, and nothing for long: it may be another one after each call that may
// park.
//
// Test: tests/sched/errno_test.cpp.
#if !defined(LEAT_BASE_THIS_THREAD_HPP)  // #pragma once does not hold for a main file
#define LEAT_BASE_THIS_THREAD_HPP
#include <pthread.h>

// Not in a namespace: users write `::pthread_self()`.
[[gnu::noinline]] inline pthread_t leat_pthread_self() noexcept {
  pthread_t self = (pthread_self)();  // in brackets a macro's name is none
  asm volatile("" : "+r"(self) : : "memory");
  return self;
}

#if !defined(LEAT_PLAIN_ERRNO)
#define pthread_self() leat_pthread_self()
#endif

#endif  // LEAT_BASE_THIS_THREAD_HPP
