// SPDX-License-Identifier: BSL-1.0
//
// Between records and messages with fields.
#include <cmath>

#include <leat/base/value.hpp>
#include <leat/process/record.hpp>
#include <leat/process/scalar.hpp>

namespace leat {
namespace {

using shapes::as;

field_kind kind_of(const type_shape& s) noexcept {
  switch (s.form) {
    case form::boolean: return field_kind::boolean;
    case form::integer:
    case form::size: return field_kind::integer;
    case form::real: return field_kind::real;
    case form::duration: return field_kind::duration;
    case form::moment: return field_kind::moment;
    case form::maybe: return kind_of(s.element());
    default: return field_kind::text;
  }
}

bool is_nested(const type_shape& s) noexcept { return s.form == form::structure; }

field_value value_of(const type_shape& s, const void* v) {
  switch (s.form) {
    case form::boolean: return as<bool>(v);
    case form::integer:
    case form::size: {
      const shapes::wide_integer i = s.form == form::size
                                         ? shapes::wide_integer{false, as<byte_size>(v).bytes}
                                         : shapes::load_integer(s, v);
      // What does not fit is told as nearly as a real can.
      if (!i.negative && i.bits > static_cast<std::uint64_t>(INT64_MAX)) return static_cast<double>(i.bits);
      return i.as_signed();
    }
    case form::real: return shapes::load_real(s, v);
    case form::text: return as<std::string>(v);
    case form::duration: return nanoseconds(s.get(v));
    case form::moment: return moment(nanoseconds(s.get(v)));
    case form::maybe:
      return s.length(v) == 0 ? field_value() : value_of(s.element(), s.at(shapes::part_of(v), 0));
    case form::enumeration:
      if (const enumerator* const e = shapes::find_value(s, s.get(v))) return e->name;
      return s.get(v);
    default: {
      std::string text;
      shapes::write_json(s, v, text);
      return text;
    }
  }
}

void add_fields(const type_shape& s, const void* v, const std::string& prefix, record& to) {
  for (std::size_t i = 0; i < s.field_count; ++i) {
    const type_shape& t = s.fields[i].type();
    const void* const part = s.fields[i].in(shapes::part_of(v));
    std::string name = prefix + std::string(s.fields[i].name);
    if (is_nested(t))
      add_fields(t, part, name + '.', to);
    else
      to.append(std::move(name), value_of(t, part));
  }
}

class filler {
 public:
  explicit filler(const record& from) : from_(from) {}

  void fill(const type_shape& s, void* v, const std::string& prefix) const {
    for (std::size_t i = 0; i < s.field_count; ++i) {
      const type_shape& t = s.fields[i].type();
      void* const part = s.fields[i].in(v);
      const std::string name = prefix + std::string(s.fields[i].name);
      if (is_nested(t)) {
        fill(t, part, name + '.');
        continue;
      }
      const field_value* const given = from_.find(name);
      if ((!given || given->is_null()) && t.form == form::maybe) {
        t.clear(part);
        continue;
      }
      if (!given) throw message_error("field '" + name + "' is missing", 0);
      set(t, part, *given, name);
    }
  }

 private:
  [[noreturn]] static void expected(const std::string& name, const std::string& what,
                                    const field_value& got) {
    throw message_error("field '" + name + "': expected " + what + ", got " + to_string(got.kind()) +
                            (got.is_null() ? "" : " (" + quoted(to_text(got)) + ")"),
                        0);
  }
  static void check(bool fits, const type_shape& s, const std::string& name, const field_value& got) {
    if (!fits)
      throw message_error("field '" + name + "': " + to_text(got) + " does not fit into " + type_name(s), 0);
  }

  static void set(const type_shape& s, void* v, const field_value& from, const std::string& name) {
    switch (s.form) {
      case form::boolean:
        if (const bool* const b = std::get_if<bool>(&from)) return void(as<bool>(v) = *b);
        expected(name, "true or false", from);
      case form::integer:
      case form::size: return set_integer(s, v, from, name);
      case form::real: {
        const std::optional<double> d = to_number(from);
        if (!d) expected(name, "a number", from);
        return check(shapes::store_real(s, v, *d), s, name, from);
      }
      case form::text:
        if (const auto* const t = std::get_if<std::string>(&from)) return void(as<std::string>(v) = *t);
        expected(name, "a text", from);
      case form::duration: {
        const auto* const d = std::get_if<nanoseconds>(&from);
        const auto* const t = std::get_if<std::string>(&from);
        const std::optional<std::int64_t> ns = d   ? d->count()
                                               : t ? shapes::signed_duration(*t)
                                                   : std::nullopt;
        if (!ns) expected(name, "a duration like \"250ms\"", from);
        return check(s.set(v, *ns), s, name, from);
      }
      case form::moment: {
        const auto* const m = std::get_if<moment>(&from);
        const auto* const t = std::get_if<std::string>(&from);
        const std::optional<std::int64_t> ns = m   ? m->time_since_epoch().count()
                                               : t ? shapes::parse_moment(*t)
                                                   : std::nullopt;
        if (!ns) expected(name, "a time like \"2026-11-15T08:00:00Z\"", from);
        return check(s.set(v, *ns), s, name, from);
      }
      case form::enumeration: {
        const auto* const t = std::get_if<std::string>(&from);
        const enumerator* const e = t ? shapes::find_name(s, *t) : nullptr;
        if (!e) expected(name, shapes::names_in_words(s), from);
        return void(s.set(v, e->value));
      }
      case form::maybe: s.clear(v); return set(s.element(), s.append(v), from, name);
      case form::list:
      case form::structure:
      case form::record:
      case form::opaque: break;
    }
    const auto* const t = std::get_if<std::string>(&from);
    if (!t) expected(name, "a text with JSON in it", from);
    try {
      shapes::read_json(s, v, *t, {});
    } catch (const message_error& e) {
      throw message_error("field '" + name + "': " + e.what(), 0);
    }
  }

  static void set_integer(const type_shape& s, void* v, const field_value& from, const std::string& name) {
    const auto* const i = std::get_if<std::int64_t>(&from);
    const auto* const d = std::get_if<double>(&from);
    // A real is fine if it is whole, and far enough from the end that it is exactly that number.
    const bool whole = d && std::trunc(*d) == *d && std::fabs(*d) < 0x1p63;
    if (!i && !whole) expected(name, "a whole number", from);
    const shapes::wide_integer w = shapes::from_signed(i ? *i : static_cast<std::int64_t>(*d));
    if (s.form == form::integer) return check(shapes::store_integer(s, v, w), s, name, from);
    check(!w.negative, s, name, from);
    as<byte_size>(v).bytes = w.bits;
  }

  const record& from_;
};

void list_fields(const type_shape& s, const std::string& prefix, bool optional,
                 std::vector<record_field>& to) {
  for (std::size_t i = 0; i < s.field_count; ++i) {
    const type_shape& t = s.fields[i].type();
    const std::string name = prefix + std::string(s.fields[i].name);
    if (is_nested(t))
      list_fields(t, name + '.', optional, to);
    else
      to.push_back({name, kind_of(t), optional || t.form == form::maybe});
  }
}

}  // namespace

record to_record(const type_shape& s, const void* v) {
  if (s.form == form::record) return as<record>(v);
  record r;
  r.reserve(s.field_count);
  add_fields(s, v, {}, r);
  return r;
}

void from_record(const type_shape& s, void* v, const record& r) {
  if (s.form == form::record)
    as<record>(v) = r;
  else
    filler(r).fill(s, v, {});
}

std::vector<record_field> record_fields(const type_shape& s) {
  std::vector<record_field> all;
  if (s.form == form::structure) list_fields(s, {}, false, all);
  return all;
}

}  // namespace leat
