// SPDX-License-Identifier: BSL-1.0
//
// Lines of text with a look, and the bytes that change one screen of them into the next: only lines that differ are
// sent, which is what a slow line needs. Pure.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace leat::remote {

enum class look : std::uint8_t { plain, heading, good, warning, bad, selected, faint };

struct screen_line {
  std::string text = {};
  look how = look::plain;

  friend bool operator==(const screen_line&, const screen_line&) = default;
};
using screen = std::vector<screen_line>;

// What a terminal of so many columns needs to show `after` where it shows `before`. An empty `before` is a screen of
// unknown content: it is cleared. Without colour nothing but the cursor is moved.
std::string changes(const screen& before, const screen& after, std::size_t width, bool colour);

}  // namespace leat::remote
