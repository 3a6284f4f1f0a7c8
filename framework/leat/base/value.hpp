// SPDX-License-Identifier: BSL-1.0
//
// Checked settings: what the check of a configuration makes of a file, and what leat::setting<T> reads.
// A value knows where it was written, so that whoever finds fault with it later can still point there.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <variant>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/base/units.hpp>
#include <leat/base/value_kind.hpp>

namespace leat {

// Line and column count from 1, columns and length in characters (code points), not bytes. Line 0: not from
// a file (a default, or made by code).
struct source_location {
  std::uint32_t file = 0;  // an index into the files that were read
  std::uint32_t line = 0;
  std::uint32_t column = 0;
  std::uint32_t length = 0;

  bool known() const noexcept { return line != 0; }
  friend bool operator==(const source_location&, const source_location&) = default;
};

struct value_member;

class value {
 public:
  using list = std::vector<value>;
  // In the order of the file; no key twice.
  using table = std::vector<value_member>;

  value() noexcept;
  // From exactly one of the kinds, or any integer; an enumeration is the text of its name.
  template <class T>
    requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
  explicit value(T v, source_location at = {});
  template <class T>
    requires(std::is_same_v<T, bool>)
  explicit value(T v, source_location at = {});
  explicit value(double v, source_location at = {});
  explicit value(std::string v, source_location at = {});
  explicit value(std::string_view v, source_location at = {});
  explicit value(const char* v, source_location at = {});
  template <class Rep, class Period>
  explicit value(std::chrono::duration<Rep, Period> v, source_location at = {});
  explicit value(byte_size v, source_location at = {});
  explicit value(list v, source_location at = {});
  explicit value(table v, source_location at = {});
  value(const value&);
  value(value&&) noexcept;
  value& operator=(const value&);
  value& operator=(value&&) noexcept;
  ~value();

  value_kind kind() const noexcept {
    return what_.valueless_by_exception() ? value_kind::none : kinds[what_.index()];
  }
  explicit operator bool() const noexcept { return kind() != value_kind::none; }
  source_location at() const noexcept { return at_; }

  // The content, if it is of this kind: bool, std::int64_t, double, std::string, nanoseconds, byte_size,
  // list, table. get() is for those who read what was checked: another kind is a broken invariant.
  template <class T>
  const T* get_if() const noexcept {
    return std::get_if<T>(&what_);
  }
  template <class T>
  T* get_if() noexcept {
    return std::get_if<T>(&what_);
  }
  template <class T>
  const T& get() const noexcept {
    const T* v = get_if<T>();
    if (!v) [[unlikely]]
      wrong_kind();
    return *v;
  }

  // The member of a table; nullptr when there is none, or this is no table.
  const value* find(std::string_view key) const noexcept;

  // Whether they say the same, wherever they were written.
  friend bool operator==(const value& a, const value& b) noexcept;

 private:
  // What the templates come to: a constructor in a header that makes the variant has a compiler make all that
  // destroys it.
  struct scalar {};
  value(scalar, bool v, source_location at) noexcept;
  value(scalar, std::int64_t v, source_location at) noexcept;
  value(scalar, nanoseconds v, source_location at) noexcept;

  [[noreturn]] void wrong_kind() const noexcept;

  std::variant<std::monostate, bool, std::int64_t, double, std::string, nanoseconds, byte_size, list, table>
      what_;
  // In the order of the variant.
  static constexpr value_kind kinds[] = {value_kind::none, value_kind::boolean, value_kind::integer,
                                         value_kind::real, value_kind::text,    value_kind::duration,
                                         value_kind::size, value_kind::list,    value_kind::table};
  source_location at_;
};

struct value_member {
  std::string key;
  source_location key_at;
  leat::value value;

  friend bool operator==(const value_member& a, const value_member& b) noexcept {
    return a.key == b.key && a.value == b.value;
  }
};

template <class T>
  requires(std::is_integral_v<T> && !std::is_same_v<T, bool>)
value::value(T v, source_location at) : value(scalar{}, static_cast<std::int64_t>(v), at) {}

template <class T>
  requires(std::is_same_v<T, bool>)
value::value(T v, source_location at) : value(scalar{}, v, at) {}

template <class Rep, class Period>
value::value(std::chrono::duration<Rep, Period> v, source_location at)
    : value(scalar{}, saturate_ns(v), at) {}

// As it may be written in a file: "250ms", 16, ["a", "b"], { x = 1 }. Nothing for none.
std::string to_text(const value& v);

// Text in quotes, with what TOML and JSON both need escaped.
std::string in_quotes(std::string_view text);

}  // namespace leat
