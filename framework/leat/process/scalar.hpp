// SPDX-License-Identifier: BSL-1.0
//
// Scalars in memory, by their shape. Not installed: for the readers and writers beside it.
#pragma once
#include <cstdint>
#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <string_view>

#include <leat/base/utf8.hpp>
#include <leat/process/shape.hpp>

namespace leat::shapes {

// An integer of any type: a negative one, or one that is not.
struct wide_integer {
  bool negative = false;
  std::uint64_t bits = 0;  // two's complement if negative

  std::int64_t as_signed() const noexcept { return static_cast<std::int64_t>(bits); }
  std::string text() const { return negative ? std::to_string(as_signed()) : std::to_string(bits); }
};
inline wide_integer from_signed(std::int64_t v) noexcept { return {v < 0, static_cast<std::uint64_t>(v)}; }

wide_integer load_integer(const type_shape& s, const void* v) noexcept;
// False: it does not fit.
bool store_integer(const type_shape& s, void* v, wide_integer i) noexcept;
double load_real(const type_shape& s, const void* v) noexcept;
// The double that is written in the same digits as this float, and is that float again: 0.1 of 0.1f.
double double_of(float f) noexcept;
// False: a number that the type cannot hold.
bool store_real(const type_shape& s, void* v, double d) noexcept;
// The real that is nearest to a number of JSON, which is 0 for what is too small. False: it is too large.
bool store_digits(const type_shape& s, void* v, std::string_view digits) noexcept;
// "0 to 255"
std::string integer_range(const type_shape& s);
std::int64_t least_of(const type_shape& s) noexcept;
std::uint64_t most_of(const type_shape& s) noexcept;

const enumerator* find_name(const type_shape& s, std::string_view name) noexcept;
const enumerator* find_value(const type_shape& s, std::int64_t value) noexcept;
// "one of \"a\", \"b\""
std::string names_in_words(const type_shape& s);

// "-250ms" and "250ms" alike.
std::optional<std::int64_t> signed_duration(std::string_view text);
// "2026-11-15T08:00:00.25Z"
std::string moment_text(std::int64_t ns);
std::optional<std::int64_t> parse_moment(std::string_view text);

using leat::append_utf8;
using leat::is_utf8;
using leat::utf8_length;

// Members are reached through non-const pointers; whoever writes out does not change what it reads.
inline void* part_of(const void* v) noexcept { return const_cast<void*>(v); }

}  // namespace leat::shapes
