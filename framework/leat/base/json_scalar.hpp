// SPDX-License-Identifier: BSL-1.0
//
// Numbers and texts of JSON (RFC 8259), for all who read it: where one ends, what it says, and what is wrong with it.
// Nothing is read beyond the end of the text.
#pragma once
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace leat {

enum class json_flaw : std::uint8_t {
  none,
  no_number,
  leading_zero,
  no_fraction,
  no_exponent,
  open_text,
  control_character,
  not_utf8,
  open_escape,
  unknown_escape,
  open_hex,
  no_hex,
  half_a_pair,
};
// "a digit must follow the point"
const char* to_string(json_flaw f) noexcept;

struct json_scalar {
  std::size_t end = 0;  // behind it, if it is good
  json_flaw flaw = json_flaw::none;
  std::size_t at = 0;  // where the flaw is
  bool whole = true;   // a number without point and exponent
};

// A number that begins at `at`. Which characters it has, not whether it fits into anything.
json_scalar scan_json_number(std::string_view text, std::size_t at) noexcept;

// Strict: what is not UTF-8, and half of a surrogate pair, is a flaw. Lenient, for answers that are only shown:
// such bytes stay as they are, and half of a pair is U+FFFD.
enum class json_texts : std::uint8_t { strict, lenient };

// A text whose opening quote is before `at`; it is added to `out`.
json_scalar scan_json_text(std::string_view text, std::size_t at, std::string& out, json_texts how);

}  // namespace leat
