// SPDX-License-Identifier: BSL-1.0
//
// Places in the wake protocol (idle_set.hpp) where a delayed thread does the most harm. The windows are a
// few instructions wide; no stress test hits two of them at once in reasonable time. In builds with debug
// checks a test can have threads stopped there, elsewhere the places are nothing.
//
// For the scheduler's own sources and its tests. No lock is held at any of them. Test:
// tests/sched/wake_test.cpp.
#pragma once
#include <atomic>

#include <leat/base/check.hpp>

namespace leat::sched {

enum class pause_site : unsigned char {
  before_waking,      // between 3 and 4
  searched_in_vain,   // in 4, still counted in searching_, though there was no idle P
  before_uncounting,  // between b and c
  before_sleep,       // between e and f
};
inline constexpr unsigned pause_places = 4;

#if LEAT_DEBUG_CHECKS_ON
inline std::atomic<void (*)(pause_site) noexcept> pause_hook{nullptr};  // set by tests, read by everybody

inline void pause_point(pause_site at) noexcept {
  if (auto* const hook = pause_hook.load(std::memory_order_acquire)) hook(at);  // pairs with the test's store
}
#else
inline void pause_point(pause_site) noexcept {}
#endif

}  // namespace leat::sched
