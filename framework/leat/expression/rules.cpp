// SPDX-License-Identifier: BSL-1.0
#include <leat/expression/rules.hpp>

#include <cmath>
#include <limits>

namespace leat::expression {
namespace {

constexpr kind every_kind[] = {kind::null,     kind::boolean, kind::integer, kind::real, kind::text,
                               kind::duration, kind::moment,  kind::list,    kind::table};

bool is_number(kind k) noexcept { return k == kind::integer || k == kind::real; }
bool is_comparison(binary b) noexcept { return b >= binary::eq; }

kind arithmetic(binary b, kind left, kind right) noexcept {
  if (is_number(left) && is_number(right)) {
    const bool whole = left == kind::integer && right == kind::integer && b != binary::divide;
    return whole ? kind::integer : kind::real;
  }
  switch (b) {
    case binary::add:
      if (left == kind::text && right == kind::text) return kind::text;
      if (left == kind::duration && (right == kind::duration || right == kind::moment)) return right;
      return left == kind::moment && right == kind::duration ? kind::moment : kind::missing;
    case binary::subtract:
      if (right == kind::duration && (left == kind::duration || left == kind::moment)) return left;
      return left == kind::moment && right == kind::moment ? kind::duration : kind::missing;
    case binary::multiply:
      return (left == kind::duration && is_number(right)) || (is_number(left) && right == kind::duration)
                 ? kind::duration
                 : kind::missing;
    case binary::divide:
      if (left == kind::duration && is_number(right)) return kind::duration;
      return left == kind::duration && right == kind::duration ? kind::real : kind::missing;
    default: return kind::missing;
  }
}

kind comparison(binary b, kind left, kind right) noexcept {
  const bool order = b != binary::eq && b != binary::ne;
  if (is_number(left) && is_number(right)) return kind::boolean;
  const kinds fits = order ? scalar.without(kind::boolean) : scalar;
  if (left == right && fits.has(left)) return kind::boolean;
  const kinds or_null = scalar | kind::null;
  if (!order && (left == kind::null || right == kind::null) && or_null.has(left) && or_null.has(right))
    return kind::boolean;
  return kind::missing;
}

operand failed(evaluation_error f, evaluation_error& why) noexcept {
  why = f;
  return {};
}

operand finite(double v, evaluation_error& why) noexcept {
  return std::isfinite(v) ? operand::of(v) : failed(evaluation_error::range, why);
}

// A number of nanoseconds, rounded.
bool to_nanoseconds(double v, std::int64_t& out) noexcept {
  constexpr double limit = 9223372036854775808.0;
  const double rounded = std::nearbyint(v);
  if (!(rounded >= -limit && rounded < limit)) return false;
  out = static_cast<std::int64_t>(rounded);
  return true;
}

operand of_kind(kind k, std::int64_t v) noexcept {
  if (k == kind::duration) return operand::of(nanoseconds(v));
  if (k == kind::moment) return operand::of(moment(nanoseconds(v)));
  return operand::of(v);
}

// Of integers, and of the nanoseconds of durations and moments.
operand whole(binary b, kind result, std::int64_t x, std::int64_t y, evaluation_error& why) noexcept {
  std::int64_t out = 0;
  bool over = false;
  switch (b) {
    case binary::add: over = __builtin_add_overflow(x, y, &out); break;
    case binary::subtract: over = __builtin_sub_overflow(x, y, &out); break;
    case binary::multiply: over = __builtin_mul_overflow(x, y, &out); break;
    default:
      if (y == 0) return failed(evaluation_error::division_by_zero, why);
      out = y == -1 ? 0 : x % y;  // the least number % -1 overflows in the processor
      break;
  }
  return over ? failed(evaluation_error::range, why) : of_kind(result, out);
}

operand of_reals(binary b, double x, double y, evaluation_error& why) noexcept {
  switch (b) {
    case binary::add: return finite(x + y, why);
    case binary::subtract: return finite(x - y, why);
    case binary::multiply: return finite(x * y, why);
    default: break;
  }
  if (y == 0) return failed(evaluation_error::division_by_zero, why);
  return finite(b == binary::divide ? x / y : std::fmod(x, y), why);
}

operand of_durations(binary b, const operand& left, const operand& right, evaluation_error& why) noexcept {
  const bool both = left.is(kind::duration) && right.is(kind::duration);
  if (b == binary::divide && both)
    return of_reals(b, static_cast<double>(left.integer()), static_cast<double>(right.integer()), why);
  const operand& time = left.is(kind::duration) ? left : right;
  const operand& factor = left.is(kind::duration) ? right : left;
  if (b == binary::multiply && factor.is(kind::integer))
    return whole(b, kind::duration, time.integer(), factor.integer(), why);
  const operand scaled = of_reals(b, static_cast<double>(time.integer()), factor.as_real(), why);
  if (scaled.is(kind::missing)) return scaled;
  std::int64_t ns = 0;
  return to_nanoseconds(scaled.real(), ns) ? operand::of(nanoseconds(ns))
                                           : failed(evaluation_error::range, why);
}

int order(auto a, auto b) noexcept { return a < b ? -1 : b < a ? 1 : 0; }

// Exact: a real that is near 2^63 is not rounded to an integer, nor an integer to a real.
int compare_mixed(std::int64_t i, double d) noexcept {
  constexpr double limit = 9223372036854775808.0;
  if (!(d < limit)) return -1;
  if (d < -limit) return 1;
  const auto whole_part = static_cast<std::int64_t>(d);
  if (i != whole_part) return i < whole_part ? -1 : 1;
  return order(0.0, d - static_cast<double>(whole_part));
}

bool is_nan(const operand& v) noexcept { return v.is(kind::real) && std::isnan(v.real()); }

bool verdict(binary b, int o) noexcept {
  switch (b) {
    case binary::eq: return o == 0;
    case binary::ne: return o != 0;
    case binary::lt: return o < 0;
    case binary::le: return o <= 0;
    case binary::gt: return o > 0;
    default: return o >= 0;
  }
}

}  // namespace

const char* to_string(binary b) noexcept {
  constexpr const char* words[] = {"+", "-", "*", "/", "%", "==", "!=", "<", "<=", ">", ">="};
  return words[static_cast<std::size_t>(b)];
}

kind result_of(binary b, kind left, kind right) noexcept {
  return is_comparison(b) ? comparison(b, left, right) : arithmetic(b, left, right);
}

kinds result_of(binary b, kinds left, kinds right) noexcept {
  kinds out;
  for (const kind l : every_kind)
    for (const kind r : every_kind)
      if (left.has(l) && right.has(r)) out = out | result_of(b, l, r);
  return out.without(kind::missing);
}

int compare(const operand& a, const operand& b) noexcept {
  if (a.is(kind::real))
    return b.is(kind::real) ? order(a.real(), b.real()) : -compare_mixed(b.integer(), a.real());
  if (b.is(kind::real)) return compare_mixed(a.integer(), b.real());
  if (a.is(kind::text)) {
    const int o = a.text().compare(b.text());
    return order(o, 0);
  }
  return order(a.integer(), b.integer());
}

bool equal(const operand& a, const operand& b) noexcept {
  if (is_nan(a) || is_nan(b)) return false;
  if (a.is(kind::text) && b.is(kind::text)) return a.text() == b.text();
  if (a.is_number() && b.is_number()) return compare(a, b) == 0;
  return a.kind() == b.kind() && (a.is(kind::null) || (scalar.has(a.kind()) && compare(a, b) == 0));
}

operand apply(binary b, const operand& left, const operand& right, const text_room& room,
              evaluation_error& why) {
  if (left.is(kind::missing) || right.is(kind::missing)) return {};
  const kind result = result_of(b, left.kind(), right.kind());
  if (result == kind::missing) return failed(evaluation_error::wrong_kind, why);
  if (b == binary::eq) return operand::of(equal(left, right));
  if (b == binary::ne) return operand::of(!equal(left, right));
  if (is_comparison(b))
    return is_nan(left) || is_nan(right) ? failed(evaluation_error::range, why)
                                         : operand::of(verdict(b, compare(left, right)));
  if (result == kind::text) {
    if (left.text().size() > room.longest || right.text().size() > room.longest - left.text().size())
      return failed(evaluation_error::range, why);
    // The left side may be in `text` itself only if this very place made it, and then it was used up before.
    room.text.assign(left.text());
    room.text.append(right.text());
    return operand::of(std::string_view(room.text));
  }
  if (left.is_number() && right.is_number())
    return result == kind::integer ? whole(b, result, left.integer(), right.integer(), why)
                                   : of_reals(b, left.as_real(), right.as_real(), why);
  if (b == binary::add || b == binary::subtract)
    return whole(b, result, left.integer(), right.integer(), why);
  return of_durations(b, left, right, why);
}

operand negate(const operand& v, evaluation_error& why) noexcept {
  switch (v.kind()) {
    case kind::missing: return {};
    case kind::real: return operand::of(-v.real());
    case kind::integer:
    case kind::duration: return whole(binary::subtract, v.kind(), 0, v.integer(), why);
    default: return failed(evaluation_error::wrong_kind, why);
  }
}

}  // namespace leat::expression
