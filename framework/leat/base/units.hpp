// SPDX-License-Identifier: BSL-1.0
// Durations and sizes as people write them.
//
//   duration   one or more number-unit pairs from large to small, each unit once: "250ms", "1h30m",
//              "1.5s"; units d h m s ms us ns. A fraction only in the last pair. "0" needs no unit.
//   size       a number of bytes, or a number and a unit of 1024s: "4096", "64K", "1.5M", "2GiB";
//              units K M G T P E, also spelled KiB to EiB. In lower case only k, since a lower-case m
//              or p means something else everywhere; KB is refused as it may mean 1000.
//
// No blanks, signs or exponents. The value must be whole nanoseconds or bytes; nothing is rounded.
#pragma once

#include <compare>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>

namespace leat {

class text_buffer;

// Either a value, or what is wrong and at which character. The error text lives forever.
template <class T>
struct parsed {
  std::optional<T> value;
  std::size_t error_at = 0;
  std::string_view error;

  explicit operator bool() const noexcept { return value.has_value(); }
};

// A size apart from any other number: a setting of this type is written as "64K".
struct byte_size {
  std::uint64_t bytes = 0;

  friend constexpr bool operator==(byte_size a, byte_size b) noexcept { return a.bytes == b.bytes; }
  friend constexpr std::strong_ordering operator<=>(byte_size a, byte_size b) noexcept {
    return a.bytes <=> b.bytes;
  }
};

parsed<nanoseconds> parse_duration(std::string_view text) noexcept;
// The same with a minus sign in front, if there is one: all that format_duration writes.
parsed<nanoseconds> parse_signed_duration(std::string_view text) noexcept;
parsed<std::uint64_t> parse_size(std::string_view text) noexcept;

// The shortest text that parses back to the same value and has no number below one: 90 minutes are
// "90m", 100 ms are "100ms". A negative duration gets a minus sign.
std::string format_duration(nanoseconds d);
void append_duration(text_buffer& to, nanoseconds d) noexcept;
std::string format_size(std::uint64_t bytes);

}  // namespace leat
