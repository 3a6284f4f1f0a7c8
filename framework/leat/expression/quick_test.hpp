// SPDX-License-Identifier: BSL-1.0
//
// Comparisons that need no table of kinds: half of the time of most filters. Not installed.
#pragma once
#include <cmath>
#include <cstdint>
#include <cstring>
#include <string_view>

#include <leat/expression/rules.hpp>

namespace leat::expression {

inline bool quick_texts(binary b, std::string_view x, std::string_view y, bool& out) noexcept {
  if (b != binary::eq && b != binary::ne) return false;
  out = (x.size() == y.size() && std::memcmp(x.data(), y.data(), x.size()) == 0) == (b == binary::eq);
  return true;
}

template <class T>
inline bool decide(binary b, const T& l, const T& r) noexcept {
  switch (b) {
    case binary::eq: return l == r;
    case binary::ne: return l != r;
    case binary::lt: return l < r;
    case binary::le: return l <= r;
    case binary::gt: return l > r;
    default: return l >= r;
  }
}

// An integer of so many bits is a real as well.
inline bool is_exact(std::int64_t i) noexcept {
  constexpr std::int64_t most = std::int64_t{1} << 53;
  return i >= -most && i <= most;
}

// What most comparisons are of: numbers, and texts that are equal or not. False: another way.
inline bool quick_test(binary b, const operand& x, const operand& y, bool& out) noexcept {
  if (x.is(kind::real)) {
    if (y.is(kind::real)) return out = decide(b, x.real(), y.real()), true;
    return y.is(kind::integer) && is_exact(y.integer()) &&
           (out = decide(b, x.real(), static_cast<double>(y.integer())), true);
  }
  if (x.kind() != y.kind()) return false;
  if (x.is(kind::text)) return quick_texts(b, x.text(), y.text(), out);
  return x.is(kind::integer) && (out = decide(b, x.integer(), y.integer()), true);
}
// The same of a field as it stands. NaN goes the other way.
inline bool quick_test(binary b, const field_value& x, const operand& y, bool& out) noexcept {
  if (const auto* const real = std::get_if<double>(&x)) {
    if (!y.is_number() || (y.is(kind::integer) && !is_exact(y.integer())) || std::isnan(*real)) return false;
    return out = decide(b, *real, y.as_real()), true;
  }
  if (const auto* const text = std::get_if<std::string>(&x))
    return y.is(kind::text) && quick_texts(b, *text, y.text(), out);
  const auto* const whole = std::get_if<std::int64_t>(&x);
  return whole && y.is(kind::integer) && (out = decide(b, *whole, y.integer()), true);
}

}  // namespace leat::expression
