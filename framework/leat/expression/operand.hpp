// SPDX-License-Identifier: BSL-1.0
//
// A value while an expression is evaluated. It owns nothing: texts, lists and tables are in the record, in the
// program or in the evaluator.
#pragma once
#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

#include <leat/process/record.hpp>

namespace leat::expression {

enum class kind : std::uint8_t {
  missing,
  null,
  boolean,
  integer,
  real,
  text,
  duration,
  moment,
  list,
  table,
};

// A set of kinds.
class kinds {
 public:
  constexpr kinds() = default;
  constexpr kinds(kind k) : bits_(static_cast<std::uint16_t>(1U << static_cast<unsigned>(k))) {}
  constexpr bool has(kind k) const noexcept { return (*this & k) != kinds(); }
  constexpr bool empty() const noexcept { return bits_ == 0; }
  friend constexpr kinds operator|(kinds a, kinds b) noexcept { return from(a.bits_ | b.bits_); }
  friend constexpr kinds operator&(kinds a, kinds b) noexcept { return from(a.bits_ & b.bits_); }
  constexpr kinds without(kinds b) const noexcept { return from(bits_ & ~b.bits_); }
  friend constexpr bool operator==(kinds, kinds) = default;

 private:
  static constexpr kinds from(unsigned bits) noexcept {
    kinds out;
    out.bits_ = static_cast<std::uint16_t>(bits);
    return out;
  }
  std::uint16_t bits_ = 0;
};
inline constexpr kinds operator|(kind a, kind b) noexcept { return kinds(a) | kinds(b); }

inline constexpr kinds truth = kind::boolean;
inline constexpr kinds numeric = kind::integer | kind::real;
inline constexpr kinds scalar = numeric | kind::boolean | kind::text | kind::duration | kind::moment;
inline constexpr kinds anything = scalar | kind::null | kind::list | kind::table;

// "a number", "a text or a duration"; of all kinds "any value".
std::string in_words(kinds k);

class operand {
 public:
  constexpr operand() noexcept : integer_(0) {}
  static constexpr operand of_null() noexcept { return operand(kind::null, std::int64_t{0}); }
  static constexpr operand of(bool v) noexcept { return operand(kind::boolean, std::int64_t{v}); }
  static constexpr operand of(std::int64_t v) noexcept { return operand(kind::integer, v); }
  static constexpr operand of(double v) noexcept { return operand(v); }
  static constexpr operand of(std::string_view v) noexcept { return operand(v); }
  static constexpr operand of(nanoseconds v) noexcept { return operand(kind::duration, v.count()); }
  static constexpr operand of(leat::moment v) noexcept {
    return operand(kind::moment, v.time_since_epoch().count());
  }
  // What is missing for a null pointer.
  static operand of(const field_value* v) noexcept;

  constexpr expression::kind kind() const noexcept { return kind_; }
  constexpr bool is(expression::kind k) const noexcept { return kind_ == k; }
  constexpr bool is_number() const noexcept {
    return kind_ == expression::kind::integer || kind_ == expression::kind::real;
  }
  constexpr bool is_true() const noexcept { return kind_ == expression::kind::boolean && integer_ != 0; }
  constexpr bool is_false() const noexcept { return kind_ == expression::kind::boolean && integer_ == 0; }

  // Whoever asks knows the kind.
  constexpr std::int64_t integer() const noexcept {
    return integer_;
  }  // nanoseconds of durations and moments
  constexpr double real() const noexcept { return real_; }
  constexpr double as_real() const noexcept {
    return kind_ == expression::kind::real ? real_ : static_cast<double>(integer_);
  }
  constexpr std::string_view text() const noexcept { return {chars_, size_}; }
  // The list or the table itself.
  const field_value& whole() const noexcept { return *whole_; }

  // In place: a whole operand that is copied soon after its parts were written waits for them.
  constexpr void set(bool v) noexcept {
    kind_ = expression::kind::boolean;
    integer_ = v;
  }

  // Owned; null for what is missing.
  field_value value() const;

 private:
  constexpr operand(expression::kind k, std::int64_t v) noexcept : kind_(k), integer_(v) {}
  constexpr explicit operand(double v) noexcept : kind_(expression::kind::real), real_(v) {}
  constexpr explicit operand(std::string_view v) noexcept
      : kind_(expression::kind::text), chars_(v.data()), size_(v.size()) {}
  operand(expression::kind k, const field_value* v) noexcept : kind_(k), whole_(v) {}

  expression::kind kind_ = expression::kind::missing;
  union {
    std::int64_t integer_;
    double real_;
    const char* chars_;
    const field_value* whole_;
  };
  std::size_t size_ = 0;
};

// In the order of field_value's alternatives.
inline operand operand::of(const field_value* v) noexcept {
  if (!v) return {};
  switch (v->index()) {
    case 0: return of_null();
    case 1: return of(*std::get_if<1>(v));
    case 2: return of(*std::get_if<2>(v));
    case 3: return of(*std::get_if<3>(v));
    case 4: return of(std::string_view(*std::get_if<4>(v)));
    case 5: return of(*std::get_if<5>(v));
    case 6: return of(*std::get_if<6>(v));
    case 7: return operand(expression::kind::list, v);
    default: return operand(expression::kind::table, v);
  }
}

}  // namespace leat::expression
