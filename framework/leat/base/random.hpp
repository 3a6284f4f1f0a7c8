// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>

#include <leat/base/clock.hpp>

namespace leat {

// The next of a sequence that looks random (xorshift): for fairness, not for secrets. The state must not be
// 0.
inline std::uint32_t next_random(std::uint32_t& state) noexcept {
  state ^= state << 13;
  state ^= state >> 17;
  state ^= state << 5;
  return state;
}

// For a state in an object. In a simulated world it does not depend on where the object is.
inline std::uint32_t first_random(const void* in) noexcept {
  if (detail::world_time.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return 1;
  return static_cast<std::uint32_t>(reinterpret_cast<std::uintptr_t>(in) >> 6) | 1;
}

}  // namespace leat
