// SPDX-License-Identifier: BSL-1.0
//
// A value within a record, by its path (base/field_steps.hpp has the grammar):
//
//   const leat::record r{{"where", leat::record{{"lat", 54.5}}}};
//   const auto lat = leat::field_path::parse("where.lat");
//   if (const leat::field_value* v = lat.find(r)) ...
//
// A field whose name is the text of the path, points and all, is found before what the steps lead to.
#pragma once
#include <optional>
#include <string>
#include <string_view>
#include <utility>

#include <leat/base/field_steps.hpp>
#include <leat/process/record.hpp>

namespace leat {

class field_path {
 public:
  // Of no field.
  field_path() = default;
  // Throws message_error, with the offset of what is wrong.
  static field_path parse(std::string_view text);
  // A field of the record itself, whatever is in its name.
  static field_path literal(std::string_view name);
  // parse, or, if that is no path, the field of this name: files may name "temperature [C]".
  static field_path named(std::string_view text);

  // Null: it is missing.
  const field_value* find(const record& r) const noexcept;
  field_value* find(record& r) const noexcept;
  // None: it is missing, or no number.
  std::optional<double> number(const record& r) const noexcept;
  // Makes what is missing or null on the way: tables, and lists up to the index. Throws message_error if there is
  // something else in the way.
  field_value& make(record& r) const;
  // The same, but what is in the way is displaced, and that alone. A "where.lat" beside a "where.lon" stays flat.
  void put(record& r, field_value v) const;
  // In a list, what is behind it moves up. False: it is missing.
  bool erase(record& r) const noexcept;

  // As it was written.
  const std::string& text() const noexcept { return text_; }
  const field_steps& steps() const noexcept { return steps_; }
  bool empty() const noexcept { return steps_.empty(); }

  friend bool operator==(const field_path& a, const field_path& b) { return a.steps_ == b.steps_; }

 private:
  field_path(std::string text, field_steps steps) : text_(std::move(text)), steps_(std::move(steps)) {}

  std::string text_;
  field_steps steps_;
};

}  // namespace leat
