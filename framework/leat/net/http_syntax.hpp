// SPDX-License-Identifier: BSL-1.0
//
// The small words of HTTP/1.x (RFC 9110 and 9112), for the readers of requests and responses. Not installed.
#pragma once
#include <algorithm>
#include <charconv>
#include <cstdint>
#include <optional>
#include <string_view>
#include <system_error>

namespace leat::net::http::syntax {

inline bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
inline bool is_alphanumeric(char c) noexcept {
  return is_digit(c) || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
inline bool is_token(std::string_view s) noexcept {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !s.empty() && std::all_of(s.begin(), s.end(), [&](char c) {
    return is_alphanumeric(c) || others.find(c) != std::string_view::npos;
  });
}
inline bool is_visible(std::string_view s) noexcept {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c > ' ' && c < 0x7f; });
}
inline bool is_field_value(std::string_view s) noexcept {
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f); });
}

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
inline bool same(std::string_view a, std::string_view in_lower_case) noexcept {
  return std::equal(a.begin(), a.end(), in_lower_case.begin(), in_lower_case.end(),
                    [](char x, char y) { return lower(x) == y; });
}

inline std::string_view trimmed(std::string_view s) noexcept {
  const std::size_t from = s.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return s.substr(from, s.find_last_not_of(" \t") - from + 1);
}

// Is the word in a list with commas?
inline bool lists(std::string_view list, std::string_view word) noexcept {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (same(trimmed(list.substr(0, comma)), word)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

// Digits alone: no sign, no list, no other base. Empty: it is no length, or one that 64 bits cannot hold.
inline std::optional<std::uint64_t> content_length(std::string_view value) noexcept {
  std::uint64_t n = 0;
  const char* const end = value.data() + value.size();
  const auto [at, error] = std::from_chars(value.data(), end, n);
  if (value.empty() || at != end || error != std::errc{}) return std::nullopt;
  return n;
}

// A line "name: value" without its end. Empty: it is none, or one that different programs read in different
// ways: with a blank before the colon, or one that begins with a blank and goes on with the line before it.
struct field_line {
  std::string_view name, value;
};
inline std::optional<field_line> split_field(std::string_view line) noexcept {
  const std::size_t colon = line.find(':');
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return std::nullopt;
  const field_line f{line.substr(0, colon), trimmed(line.substr(colon + 1))};
  if (!is_field_value(f.value)) return std::nullopt;
  return f;
}

}  // namespace leat::net::http::syntax
