// SPDX-License-Identifier: BSL-1.0
//
// From records to messages with fields: each value where the message has it, and what it has no place for told.
#include <cmath>
#include <limits>

#include <leat/base/field_steps.hpp>
#include <leat/base/value.hpp>
#include <leat/process/path.hpp>
#include <leat/process/record.hpp>
#include <leat/process/scalar.hpp>

namespace leat {
namespace {

using shapes::as;
using shapes::step;

const type_shape& without_maybe(const type_shape& s) noexcept {
  return s.kind == value_kind::maybe ? without_maybe(s.element()) : s;
}
bool is_table(const type_shape& s) noexcept { return without_maybe(s).kind == value_kind::table; }

const field_shape* field_of(const type_shape& s, std::string_view name) noexcept {
  for (std::size_t i = 0; i < s.field_count; ++i)
    if (s.fields[i].name == name) return &s.fields[i];
  return nullptr;
}

// Whether "where.lat" is a field of a structure within this one.
bool has_flat(const type_shape& s, std::string_view name) noexcept {
  for (std::size_t i = 0; i < s.field_count; ++i) {
    const std::string_view outer = s.fields[i].name;
    if (!name.starts_with(outer)) continue;
    if (name.size() == outer.size()) return true;
    const type_shape& t = s.fields[i].type();
    if (name[outer.size()] == '.' && is_table(t) && has_flat(without_maybe(t), name.substr(outer.size() + 1)))
      return true;
  }
  return false;
}

// Whether a field that this one is within is there itself: "where" beside "where.lat". Its value counts then.
bool is_hidden(const record& from, std::string_view name) noexcept {
  for (std::size_t i = name.find('.'); i != name.npos; i = name.find('.', i + 1)) {
    const field_value* const outer = from.find(name.substr(0, i));
    if (outer && !outer->is_null()) return true;
  }
  return false;
}

class record_filler {
 public:
  explicit record_filler(conversion_losses* losses) : losses_(losses) {}

  void fill(const type_shape& s, void* v, const record& from, const step* path) const {
    std::size_t used = 0;
    for (std::size_t i = 0; i < s.field_count; ++i) {
      const field_shape& f = s.fields[i];
      const step here{path, f.name};
      // Most records have the order of the message.
      const field_value* const given =
          i < from.size() && from.begin()[i].name == f.name ? &from.begin()[i].value : from.find(f.name);
      used += given != nullptr;
      if (given && !given->is_null())
        set(f.type(), f.in(v), *given, &here);
      else
        used += fill_missing(f.type(), f.in(v), from, std::string(f.name), given != nullptr, &here);
    }
    if (used < from.size() && losses_) tell_unknown(s, from, path);
  }

 private:
  // There is none of this name, or a null; but there may be some with a point behind it. How many of them it took.
  std::size_t fill_missing(const type_shape& s, void* v, const record& from, const std::string& flat,
                           bool is_null, const step* path) const {
    const record::field* const within = flat_part(from, flat);
    if (within && s.kind == value_kind::table) return fill_flat(s, v, from, flat, path);
    if (within && s.kind == value_kind::maybe && is_table(s.element())) {
      s.clear(v);
      return fill_missing(s.element(), s.append(v), from, flat, is_null, path);
    }
    // It came as a table: to take it for nothing would lose it without a word.
    if (within)
      throw message_error("field '" + path_text(path) + "': expected " + type_name(s) + ", got a table ('" +
                              within->name + "')",
                          0);
    if (s.kind == value_kind::maybe) {
      s.clear(v);
    } else if (is_null) {
      set(s, v, field_value(), path);
    } else if (s.kind == value_kind::table && s.field_count > 0) {
      // What is missing is a field of it, unless all of them may be.
      return fill_flat(s, v, from, flat, path);
    } else {
      throw message_error("field '" + path_text(path) + "' is missing", 0);
    }
    return 0;
  }

  std::size_t fill_flat(const type_shape& s, void* v, const record& from, const std::string& flat,
                        const step* path) const {
    std::size_t used = 0;
    for (std::size_t i = 0; i < s.field_count; ++i) {
      const field_shape& f = s.fields[i];
      const step here{path, f.name};
      const std::string name = flat + '.' + std::string(f.name);
      const field_value* const given = from.find(name);
      used += given != nullptr;
      if (given && !given->is_null())
        set(f.type(), f.in(v), *given, &here);
      else
        used += fill_missing(f.type(), f.in(v), from, name, given != nullptr, &here);
    }
    return used;
  }

  static const record::field* flat_part(const record& from, const std::string& name) noexcept {
    for (const record::field& f : from)
      if (f.name.size() > name.size() && f.name[name.size()] == '.' && f.name.starts_with(name)) return &f;
    return nullptr;
  }

  void tell_unknown(const type_shape& s, const record& from, const step* path) const {
    for (const record::field& f : from)
      if (!field_of(s, f.name) && (!has_flat(s, f.name) || is_hidden(from, f.name))) {
        const step here{path, f.name};
        // In quotes: the message has none with the point in its name.
        if (has_flat(s, f.name))
          losses_->unknown_field((path ? path_text(path) : std::string()) + field_path_text({{f.name}}));
        else
          losses_->unknown_field(path ? path_text(&here) : f.name);
      }
  }

  [[noreturn]] static void expected(const step* path, const std::string& what, const field_value& got) {
    constexpr std::size_t most = 100;
    std::string text = got.list() || got.table() ? std::string() : to_text(got);
    if (text.size() > most) text.resize(most), text += "...";
    throw message_error("field '" + path_text(path) + "': expected " + what + ", got " +
                            in_words(got.kind()) + (text.empty() ? "" : " (" + in_quotes(text) + ")"),
                        0);
  }
  static void check(bool fits, const type_shape& s, const step* path, const field_value& got) {
    if (!fits)
      throw message_error(
          "field '" + path_text(path) + "': " + to_text(got) + " does not fit into " + type_name(s), 0);
  }

  void set(const type_shape& s, void* v, const field_value& from, const step* path) const {
    const auto* const text = std::get_if<std::string>(&from);
    switch (s.kind) {
      case value_kind::boolean:
        if (const bool* const b = std::get_if<bool>(&from)) return void(as<bool>(v) = *b);
        expected(path, "true or false", from);
      case value_kind::integer:
      case value_kind::size: return set_integer(s, v, from, path);
      case value_kind::real: {
        std::optional<double> d = to_number(from);
        if (!d && text) d = no_number(*text);
        if (!d) expected(path, "a number", from);
        return check(shapes::store_real(s, v, *d), s, path, from);
      }
      case value_kind::text:
        if (text) return void(as<std::string>(v) = *text);
        expected(path, "a text", from);
      case value_kind::duration: {
        const auto* const d = std::get_if<nanoseconds>(&from);
        const std::optional<std::int64_t> ns = d      ? d->count()
                                               : text ? shapes::signed_duration(*text)
                                                      : std::nullopt;
        if (!ns) expected(path, "a duration like \"250ms\"", from);
        return check(s.set(v, *ns), s, path, from);
      }
      case value_kind::moment: {
        const auto* const m = std::get_if<moment>(&from);
        const std::optional<std::int64_t> ns = m      ? m->time_since_epoch().count()
                                               : text ? shapes::parse_moment(*text)
                                                      : std::nullopt;
        if (!ns) expected(path, "a time like \"2026-11-15T08:00:00Z\"", from);
        return check(s.set(v, *ns), s, path, from);
      }
      case value_kind::enumeration: {
        const enumerator* const e = text ? shapes::find_name(s, *text) : nullptr;
        if (!e) expected(path, shapes::names_in_words(s), from);
        return void(s.set(v, e->value));
      }
      case value_kind::maybe:
        s.clear(v);
        if (from.is_null()) return;
        return set(s.element(), s.append(v), from, path);
      case value_kind::list:
        if (const field_list* const all = from.list()) {
          s.clear(v);
          step here{path};
          for (const field_value& element : *all) {
            set(s.element(), s.append(v), element, &here);
            ++here.index;
          }
          return;
        }
        if (!text) expected(path, "a list", from);
        break;
      case value_kind::table:
        if (const record* const table = from.table()) return fill(s, v, *table, path);
        if (!text) expected(path, "a table", from);
        break;
      case value_kind::record:
        if (const record* const table = from.table()) return void(as<record>(v) = *table);
        if (!text) expected(path, "a table", from);
        break;
      case value_kind::none:
      case value_kind::any:
      case value_kind::opaque:
        throw message_error(
            "field '" + path_text(path) + "': a '" + std::string(s.name) + "' cannot be made of a value", 0);
    }
    try {
      shapes::read_json(s, v, *text, {});
    } catch (const message_error& e) {
      throw message_error("field '" + path_text(path) + "': " + e.what(), 0);
    }
  }

  // As JSON writes what is none.
  static std::optional<double> no_number(std::string_view text) noexcept {
    constexpr double endless = std::numeric_limits<double>::infinity();
    if (text == "NaN") return std::numeric_limits<double>::quiet_NaN();
    if (text == "Infinity") return endless;
    if (text == "-Infinity") return -endless;
    return std::nullopt;
  }

  static void set_integer(const type_shape& s, void* v, const field_value& from, const step* path) {
    const auto* const i = std::get_if<std::int64_t>(&from);
    const auto* const d = std::get_if<double>(&from);
    // A real is fine if it is whole, and far enough from the end that it is exactly that number.
    const bool whole = d && std::trunc(*d) == *d && std::fabs(*d) < 0x1p63;
    if (!i && !whole) expected(path, "a whole number", from);
    const shapes::wide_integer w = shapes::from_signed(i ? *i : static_cast<std::int64_t>(*d));
    if (s.kind == value_kind::integer) return check(shapes::store_integer(s, v, w), s, path, from);
    check(!w.negative, s, path, from);
    as<byte_size>(v).bytes = w.bits;
  }

  conversion_losses* const losses_;
};

}  // namespace

void from_record(const type_shape& s, void* v, const record& r, conversion_losses* losses) {
  if (s.kind == value_kind::record)
    as<record>(v) = r;
  else
    record_filler(losses).fill(s, v, r, nullptr);
}

}  // namespace leat
