// SPDX-License-Identifier: BSL-1.0
//
// The C library's <errno.h>, and errno.hpp after it. Users of Leat have this folder among their include
// folders. No guard: both have their own, and this file may be found twice on the way to the C library's.
#pragma GCC system_header
#include_next <errno.h>
#if defined(__cplusplus)
#include <leat/base/errno.hpp>
#endif
