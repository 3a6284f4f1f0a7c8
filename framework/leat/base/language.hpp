// SPDX-License-Identifier: BSL-1.0
//
// Included first by the headers that users include, so that a compiler with an older standard says one thing
// that helps before it says a thousand that do not.
#pragma once

#if !defined(__cplusplus) || __cplusplus < 202002L
#error "Leat needs C++20: compile with -std=c++20, or in CMake link leat::leat, which says so itself"
#endif
