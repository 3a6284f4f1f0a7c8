// SPDX-License-Identifier: BSL-1.0
//
// A message whose fields are known at run time only: what ready-made processes send one another.
//
//   leat::record r{{"sensor", "boiler"}, {"celsius", 71.5}};
//   r["at"] = leat::moment_now();
//   if (auto celsius = r.number("celsius")) ...
//
// Fields keep their order; no name is there twice. A value may be a list, or a record of its own (a table): a
// structure that becomes a record gives a table, a vector a list. Null is a value; a field that is missing is
// not found. Values within are reached by a path (process/field_path.hpp).
//
// In JSON a record is an object, in the same words as a message with these fields (process/message.hpp); so
// are its moments and durations texts there, and read back they are texts.
#pragma once
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <leat/base/chrono.hpp>
#include <memory>
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

class field_value;

// The values of a list, as in a std::vector.
class field_list : public std::vector<field_value> {
 public:
  field_list() noexcept;
  field_list(std::initializer_list<field_value> all);
  explicit field_list(std::vector<field_value> all) noexcept;
  field_list(const field_list&);
  field_list(field_list&&) noexcept;
  field_list& operator=(const field_list&);
  field_list& operator=(field_list&&) noexcept;
  ~field_list();

  friend bool operator==(const field_list& a, const field_list& b);
};

class record {
 public:
  struct field;
  using fields = std::vector<field>;
  using iterator = const field*;

  record() noexcept;
  record(std::initializer_list<field> all);
  record(const record&);
  record(record&&) noexcept;
  record& operator=(const record&);
  record& operator=(record&&) noexcept;
  ~record();

  // Null: there is no such field.
  const field_value* find(std::string_view name) const noexcept;
  field_value* find(std::string_view name) noexcept;
  // The number in this field; none if there is no such field, or it is not a number.
  std::optional<double> number(std::string_view name) const noexcept;
  // The text in this field, or null.
  const std::string* text(std::string_view name) const noexcept;
  // Added behind the others if it is not there.
  field_value& operator[](std::string_view name);
  // Whoever knows that there is no such field.
  field_value& append(std::string name, field_value v);
  bool erase(std::string_view name) noexcept;
  void clear() noexcept;
  void reserve(std::size_t n);

  std::size_t size() const noexcept;
  bool empty() const noexcept;
  iterator begin() const noexcept;
  iterator end() const noexcept;

  friend bool operator==(const record& a, const record& b);

 private:
  friend class field_renames;
  fields fields_;
};

// Of a field; monostate: none, JSON's null. What makes, copies and destroys one is in record.cpp, so that not
// every file that includes this one is compiled with it.
class field_value : public std::variant<std::monostate, bool, std::int64_t, double, std::string, nanoseconds,
                                        moment, field_list, record> {
 public:
  field_value() noexcept;
  template <class T>
    requires(std::is_same_v<T, bool>)
  field_value(T v) : field_value(scalar{}, v) {}
  template <class T>
    requires(shapes::is_integer<T>)
  field_value(T v) : field_value(scalar{}, static_cast<std::int64_t>(v)) {
    if (!std::in_range<std::int64_t>(v)) *this = static_cast<double>(v);  // as nearly as a real can tell it
  }
  field_value(double v) noexcept;
  field_value(std::string v) noexcept;
  field_value(std::string_view v);
  field_value(const char* v);
  template <class Rep, class Period>
  field_value(std::chrono::duration<Rep, Period> v) : field_value(scalar{}, saturate_ns(v)) {}
  field_value(moment v) noexcept;
  field_value(field_list v) noexcept;
  field_value(record v) noexcept;
  field_value(const field_value&);
  field_value(field_value&&) noexcept;
  field_value& operator=(const field_value&);
  field_value& operator=(field_value&&) noexcept;
  ~field_value();

  bool is_null() const noexcept { return index() == 0; }
  value_kind kind() const noexcept { return valueless_by_exception() ? value_kind::none : kinds[index()]; }
  // Null: it is of another kind.
  const field_list* list() const noexcept { return std::get_if<field_list>(this); }
  field_list* list() noexcept { return std::get_if<field_list>(this); }
  const record* table() const noexcept { return std::get_if<record>(this); }
  record* table() noexcept { return std::get_if<record>(this); }

 private:
  struct scalar {};
  field_value(scalar, bool v) noexcept;
  field_value(scalar, std::int64_t v) noexcept;
  field_value(scalar, nanoseconds v) noexcept;

  // In the order of the variant.
  static constexpr value_kind kinds[] = {value_kind::none,   value_kind::boolean, value_kind::integer,
                                         value_kind::real,   value_kind::text,    value_kind::duration,
                                         value_kind::moment, value_kind::list,    value_kind::table};
};
// As in JSON, but a text is bare: "71.5", "boiler", "250ms"; "" for none.
std::string to_text(const field_value& v);
// Integers and reals.
std::optional<double> to_number(const field_value& v) noexcept;

struct record::field {
  std::string name;
  field_value value;

  friend bool operator==(const field&, const field&) = default;
};

// Here, where a field is a whole type.
inline std::size_t record::size() const noexcept { return fields_.size(); }
inline bool record::empty() const noexcept { return fields_.empty(); }
inline record::iterator record::begin() const noexcept { return fields_.data(); }
inline record::iterator record::end() const noexcept { return fields_.data() + fields_.size(); }

// Names of fields in a process, and what they are called at its port: { temperature = "celsius" } of a
// configuration says that the process knows as `temperature` what the channel's messages call `celsius`. Either may
// be a path (process/field_path.hpp).
class field_renames {
 public:
  struct rename {
    std::string here, there;
  };

  field_renames() = default;
  field_renames(std::initializer_list<rename> all) : field_renames(std::vector<rename>(all)) {}
  explicit field_renames(std::vector<rename> all);  // std::invalid_argument: a name is empty

  bool empty() const noexcept { return all_.empty(); }
  const std::vector<rename>& all() const noexcept { return all_; }
  std::string_view here(std::string_view there) const noexcept;
  std::string_view there(std::string_view here) const noexcept;
  // What comes in, and what goes out. A field that takes the name of another displaces it.
  void come_in(record& r) const;
  void go_out(record& r) const;

 private:
  void apply(record& r, std::string rename::* from, std::string rename::* to) const;

  struct paths;
  std::vector<rename> all_;
  std::shared_ptr<const paths> paths_;  // of all, if one of them has several steps
};

// What a conversion cannot carry over, told by its path. Whoever gives none does not want to know.
class conversion_losses {
 public:
  // A field of the record that the message does not have, or a "where.lat" beside a `where`; it is left out.
  virtual void unknown_field(std::string_view path) = 0;
  // An unsigned number above the largest std::int64_t, of which the record has the nearest real.
  virtual void rough_number(std::string_view path) = 0;

 protected:
  ~conversion_losses() = default;
};

// From any message with fields to a record and back. A structure within it becomes a table, a vector a list; an
// optional may be null or missing. A structure is also made of fields with a point in their names
// ("where.lat"), and a list of its JSON as a text. Throws message_error: "field 'celsius': expected a number, got
// a text".
record to_record(const type_shape& s, const void* v, conversion_losses* losses = nullptr);
void from_record(const type_shape& s, void* v, const record& r, conversion_losses* losses = nullptr);

template <described_structure T>
record to_record(const T& v, conversion_losses* losses = nullptr) {
  return to_record(shape_of<T>(), &v, losses);
}
template <described_structure T>
T from_record(const record& r, conversion_losses* losses = nullptr) {
  T v{};
  from_record(shape_of<T>(), &v, r, losses);
  return v;
}

// The fields that to_record makes of it, by their paths: those of tables, and of lists the element, "used[]";
// empty if it makes none.
std::vector<record_field> record_fields(const type_shape& s);

namespace shapes {
void write_json(const field_value& v, std::string& out);

template <>
constexpr type_shape make<record>() {
  return {.kind = value_kind::record, .name = "record", .size = sizeof(record)};
}
}  // namespace shapes

}  // namespace leat
