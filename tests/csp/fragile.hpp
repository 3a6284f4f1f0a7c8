// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <atomic>
#include <utility>

#include "csp/fixture.hpp"

namespace leat::csp::test {

// Throws when the countdown reaches zero, at a move or a copy. Keeps its value when its move throws.
class fragile {
 public:
  struct broken {};

  explicit fragile(int v) : value(v) { ++live; }
  fragile(const fragile& o) : value(o.value) {
    step();
    ++live;
  }
  fragile(fragile&& o) : value(o.value) {
    step();
    o.value = gone;
    ++live;
  }
  fragile& operator=(const fragile& o) {
    step();
    value = o.value;
    return *this;
  }
  fragile& operator=(fragile&& o) {
    step();
    value = std::exchange(o.value, gone);
    return *this;
  }
  ~fragile() { --live; }

  int value;

  static constexpr int gone = -1;
  static inline std::atomic<int> live{0};
  // Moves and copies until the next one throws; negative: never.
  static inline std::atomic<int> countdown{-1};

 private:
  static void step() {
    if (countdown.load() >= 0 && countdown.fetch_sub(1) == 0) throw broken{};
  }
};
static_assert(!kept_inline<fragile>);

}  // namespace leat::csp::test
