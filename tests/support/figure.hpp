// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <chrono>
#include <cstdio>

namespace leat::test {

// What a test has measured, beside its bar: CHECK(at_most("one tick in an idle program", took, 30ms)). The line that it
// prints is what `./dev soak` makes its table of (cmake/dev/soak.sh).
inline void figure(const char* name, double value, const char* unit, const char* side, double limit) {
  std::printf("\nfigure: %s = %.6g %s, at %s %.6g\n", name, value, unit, side, limit);
  std::fflush(stdout);
}

inline bool at_most(const char* name, double value, const char* unit, double limit) {
  figure(name, value, unit, "most", limit);
  return value <= limit;
}
inline bool at_least(const char* name, double value, const char* unit, double limit) {
  figure(name, value, unit, "least", limit);
  return value >= limit;
}

inline bool at_most(const char* name, std::chrono::nanoseconds value, std::chrono::nanoseconds limit) {
  using ms = std::chrono::duration<double, std::milli>;
  return at_most(name, ms(value).count(), "ms", ms(limit).count());
}

}  // namespace leat::test
