// SPDX-License-Identifier: BSL-1.0
//
// A message whose fields are known at run time only: what ready-made processes send one another.
//
//   leat::record r{{"sensor", "boiler"}, {"celsius", 71.5}};
//   r["at"] = leat::moment_now();
//   if (auto celsius = r.number("celsius")) ...
//
// Fields keep their order; no name is there twice. A record has no lists and no records within it: a
// structure that becomes a record gives "position.lat", a list gives its JSON as a text.
//
// In JSON a record is an object; so are its moments and durations texts there, and read back they are texts.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

#include <leat/base/schema.hpp>
#include <leat/process/message.hpp>

namespace leat {

using moment = std::chrono::time_point<std::chrono::system_clock, nanoseconds>;
moment moment_now() noexcept;

// Of a field; monostate: none, JSON's null.
class field_value
    : public std::variant<std::monostate, bool, std::int64_t, double, std::string, nanoseconds, moment> {
 public:
  field_value() = default;
  template <class T>
  requires(std::is_same_v<T, bool>) field_value(T v) : variant(v) {}
  template <class T>
  requires(shapes::is_integer<T>) field_value(T v) : variant(static_cast<std::int64_t>(v)) {
    // As nearly as a real can tell it.
    if (!std::in_range<std::int64_t>(v)) *this = static_cast<double>(v);
  }
  field_value(double v) : variant(v) {}
  field_value(std::string v) : variant(std::move(v)) {}
  field_value(std::string_view v) : variant(std::string(v)) {}
  field_value(const char* v) : variant(std::string(v)) {}
  template <class Rep, class Period>
  field_value(std::chrono::duration<Rep, Period> v) : variant(saturate_ns(v)) {}
  field_value(moment v) : variant(v) {}

  bool is_null() const noexcept { return index() == 0; }
  field_kind kind() const noexcept { return static_cast<field_kind>(index()); }
};
// As in JSON, but a text is bare: "71.5", "boiler", "250ms"; "" for none.
std::string to_text(const field_value& v);
// Integers and reals.
std::optional<double> to_number(const field_value& v) noexcept;

class record {
 public:
  struct field {
    std::string name;
    field_value value;

    friend bool operator==(const field&, const field&) = default;
  };
  using fields = std::vector<field>;
  using iterator = fields::const_iterator;

  record() = default;
  record(std::initializer_list<field> all);

  // Null: there is no such field.
  const field_value* find(std::string_view name) const noexcept;
  // The number in this field; none if there is no such field, or it is no number.
  std::optional<double> number(std::string_view name) const noexcept;
  // The text in this field, or null.
  const std::string* text(std::string_view name) const noexcept;
  // Added behind the others if it is not there.
  field_value& operator[](std::string_view name);
  // Whoever knows that there is no such field.
  void append(std::string name, field_value v) { fields_.push_back({std::move(name), std::move(v)}); }
  bool erase(std::string_view name) noexcept;
  void clear() noexcept { fields_.clear(); }
  void reserve(std::size_t n) { fields_.reserve(n); }

  std::size_t size() const noexcept { return fields_.size(); }
  bool empty() const noexcept { return fields_.empty(); }
  iterator begin() const noexcept { return fields_.begin(); }
  iterator end() const noexcept { return fields_.end(); }

  friend bool operator==(const record&, const record&) = default;

 private:
  friend class field_renames;
  fields fields_;
};

// Names of fields in a process, and what they are called at its port: { temperature = "celsius" } of a
// configuration says that the process knows as `temperature` what the channel's messages call `celsius`.
class field_renames {
 public:
  struct rename {
    std::string here, there;
  };

  field_renames() = default;
  field_renames(std::initializer_list<rename> all) : all_(all) {}
  explicit field_renames(std::vector<rename> all) : all_(std::move(all)) {}

  bool empty() const noexcept { return all_.empty(); }
  const std::vector<rename>& all() const noexcept { return all_; }
  std::string_view here(std::string_view there) const noexcept;
  std::string_view there(std::string_view here) const noexcept;
  // What comes in, and what goes out. A field that takes the name of another displaces it.
  void come_in(record& r) const { apply(r, &rename::there, &rename::here); }
  void go_out(record& r) const { apply(r, &rename::here, &rename::there); }

 private:
  void apply(record& r, std::string rename::*from, std::string rename::*to) const;

  std::vector<rename> all_;
};

// From any message with fields to a record and back. A structure within it becomes fields with a point in
// their names, a list its JSON as text; an optional may be null or missing. Fields of the record that the
// message does not have are left out. Throws message_error: "field 'celsius': expected a number, got a text".
record to_record(const type_shape& s, const void* v);
void from_record(const type_shape& s, void* v, const record& r);

template <described_structure T>
record to_record(const T& v) {
  return to_record(shape_of<T>(), &v);
}
template <described_structure T>
T from_record(const record& r) {
  T v{};
  from_record(shape_of<T>(), &v, r);
  return v;
}

// The fields that to_record makes of it; empty if it makes none.
std::vector<record_field> record_fields(const type_shape& s);

namespace shapes {
void write_json(const field_value& v, std::string& out);

template <>
constexpr type_shape make<record>() {
  return {.form = form::record, .name = "record", .size = sizeof(record)};
}
}  // namespace shapes

}  // namespace leat
