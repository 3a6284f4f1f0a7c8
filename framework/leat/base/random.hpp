// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>

namespace leat {

// The next of a sequence that looks random (xorshift): for fairness, not for secrets. The state must not be
// 0.
inline std::uint32_t next_random(std::uint32_t& state) noexcept {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

}  // namespace leat
