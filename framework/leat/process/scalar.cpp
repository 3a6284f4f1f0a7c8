// SPDX-License-Identifier: BSL-1.0
#include <leat/process/scalar.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <system_error>

#include <leat/base/value.hpp>

namespace leat::shapes {

wide_integer load_integer(const type_shape& s, const void* v) noexcept {
  const auto load = [&](auto kind) {
    std::memcpy(&kind, v, sizeof kind);
    return kind;
  };
  if (s.is_signed) {
    switch (s.size) {
      case 1: return from_signed(load(std::int8_t{}));
      case 2: return from_signed(load(std::int16_t{}));
      case 4: return from_signed(load(std::int32_t{}));
      default: return from_signed(load(std::int64_t{}));
    }
  }
  switch (s.size) {
    case 1: return {false, load(std::uint8_t{})};
    case 2: return {false, load(std::uint16_t{})};
    case 4: return {false, load(std::uint32_t{})};
    default: return {false, load(std::uint64_t{})};
  }
}

std::int64_t least_of(const type_shape& s) noexcept {
  if (!s.is_signed) return 0;
  return std::numeric_limits<std::int64_t>::min() >> (64 - 8 * s.size);
}
std::uint64_t most_of(const type_shape& s) noexcept {
  const std::uint64_t all = std::numeric_limits<std::uint64_t>::max() >> (64 - 8 * s.size);
  return s.is_signed ? all >> 1 : all;
}

bool store_integer(const type_shape& s, void* v, wide_integer i) noexcept {
  if (i.negative ? i.as_signed() < least_of(s) : i.bits > most_of(s)) return false;
  const auto store = [&](auto as_stored) { std::memcpy(v, &as_stored, sizeof as_stored); };
  switch (s.size) {
    case 1: store(static_cast<std::uint8_t>(i.bits)); break;
    case 2: store(static_cast<std::uint16_t>(i.bits)); break;
    case 4: store(static_cast<std::uint32_t>(i.bits)); break;
    default: store(i.bits); break;
  }
  return true;
}

double load_real(const type_shape& s, const void* v) noexcept {
  if (s.size == sizeof(float)) return static_cast<double>(as<float>(v));
  return as<double>(v);
}

double double_of(float f) noexcept {
  const auto wide = static_cast<double>(f);
  // Up to six digits tell one float from another, so these are written alike anyway.
  if (!std::isfinite(f) || (std::fabs(wide) < 1e4 && std::trunc(wide * 4) == wide * 4)) return wide;
  char text[64];
  const auto end = std::to_chars(text, text + sizeof text, f).ptr;
  double d = 0;
  if (std::from_chars(text, end, d).ec != std::errc{} || static_cast<float>(d) != f) return wide;
  return d;
}

bool store_real(const type_shape& s, void* v, double d) noexcept {
  if (s.size != sizeof(float)) {
    as<double>(v) = d;
    return true;
  }
  constexpr auto largest = static_cast<double>(std::numeric_limits<float>::max());
  // What is beyond the largest by less than half a step is nearest to it.
  if (std::isfinite(d) && std::fabs(d) > largest) {
    if (std::fabs(d) >= 0x1.ffffffp127) return false;
    d = std::copysign(largest, d);
  }
  as<float>(v) = static_cast<float>(d);
  return true;
}

namespace {

// The power of ten of the first digit that is not 0; less than any for zero itself.
std::int64_t order_of(std::string_view digits) {
  constexpr std::int64_t far = std::int64_t{1} << 40;  // beyond what a text has room for
  if (digits.front() == '-') digits.remove_prefix(1);
  const std::size_t e = std::min(digits.find_first_of("eE"), digits.size());
  const std::string_view mantissa = digits.substr(0, e);
  const std::size_t point = std::min(mantissa.find('.'), mantissa.size());
  const std::size_t first = mantissa.find_first_not_of("0.");
  if (first == std::string_view::npos) return -far;
  const auto order =
      static_cast<std::int64_t>(point) - static_cast<std::int64_t>(first) - (first < point ? 1 : 0);
  std::string_view exponent = digits.substr(std::min(e + 1, digits.size()));
  const bool minus = exponent.starts_with('-');
  if (minus || exponent.starts_with('+')) exponent.remove_prefix(1);
  std::int64_t n = 0;
  for (const char c : exponent) n = std::min(far, n * 10 + (c - '0'));
  return order + (minus ? -n : n);
}

template <class Real>
bool nearest(std::string_view digits, Real& to) {
  const auto r = std::from_chars(digits.data(), digits.data() + digits.size(), to);
  if (r.ec == std::errc{}) return true;
  if (order_of(digits) >= 0) return false;
  to = digits.front() == '-' ? -Real{} : Real{};
  return true;
}

}  // namespace

bool store_digits(const type_shape& s, void* v, std::string_view digits) noexcept {
  // A float is read as one: by way of a double it would be rounded twice.
  return s.size == sizeof(float) ? nearest(digits, as<float>(v)) : nearest(digits, as<double>(v));
}

std::string integer_range(const type_shape& s) {
  return std::to_string(least_of(s)) + " to " + std::to_string(most_of(s));
}

const enumerator* find_name(const type_shape& s, std::string_view name) noexcept {
  for (std::size_t i = 0; i < s.name_count; ++i)
    if (s.names[i].name == name) return &s.names[i];
  return nullptr;
}
const enumerator* find_value(const type_shape& s, std::int64_t value) noexcept {
  for (std::size_t i = 0; i < s.name_count; ++i)
    if (s.names[i].value == value) return &s.names[i];
  return nullptr;
}

std::string names_in_words(const type_shape& s) {
  std::string out = "one of";
  for (std::size_t i = 0; i < s.name_count; ++i) out += (i ? ", " : " ") + in_quotes(s.names[i].name);
  return out;
}

std::optional<std::int64_t> signed_duration(std::string_view text) {
  const auto d = parse_signed_duration(text);
  if (!d) return std::nullopt;
  return d.value->count();
}

namespace {

using std::chrono::days;

std::string padded(std::int64_t n, std::size_t digits) {
  std::string s = std::to_string(n);
  return s.size() < digits ? std::string(digits - s.size(), '0') + s : s;
}

// Digits from `at` on, exactly n of them.
bool take_digits(std::string_view text, std::size_t& at, std::size_t n, std::int64_t& to) {
  if (text.size() < at + n) return false;
  to = 0;
  for (const std::size_t end = at + n; at < end; ++at) {
    if (text[at] < '0' || text[at] > '9') return false;
    to = to * 10 + (text[at] - '0');
  }
  return true;
}
bool take(std::string_view text, std::size_t& at, char c) {
  if (at >= text.size() || text[at] != c) return false;
  ++at;
  return true;
}

constexpr std::int64_t second = 1'000'000'000;

// Nanoseconds after the point, which is optional.
bool take_fraction(std::string_view text, std::size_t& at, std::int64_t& ns) {
  ns = 0;
  if (!take(text, at, '.')) return true;
  const std::size_t begin = at;
  for (std::int64_t unit = second / 10; at < text.size() && text[at] >= '0' && text[at] <= '9';
       ++at, unit /= 10)
    ns += unit * (text[at] - '0');
  return at > begin && at - begin <= 9;
}
// Minutes to subtract.
bool take_zone(std::string_view text, std::size_t& at, std::int64_t& minutes) {
  minutes = 0;
  if (take(text, at, 'Z')) return true;
  const bool plus = take(text, at, '+');
  if (!plus && !take(text, at, '-')) return false;
  std::int64_t h = 0, m = 0;
  if (!take_digits(text, at, 2, h) || !take(text, at, ':') || !take_digits(text, at, 2, m)) return false;
  if (h > 23 || m > 59) return false;
  minutes = (h * 60 + m) * (plus ? 1 : -1);
  return true;
}

}  // namespace

std::string moment_text(std::int64_t ns) {
  std::int64_t seconds = ns / second, rest = ns % second;
  if (rest < 0) {
    rest += second;
    --seconds;
  }
  std::int64_t day = seconds / 86400, in_day = seconds % 86400;
  if (in_day < 0) {
    in_day += 86400;
    --day;
  }
  const std::chrono::year_month_day date{std::chrono::sys_days(days(day))};
  std::string out = padded(static_cast<int>(date.year()), 4) + '-' +
                    padded(static_cast<unsigned>(date.month()), 2) + '-' +
                    padded(static_cast<unsigned>(date.day()), 2) + 'T' + padded(in_day / 3600, 2) + ':' +
                    padded(in_day / 60 % 60, 2) + ':' + padded(in_day % 60, 2);
  if (rest) {
    std::string fraction = padded(rest, 9);
    fraction.erase(fraction.find_last_not_of('0') + 1);
    out += '.' + fraction;
  }
  return out += 'Z';
}

std::optional<std::int64_t> parse_moment(std::string_view t) {
  std::int64_t year = 0, month = 0, day = 0, h = 0, m = 0, s = 0, ns = 0, zone = 0;
  std::size_t at = 0;
  if (!take_digits(t, at, 4, year) || !take(t, at, '-') || !take_digits(t, at, 2, month) ||
      !take(t, at, '-') || !take_digits(t, at, 2, day) || !take(t, at, 'T') || !take_digits(t, at, 2, h) ||
      !take(t, at, ':') || !take_digits(t, at, 2, m) || !take(t, at, ':') || !take_digits(t, at, 2, s) ||
      !take_fraction(t, at, ns) || !take_zone(t, at, zone) || at != t.size())
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(static_cast<int>(year)),
                                         std::chrono::month(static_cast<unsigned>(month)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || h > 23 || m > 59 || s > 59) return std::nullopt;
  const std::int64_t seconds =
      static_cast<std::int64_t>(std::chrono::sys_days(date).time_since_epoch().count()) * 86400 + h * 3600 +
      (m - zone) * 60 + s;
  std::int64_t out = 0;
  // Before 1970 the fraction goes the other way, so the first product may not fit though the sum does.
  const bool before = seconds < 0;
  if (__builtin_mul_overflow(before ? seconds + 1 : seconds, second, &out) ||
      __builtin_add_overflow(out, before ? ns - second : ns, &out))
    return std::nullopt;
  return out;
}

}  // namespace leat::shapes
