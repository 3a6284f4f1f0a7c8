// SPDX-License-Identifier: BSL-1.0
//
// Durations, time points, clocks and their literals: what <chrono> has without its calendars, time zones and
// formatting, which are half of its weight. Who wants those includes <chrono>.
#pragma once
#include <cstddef>  // says which library it is

#if defined(__GLIBCXX__) && __has_include(<bits/chrono.h>)
#include <bits/chrono.h>
#else
#include <chrono>
#endif
