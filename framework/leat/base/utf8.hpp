// SPDX-License-Identifier: BSL-1.0
//
// UTF-8: what is well-formed, and how a code point is written.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace leat {

// Bytes of the character that begins there; 0: it is none. There is at least one byte.
std::size_t utf8_length(std::string_view text, std::size_t at) noexcept;
bool is_utf8(std::string_view text) noexcept;
void append_utf8(std::string& out, std::uint32_t code_point);

}  // namespace leat
