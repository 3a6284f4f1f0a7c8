// SPDX-License-Identifier: BSL-1.0
#include <leat/base/units.hpp>

#include <limits>
#include <numeric>

#include <leat/base/format.hpp>

namespace leat {

namespace {

struct unit {
  std::string_view name;
  std::uint64_t size;
};

// From large to small, as they must stand in a duration.
constexpr unit duration_units[] = {{"d", 86'400'000'000'000},
                                   {"h", 3'600'000'000'000},
                                   {"m", 60'000'000'000},
                                   {"s", 1'000'000'000},
                                   {"ms", 1'000'000},
                                   {"us", 1'000},
                                   {"ns", 1}};
constexpr unit size_units[] = {{"E", 1ULL << 60},
                               {"P", 1ULL << 50},
                               {"T", 1ULL << 40},
                               {"G", 1ULL << 30},
                               {"M", 1ULL << 20},
                               {"K", 1ULL << 10},
                               {"", 1}};
constexpr std::size_t unit_count = sizeof duration_units / sizeof duration_units[0];
static_assert(unit_count == sizeof size_units / sizeof size_units[0]);

// Ten to this still fits 64 bits, and so does any fraction of that many digits.
constexpr unsigned max_fraction_digits = 18;

bool is_digit(char c) noexcept { return c >= '0' && c <= '9'; }
bool is_letter(char c) noexcept { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z'); }

struct failure {
  std::size_t at = 0;
  std::string_view text;
};

// 12.50: whole 12, fraction 5, scale 10.
struct number {
  std::uint64_t whole = 0;
  std::uint64_t fraction = 0;
  std::uint64_t scale = 1;
  std::size_t at = 0;
  bool has_fraction = false;
};

// Moves `at` behind the number.
failure read_number(std::string_view text, std::size_t& at, number& out) noexcept {
  out = number{};
  out.at = at;
  if (at == text.size()) return {at, "a number is missing"};
  if (text[at] == '-') return {at, "must not be negative"};
  if (!is_digit(text[at])) return {at, "expected a digit"};
  for (; at < text.size() && is_digit(text[at]); ++at) {
    if (__builtin_mul_overflow(out.whole, std::uint64_t{10}, &out.whole) ||
        __builtin_add_overflow(out.whole, static_cast<std::uint64_t>(text[at] - '0'), &out.whole))
      return {out.at, "the number is too large"};
  }
  if (at == text.size() || text[at] != '.') return {};
  out.has_fraction = true;
  ++at;
  if (at == text.size() || !is_digit(text[at])) return {at, "expected a digit after the point"};
  std::size_t end = at;
  while (end < text.size() && is_digit(text[end])) ++end;
  std::size_t significant = end;
  while (significant > at && text[significant - 1] == '0') --significant;
  if (significant - at > max_fraction_digits)
    return {at + max_fraction_digits, "too many digits after the point"};
  for (; at < significant; ++at) {
    out.fraction = out.fraction * 10 + static_cast<std::uint64_t>(text[at] - '0');
    out.scale *= 10;
  }
  at = end;
  return {};
}

enum class scaled : std::uint8_t { exact, not_whole, overflow };

// n x size, if that is a whole number that fits.
scaled scale(const number& n, std::uint64_t size, std::uint64_t limit, std::uint64_t& out) noexcept {
  const std::uint64_t common = std::gcd(size, n.scale);
  const std::uint64_t divisor = n.scale / common;
  if (n.fraction % divisor != 0) return scaled::not_whole;
  // Below size, since the fraction is below its scale.
  const std::uint64_t part = size / common * (n.fraction / divisor);
  if (__builtin_mul_overflow(n.whole, size, &out) || __builtin_add_overflow(out, part, &out) || out > limit)
    return scaled::overflow;
  return scaled::exact;
}

std::string_view letters_from(std::string_view text, std::size_t at) noexcept {
  std::size_t end = at;
  while (end < text.size() && is_letter(text[end])) ++end;
  return text.substr(at, end - at);
}

template <class T>
parsed<T> wrong(failure why) noexcept {
  return {std::nullopt, why.at, why.text};
}

std::size_t find_duration_unit(std::string_view name) noexcept {
  std::size_t i = 0;
  while (i < unit_count && duration_units[i].name != name) ++i;
  return i;
}

// K, k and KiB; unit_count when it is none.
std::size_t find_size_unit(std::string_view name) noexcept {
  if (name == "k") name = "K";
  if (name.size() == 3 && name.substr(1) == "iB") name = name.substr(0, 1);
  std::size_t i = 0;
  while (i < unit_count && size_units[i].name != name) ++i;
  return i;
}

void append_number(text_buffer& out, std::uint64_t value, std::uint64_t size) noexcept {
  out.append_uint(value / size);
  std::uint64_t rest = value % size;
  if (rest == 0) return;
  out.append('.');
  // rest < 2^60, so ten times as much fits.
  while (rest != 0) {
    rest *= 10;
    out.append(static_cast<char>('0' + rest / size));
    rest %= size;
  }
}

// Whether value / size ends within the digits that the parser takes.
bool is_decimal(std::uint64_t value, std::uint64_t size) noexcept {
  std::uint64_t rest = value % size;
  for (unsigned i = 0; i < max_fraction_digits && rest != 0; ++i) rest = rest * 10 % size;
  return rest == 0;
}

using text_32 = fixed_text<32>;

// Tries each way to finish `rest` with units from `first` on, behind what is in `start`.
void try_units(const text_buffer& start, std::uint64_t rest, std::size_t first, text_buffer& best) noexcept {
  const auto keep_if_better = [&best](const text_buffer& candidate) {
    const auto has_point = [](const text_buffer& t) { return t.view().find('.') != std::string_view::npos; };
    const bool shorter = candidate.size() < best.size();
    const bool plainer = candidate.size() == best.size() && has_point(best) && !has_point(candidate);
    if (candidate.truncated() || (best.size() != 0 && !shorter && !plainer)) return;
    best.clear();
    best.append(candidate.view());
  };
  for (std::size_t i = first; i < unit_count; ++i) {
    const unit& u = duration_units[i];
    if (rest < u.size) continue;
    if (is_decimal(rest, u.size)) {
      text_32 last;
      last.append(start.view());
      append_number(last, rest, u.size);
      last.append(u.name);
      keep_if_better(last);
    }
    if (rest % u.size == 0) continue;
    text_32 more;
    more.append(start.view()).append_uint(rest / u.size).append(u.name);
    if (best.size() != 0 && more.size() + 2 > best.size()) continue;
    try_units(more, rest % u.size, i + 1, best);
  }
}

constexpr auto longest = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());

// Nanoseconds, at most `limit` of them.
parsed<std::uint64_t> read_duration(std::string_view text, std::uint64_t limit) noexcept {
  using result = std::uint64_t;
  if (text.empty()) return wrong<result>({0, "a duration is missing, such as 250ms"});
  std::uint64_t total = 0;
  std::size_t next_unit = 0;
  bool fraction_before = false;
  std::size_t at = 0;
  while (at < text.size()) {
    number n;
    if (const failure why = read_number(text, at, n); !why.text.empty()) return wrong<result>(why);
    if (fraction_before) return wrong<result>({n.at, "nothing may follow a number with a point"});
    fraction_before = n.has_fraction;
    const std::string_view name = letters_from(text, at);
    if (name.empty()) {
      if (at < text.size() && text[at] == ' ')
        return wrong<result>({at, "no blank stands between a number and its unit: 250ms"});
      if (at < text.size()) return wrong<result>({at, "expected a unit: d h m s ms us ns"});
      if (n.whole == 0 && n.fraction == 0 && n.at == 0) return {0, 0, {}};
      return wrong<result>({at, "a unit is missing: d h m s ms us ns"});
    }
    const std::size_t index = find_duration_unit(name);
    if (index == unit_count) return wrong<result>({at, "unknown unit; a duration has d h m s ms us ns"});
    if (index < next_unit) return wrong<result>({at, "units go from large to small, each once"});
    next_unit = index + 1;
    std::uint64_t part = 0;
    switch (scale(n, duration_units[index].size, limit, part)) {
      case scaled::exact: break;
      case scaled::not_whole: return wrong<result>({n.at, "finer than a nanosecond"});
      case scaled::overflow: return wrong<result>({n.at, "longer than 292 years"});
    }
    if (part > limit - total) return wrong<result>({n.at, "longer than 292 years"});
    total += part;
    at += name.size();
  }
  return {total, 0, {}};
}

}  // namespace

parsed<nanoseconds> parse_duration(std::string_view text) noexcept {
  const parsed<std::uint64_t> r = read_duration(text, longest);
  if (!r) return {std::nullopt, r.error_at, r.error};
  return {nanoseconds(static_cast<std::int64_t>(*r.value)), 0, {}};
}

parsed<nanoseconds> parse_signed_duration(std::string_view text) noexcept {
  if (!text.starts_with('-')) return parse_duration(text);
  const parsed<std::uint64_t> r = read_duration(text.substr(1), longest + 1);
  if (!r) return {std::nullopt, r.error_at + 1, r.error};
  return {nanoseconds(static_cast<std::int64_t>(std::uint64_t{0} - *r.value)), 0, {}};
}

parsed<std::uint64_t> parse_size(std::string_view text) noexcept {
  using result = std::uint64_t;
  if (text.empty()) return wrong<result>({0, "a size is missing, such as 64K"});
  std::size_t at = 0;
  number n;
  if (const failure why = read_number(text, at, n); !why.text.empty()) return wrong<result>(why);
  const std::string_view name = letters_from(text, at);
  const std::size_t index = find_size_unit(name);
  if (index == unit_count) {
    const bool kilo_to_exa = std::string_view("kKmMgGtTpPeE").find(name[0]) != std::string_view::npos;
    if (kilo_to_exa && name.size() == 2 && (name[1] == 'B' || name[1] == 'b'))
      return wrong<result>({at, "may mean 1000 or 1024; write K M G T P E or KiB to EiB"});
    return wrong<result>({at, "unknown unit; a size has K M G T P E (1024s), or none for bytes"});
  }
  if (at + name.size() < text.size()) return wrong<result>({at + name.size(), "nothing may follow the size"});
  std::uint64_t bytes = 0;
  switch (scale(n, size_units[index].size, std::numeric_limits<std::uint64_t>::max(), bytes)) {
    case scaled::exact: break;
    case scaled::not_whole: return wrong<result>({n.at, "not a whole number of bytes"});
    case scaled::overflow: return wrong<result>({n.at, "larger than 64 bits can count"});
  }
  return {bytes, 0, {}};
}

void append_duration(text_buffer& to, nanoseconds d) noexcept {
  if (d == nanoseconds::zero()) {
    to.append("0");
    return;
  }
  const bool negative = d.count() < 0;
  const auto bits = static_cast<std::uint64_t>(d.count());
  text_32 best;
  try_units(text_32(), negative ? std::uint64_t{0} - bits : bits, 0, best);
  if (negative) to.append("-");
  to.append(best.view());
}

std::string format_duration(nanoseconds d) {
  fixed_text<64> out;
  append_duration(out, d);
  return std::string(out.view());
}

std::string format_size(std::uint64_t bytes) {
  text_32 best;
  best.append_uint(bytes);
  for (const unit& u : size_units) {
    if (bytes < u.size || !is_decimal(bytes, u.size)) continue;
    text_32 candidate;
    append_number(candidate, bytes, u.size);
    candidate.append(u.name);
    if (candidate.size() < best.size()) {
      best.clear();
      best.append(candidate.view());
    }
  }
  return std::string(best.view());
}

}  // namespace leat
