// SPDX-License-Identifier: BSL-1.0
//
// The C library's <pthread.h>, and this_thread.hpp after it. Users of Leat have this folder among their
// include folders. No guard: both have their own, and this file may be found twice on the way to the C
// library's.
#pragma GCC system_header
#include_next <pthread.h>
#if defined(__cplusplus)
#include <leat/base/this_thread.hpp>
#endif
