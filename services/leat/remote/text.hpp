// SPDX-License-Identifier: BSL-1.0
//
// Text for people: what others wrote, made safe for a terminal; columns; numbers in a few characters.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace leat::remote {

// What a terminal may be given: control characters, and bytes that are no UTF-8, become '?'. Nobody's name or
// error text can move the cursor.
std::string printable(std::string_view text);

// The same for a text of several lines, which stay so.
std::string printable_lines(std::string_view text);

// Columns that a printable text takes: two for wide characters, none for combining ones.
std::size_t columns(std::string_view text);
// Cut to so many columns; what was cut ends in '~'.
std::string cut(std::string_view text, std::size_t width);
// Cut or filled with blanks to exactly so many columns.
std::string to_left(std::string_view text, std::size_t width);
std::string to_right(std::string_view text, std::size_t width);
// At blanks, into lines of at most so many columns, at most `most` of them; the last one is cut.
std::vector<std::string> wrapped(std::string_view text, std::size_t width, std::size_t most);

std::string rate_text(double per_second);  // "0", "50.1", "999", "12.3k", "4.5M"
std::string count_text(std::uint64_t n);   // "97", "12.3k", "4.5M"
std::string elapsed_text(double seconds);  // "80us", "1.2ms", "12s", "13m32s", "3h05m", "12d04h"
std::string bytes_text(double bytes);      // "812", "8.7M"
std::string percent_text(double share);    // "7%", "0.3%"
std::string joined(const std::vector<std::string>& parts, std::string_view between);

}  // namespace leat::remote
