// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/functions.hpp>

#include <algorithm>
#include <charconv>
#include <chrono>
#include <cmath>
#include <cstring>
#include <system_error>

#include <leat/base/units.hpp>
#include <leat/process/scalar.hpp>

namespace leat::expression {
namespace {

operand failed_as(evaluation_error f, evaluation_error& why) noexcept {
  why = f;
  return {};
}
operand if_finite(double v, evaluation_error& why) noexcept {
  return std::isfinite(v) ? operand::of(v) : failed_as(evaluation_error::range, why);
}
operand if_whole(double v, evaluation_error& why) noexcept {
  constexpr double limit = 9223372036854775808.0;
  if (!(v >= -limit && v < limit)) return failed_as(evaluation_error::range, why);
  return operand::of(static_cast<std::int64_t>(v));
}
operand made(const std::string& text) noexcept { return operand::of(std::string_view(text)); }

bool continues(char c) noexcept { return (static_cast<unsigned char>(c) & 0xC0U) == 0x80; }
std::int64_t characters(std::string_view text) noexcept {
  return std::count_if(text.begin(), text.end(), [](char c) { return !continues(c); });
}
// Where the character of this number begins.
std::size_t character_at(std::string_view text, std::int64_t number) noexcept {
  std::size_t i = 0;
  for (; i < text.size(); ++i)
    if (!continues(text[i]) && number-- == 0) return i;
  return i;
}

// std::string_view::find takes the product of the lengths at worst; this does not.
std::size_t find_in(std::string_view text, std::string_view part, std::size_t from) noexcept {
  if (part.empty()) return from;
  const void* const at = ::memmem(text.data() + from, text.size() - from, part.data(), part.size());
  return at ? static_cast<std::size_t>(static_cast<const char*>(at) - text.data()) : std::string_view::npos;
}

operand change_case(std::string_view from, const text_room& to, char first, char last,
                    evaluation_error& why) {
  if (from.size() > to.longest) return failed_as(evaluation_error::range, why);
  to.text.assign(from);
  for (char& c : to.text)
    if (c >= first && c <= last) c = static_cast<char>(c ^ 0x20);
  return made(to.text);
}

operand to_number(const operand& v, evaluation_error& why) noexcept {
  if (v.is(kind::boolean)) return operand::of(std::int64_t{v.is_true()});
  if (!v.is(kind::text)) return v;
  const std::string_view t = v.text();
  const char* const end = t.data() + t.size();
  std::int64_t whole = 0;
  if (const auto got = std::from_chars(t.data(), end, whole); got.ec == std::errc() && got.ptr == end)
    return operand::of(whole);
  double real = 0;
  const auto got = std::from_chars(t.data(), end, real);
  return got.ec == std::errc() && got.ptr == end ? if_finite(real, why)
                                                 : failed_as(evaluation_error::range, why);
}

operand rounded(std::span<const operand> a, evaluation_error& why) noexcept {
  if (a.size() == 1) return a[0].is(kind::integer) ? a[0] : if_whole(std::round(a[0].real()), why);
  constexpr std::int64_t most_digits = 15;
  if (a[1].integer() < 0 || a[1].integer() > most_digits) return failed_as(evaluation_error::range, why);
  if (a[0].is(kind::integer)) return operand::of(a[0].as_real());
  const double scale = std::pow(10.0, static_cast<double>(a[1].integer()));
  const double scaled = a[0].real() * scale;
  return if_finite(std::isfinite(scaled) ? std::round(scaled) / scale : a[0].real(), why);
}

operand to_whole(double (*how)(double), const operand& v, evaluation_error& why) noexcept {
  return v.is(kind::integer) ? v : if_whole(how(v.real()), why);
}

// Least or greatest, by the sign of `wanted`.
operand extreme(std::span<const operand> a, int wanted, evaluation_error& why) noexcept {
  operand best = a[0];
  for (const operand& v : a.subspan(1)) {
    if (result_of(binary::lt, best.kind(), v.kind()) == kind::missing)
      return failed_as(evaluation_error::wrong_kind, why);
    if (compare(v, best) * wanted > 0) best = v;
  }
  return best;
}

operand absolute(const operand& v, evaluation_error& why) noexcept {
  if (v.is(kind::real)) return operand::of(std::fabs(v.real()));
  return v.integer() < 0 ? negate(v, why) : v;
}

operand replaced(std::span<const operand> a, const text_room& room, evaluation_error& why) {
  const std::string_view from = a[0].text(), part = a[1].text(), by = a[2].text();
  if (part.empty()) return a[0];
  std::string& text = room.text;
  text.clear();
  const auto append = [&](std::string_view more) {
    if (more.size() > room.longest - text.size()) return false;
    text.append(more);
    return true;
  };
  for (std::size_t i = 0;;) {
    const std::size_t next = find_in(from, part, i);
    const bool last = next == std::string_view::npos;
    if (!append(from.substr(i, last ? next : next - i)) || (!last && !append(by))) {
      std::string().swap(text);
      return failed_as(evaluation_error::range, why);
    }
    if (last) return made(text);
    i = next + part.size();
  }
}

operand part_of_text(std::span<const operand> a, evaluation_error& why) noexcept {
  const std::int64_t from = a[1].integer();
  if (from < 0 || (a.size() > 2 && a[2].integer() < 0)) return failed_as(evaluation_error::range, why);
  const std::string_view rest = a[0].text().substr(character_at(a[0].text(), from));
  return operand::of(a.size() > 2 ? rest.substr(0, character_at(rest, a[2].integer())) : rest);
}

std::string_view trimmed(std::string_view t) noexcept {
  constexpr std::string_view blanks = " \t\r\n";
  const std::size_t from = t.find_first_not_of(blanks);
  return from == std::string_view::npos ? t.substr(0, 0)
                                        : t.substr(from, t.find_last_not_of(blanks) - from + 1);
}

operand in_calendar(function f, const operand& v) noexcept {
  using namespace std::chrono;
  const sys_time<nanoseconds> at{nanoseconds(v.integer())};
  const sys_days day = floor<days>(at);
  const year_month_day date(day);
  const auto rest = at - day;
  switch (f) {
    case function::year: return operand::of(std::int64_t{int{date.year()}});
    case function::month: return operand::of(std::int64_t{unsigned{date.month()}});
    case function::day: return operand::of(std::int64_t{unsigned{date.day()}});
    case function::weekday: return operand::of(std::int64_t{weekday(day).iso_encoding()});
    case function::hour: return operand::of(std::int64_t{duration_cast<hours>(rest).count()});
    case function::minute: return operand::of(std::int64_t{duration_cast<minutes>(rest).count() % 60});
    default: return operand::of(std::int64_t{duration_cast<seconds>(rest).count() % 60});
  }
}

operand from_text(function f, const operand& v, evaluation_error& why) {
  if (!v.is(kind::text)) return v;
  const auto got = f == function::moment ? shapes::parse_moment(v.text()) : shapes::signed_duration(v.text());
  if (!got) return failed_as(evaluation_error::range, why);
  return f == function::moment ? operand::of(leat::moment(nanoseconds(*got)))
                               : operand::of(nanoseconds(*got));
}

operand size_of(const operand& v) noexcept {
  if (v.is(kind::text)) return operand::of(characters(v.text()));
  if (v.is(kind::list)) return operand::of(static_cast<std::int64_t>(v.whole().list()->size()));
  return operand::of(static_cast<std::int64_t>(v.whole().table()->size()));
}

std::string_view name_of(kind k) noexcept {
  constexpr std::string_view names[] = {"missing", "null",     "boolean", "integer", "real",
                                        "text",    "duration", "moment",  "list",    "table"};
  return names[static_cast<std::size_t>(k)];
}

}  // namespace

operand call(function f, std::span<const operand> a, const text_room& room, evaluation_error& why) {
  switch (f) {
    case function::abs: return absolute(a[0], why);
    case function::ceil: return to_whole(std::ceil, a[0], why);
    case function::floor: return to_whole(std::floor, a[0], why);
    case function::round: return rounded(a, why);
    case function::clamp: {
      const operand low[] = {a[0], a[1]};
      const operand raised = extreme(low, 1, why);
      if (raised.is(kind::missing)) return raised;
      const operand high[] = {raised, a[2]};
      return extreme(high, -1, why);
    }
    case function::least: return extreme(a, -1, why);
    case function::greatest: return extreme(a, 1, why);
    case function::exp: return if_finite(std::exp(a[0].as_real()), why);
    case function::log: return if_finite(std::log(a[0].as_real()), why);
    case function::sqrt: return if_finite(std::sqrt(a[0].as_real()), why);
    case function::pow: return if_finite(std::pow(a[0].as_real(), a[1].as_real()), why);
    case function::contains:
      return operand::of(find_in(a[0].text(), a[1].text(), 0) != std::string_view::npos);
    case function::starts_with: return operand::of(a[0].text().starts_with(a[1].text()));
    case function::ends_with: return operand::of(a[0].text().ends_with(a[1].text()));
    case function::default_: return a[0].is(kind::missing) || a[0].is(kind::null) ? a[1] : a[0];
    case function::kind: return operand::of(name_of(a[0].kind()));
    case function::length: return size_of(a[0]);
    case function::lower: return change_case(a[0].text(), room, 'A', 'Z', why);
    case function::upper: return change_case(a[0].text(), room, 'a', 'z', why);
    case function::trim: return operand::of(trimmed(a[0].text()));
    case function::number: return to_number(a[0], why);
    case function::replace: return replaced(a, room, why);
    case function::substring: return part_of_text(a, why);
    case function::text:
      if (a[0].is(kind::text)) return a[0];
      room.text.clear();
      append_text(a[0], room.text);
      return room.text.size() > room.longest ? failed_as(evaluation_error::range, why) : made(room.text);
    case function::duration:
    case function::moment: return from_text(f, a[0], why);
    default: return in_calendar(f, a[0]);
  }
}

void append_text(const operand& v, std::string& to) {
  if (v.is(kind::text)) return void(to.append(v.text()));
  if (v.is(kind::integer)) {
    char digits[24];
    return void(to.append(digits, std::to_chars(digits, digits + sizeof digits, v.integer()).ptr));
  }
  to += to_text(v.value());
}

}  // namespace leat::expression
