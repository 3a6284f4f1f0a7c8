// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstddef>
#include <cstdint>
#include <string_view>

namespace leat {

// What a send does when there is no room.
enum class full : std::uint8_t {
  block,        // waits
  drop_newest,  // drops the value it was to send
  drop_oldest,  // drops the value that has waited longest
  latest,       // keeps one value, the last sent
  fail,         // returns send_status::full
};
// As files write them, in the same order.
inline constexpr std::string_view full_names[] = {"block", "drop-newest", "drop-oldest", "latest", "fail"};
constexpr const char* to_string(full f) noexcept { return full_names[static_cast<std::size_t>(f)].data(); }

}  // namespace leat
