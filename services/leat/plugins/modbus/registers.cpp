// SPDX-License-Identifier: BSL-1.0
#include "registers.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <numeric>
#include <tuple>
#include <unordered_set>

namespace leat::modbus {
namespace {

// Of one request.
constexpr int most_words = 125, most_bits = 2000;

std::size_t words_of(type t) noexcept {
  switch (t) {
    case type::u32:
    case type::i32:
    case type::f32: return 2;
    case type::u64:
    case type::i64:
    case type::f64: return 4;
    case type::bit:
    case type::u16:
    case type::i16: break;
  }
  return 1;
}

// To and from the order of a value whose first word, and first byte of a word, is the highest.
void arrange(order o, std::vector<std::uint16_t>& words) {
  if (o == order::cdab || o == order::dcba) std::reverse(words.begin(), words.end());
  if (o == order::badc || o == order::dcba)
    for (std::uint16_t& w : words) w = static_cast<std::uint16_t>((w >> 8) | (w << 8));
}

bool is_plain(const register_setting& r) noexcept { return r.scale == 1 && r.offset == 0; }

template <class T>
std::optional<std::uint64_t> fitting(double v) noexcept {
  // The most of a 64-bit integer is none of double's; one above it is.
  constexpr T half = std::numeric_limits<T>::max() / 2 + 1;
  constexpr double above = 2.0 * static_cast<double>(half);
  if (!(v >= static_cast<double>(std::numeric_limits<T>::min()) && v < above)) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<T>(v));
}
template <class T>
std::optional<std::uint64_t> fitting(std::int64_t v) noexcept {
  if (!std::in_range<T>(v)) return std::nullopt;
  return static_cast<std::uint64_t>(static_cast<T>(v));
}

template <class V>
std::optional<std::uint64_t> bits_of_integer(type t, V v) noexcept {
  switch (t) {
    case type::u16: return fitting<std::uint16_t>(v);
    case type::i16: return fitting<std::int16_t>(v);
    case type::u32: return fitting<std::uint32_t>(v);
    case type::i32: return fitting<std::int32_t>(v);
    case type::u64: return fitting<std::uint64_t>(v);
    case type::i64: return fitting<std::int64_t>(v);
    case type::bit:
    case type::f32:
    case type::f64: break;
  }
  return std::nullopt;
}

const std::string* text_at(const value& v, std::string_view name) noexcept {
  const value* const found = v.find(name);
  return found ? found->get_if<std::string>() : nullptr;
}
std::optional<std::int64_t> integer_at(const value& v, std::string_view name) noexcept {
  const value* const found = v.find(name);
  const auto* const n = found ? found->get_if<std::int64_t>() : nullptr;
  return n ? std::optional(*n) : std::nullopt;
}

}  // namespace

bool is_bit_table(table t) noexcept { return t == table::coil || t == table::discrete; }
type type_of(const register_setting& r) noexcept {
  return r.type.value_or(is_bit_table(r.table) ? type::bit : type::u16);
}
std::size_t width_of(const register_setting& r) noexcept { return words_of(type_of(r)); }

field_value decode(const register_setting& r, std::span<const std::uint16_t> given) {
  std::vector<std::uint16_t> words(given.begin(), given.end());
  const type t = type_of(r);
  if (t == type::bit) return words.at(0) != 0;
  arrange(r.order, words);
  std::uint64_t raw = 0;
  for (const std::uint16_t w : words) raw = raw << 16 | w;
  if (t == type::f32) return r.scale * std::bit_cast<float>(static_cast<std::uint32_t>(raw)) + r.offset;
  if (t == type::f64) return r.scale * std::bit_cast<double>(raw) + r.offset;
  const auto scaled = [&](auto n) {
    return is_plain(r) ? field_value(n) : field_value(r.scale * static_cast<double>(n) + r.offset);
  };
  switch (t) {
    case type::i16: return scaled(static_cast<std::int16_t>(raw));
    case type::i32: return scaled(static_cast<std::int32_t>(raw));
    case type::i64: return scaled(static_cast<std::int64_t>(raw));
    default: return scaled(raw);
  }
}

std::string encode(const register_setting& r, const field_value& v, std::vector<std::uint16_t>& words) {
  const type t = type_of(r);
  words.clear();
  if (const auto* const flag = std::get_if<bool>(&v); flag && t == type::bit) {
    words.push_back(*flag);
    return {};
  }
  const std::optional<double> n = to_number(v);
  if (!n || !std::isfinite(*n)) return "expected a number, got " + to_text(v);
  if (t == type::bit) {
    if (*n != 0 && *n != 1) return to_text(v) + " is not a bit";
    words.push_back(*n != 0);
    return {};
  }
  std::optional<std::uint64_t> raw;
  const double scaled = (*n - r.offset) / r.scale;
  if (t == type::f32) {
    if (std::fabs(scaled) <= static_cast<double>(std::numeric_limits<float>::max()))
      raw = std::bit_cast<std::uint32_t>(static_cast<float>(scaled));
  } else if (t == type::f64) {
    raw = std::bit_cast<std::uint64_t>(scaled);
  } else if (const auto* const whole = std::get_if<std::int64_t>(&v); whole && is_plain(r)) {
    raw = bits_of_integer(t, *whole);
  } else {
    raw = bits_of_integer(t, std::round(scaled));
  }
  if (!raw) return to_text(v) + " is more, or less, than the register holds";
  for (std::size_t i = words_of(t); i-- > 0;) words.push_back(static_cast<std::uint16_t>(*raw >> (16 * i)));
  arrange(r.order, words);
  return {};
}

std::vector<block> blocks_of(const std::vector<register_setting>& all, int unit) {
  std::vector<std::size_t> sorted(all.size());
  std::iota(sorted.begin(), sorted.end(), std::size_t{0});
  const auto place = [&](std::size_t i) {
    return std::tuple(all[i].unit.value_or(unit), all[i].table, all[i].number, i);
  };
  std::sort(sorted.begin(), sorted.end(), [&](std::size_t a, std::size_t b) { return place(a) < place(b); });
  std::vector<block> blocks;
  for (const std::size_t i : sorted) {
    const register_setting& r = all[i];
    const int end = r.number + static_cast<int>(width_of(r));
    const int most = is_bit_table(r.table) ? most_bits : most_words;
    block* const last = blocks.empty() ? nullptr : &blocks.back();
    if (last && last->unit == r.unit.value_or(unit) && last->table == r.table &&
        r.number <= last->first + last->count && end - last->first <= most) {
      last->count = std::max(last->count, end - last->first);
      last->registers.push_back(i);
    } else {
      block b;
      b.unit = r.unit.value_or(unit);
      b.table = r.table;
      b.first = r.number;
      b.count = end - r.number;
      b.registers.push_back(i);
      blocks.push_back(std::move(b));
    }
  }
  return blocks;
}

std::vector<setting_diagnostic> validate_registers(const value& all) {
  const auto* const list = all.get_if<value::list>();
  if (!list) return {};
  if (list->empty()) return {{"no register is named"}};
  std::vector<setting_diagnostic> wrong;
  std::unordered_set<std::string_view> known;
  for (const value& v : *list) {
    const std::string *name = text_at(v, "name"), *in = text_at(v, "table"), *as = text_at(v, "type");
    const bool bits = in && (*in == "coil" || *in == "discrete");
    if (!name || name->empty()) {
      wrong.push_back({"`name` must be given", &v});
    } else if (!known.insert(*name).second) {
      wrong.push_back({"two registers are called " + leat::in_quotes(*name), &v});
    }
    if (as && bits != (*as == "bit"))
      wrong.push_back({bits ? "what coils and discrete inputs hold is a bit" : "a register holds no bit",
                       v.find("type")});
    const std::int64_t width = !as ? 1 : as->ends_with("64") ? 4 : as->ends_with("32") ? 2 : 1;
    const std::int64_t number = integer_at(v, "number").value_or(0);
    if (number < 0 || number + width > 65536)
      wrong.push_back({"`number` is 0 to " + std::to_string(65536 - width), v.find("number")});
    if (const auto unit = integer_at(v, "unit"); unit && (*unit < 0 || *unit > 255))
      wrong.push_back({"`unit` is 0 to 255", v.find("unit")});
    const value* const scale = v.find("scale");
    const auto* const factor = scale ? scale->get_if<double>() : nullptr;
    if (factor && (*factor == 0 || !std::isfinite(*factor)))
      wrong.push_back({"`scale` must not be 0", scale});
  }
  return wrong;
}

std::vector<setting_diagnostic> validate_writable(const value& all) {
  std::vector<setting_diagnostic> wrong = validate_registers(all);
  const auto* const list = all.get_if<value::list>();
  if (!list) return wrong;
  for (const value& v : *list)
    if (const std::string* const in = text_at(v, "table"); in && (*in == "input" || *in == "discrete"))
      wrong.push_back({"inputs cannot be written; expected \"holding\" or \"coil\"", v.find("table")});
  return wrong;
}

}  // namespace leat::modbus
