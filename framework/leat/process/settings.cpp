// SPDX-License-Identifier: BSL-1.0
#include <leat/process/settings.hpp>

#include <limits>
#include <utility>

#include <leat/base/schema.hpp>
#include <leat/process/scalar.hpp>

namespace leat::shapes {
namespace {

std::string wanted_but(const std::string& wanted, const value& got) {
  return "expected " + wanted + ", got " + (got ? to_text(got) : std::string("nothing"));
}

std::string read_list(const type_shape& s, void* to, const value& from) {
  const auto* const list = from.get_if<value::list>();
  if (!list) return wanted_but("a list", from);
  s.clear(to);
  for (std::size_t i = 0; i < list->size(); ++i)
    if (std::string wrong = read_value(s.element(), s.append(to), (*list)[i]); !wrong.empty())
      return "[" + std::to_string(i) + "]: " + wrong;
  return {};
}

bool must_be_given(const field_shape& f) {
  return options_of(f).required || !field_to_be_given(f.type()).empty();
}

// The only table with an element is one of texts.
std::string read_texts(void* to, const value& from) {
  const auto* const members = from.get_if<value::table>();
  if (!members) return wanted_but("a table", from);
  auto& texts = as<text_table>(to).all;
  texts.clear();
  for (const value_member& m : *members) {
    const auto* const text = m.value.get_if<std::string>();
    if (!text) return m.key + ": " + wanted_but("a text", m.value);
    texts.push_back({m.key, *text});
  }
  return {};
}

std::string read_structure(const type_shape& s, void* to, const value& from) {
  const auto* const members = from.get_if<value::table>();
  if (!members) return wanted_but("a table", from);
  for (const value_member& m : *members) {
    std::size_t i = 0;
    while (i < s.field_count && s.fields[i].name != m.key) ++i;
    if (i == s.field_count) return "unknown key '" + m.key + "'";
    if (std::string wrong = read_value(s.fields[i].type(), s.fields[i].in(to), m.value); !wrong.empty())
      return m.key + ": " + wrong;
  }
  for (std::size_t i = 0; i < s.field_count; ++i)
    if (must_be_given(s.fields[i]) && !from.find(s.fields[i].name))
      return std::string(s.fields[i].name) + ": is required";
  return {};
}

std::string read_integer(const type_shape& s, void* to, const value& from) {
  const auto* const i = from.get_if<std::int64_t>();
  if (!i) return wanted_but("an integer", from);
  if (!store_integer(s, to, from_signed(*i)))
    return std::to_string(*i) + " is not in the range " + integer_range(s);
  return {};
}

std::string read_duration(const type_shape& s, void* to, const value& from) {
  std::optional<std::int64_t> ns;
  if (const auto* const d = from.get_if<nanoseconds>()) ns = d->count();
  if (const auto* const t = from.get_if<std::string>()) ns = signed_duration(*t);
  if (!ns) return wanted_but("a duration like \"250ms\"", from);
  if (!s.set(to, *ns)) return to_text(from) + " is not a whole number of " + std::string(s.name);
  return {};
}

std::string read_size(void* to, const value& from) {
  auto& size = as<byte_size>(to);
  if (const auto* const b = from.get_if<byte_size>()) {
    size = *b;
    return {};
  }
  if (const auto* const t = from.get_if<std::string>())
    if (const auto parsed = parse_size(*t)) {
      size.bytes = *parsed.value;
      return {};
    }
  return wanted_but("a size like \"64K\"", from);
}

}  // namespace

field_options options_of(const field_shape& f) {
  field_options o;
  if (f.options) f.options(o);
  return o;
}

std::string_view field_to_be_given(const type_shape& s) {
  if (s.kind == value_kind::table)
    for (std::size_t i = 0; i < s.field_count; ++i)
      if (must_be_given(s.fields[i])) return s.fields[i].name;
  return {};
}

std::string read_value(const type_shape& s, void* to, const value& from) {
  switch (s.kind) {
    case value_kind::boolean:
      if (const bool* const b = from.get_if<bool>()) return as<bool>(to) = *b, std::string();
      return wanted_but("true or false", from);
    case value_kind::integer: return read_integer(s, to, from);
    case value_kind::real: {
      const auto* const d = from.get_if<double>();
      const auto* const i = from.get_if<std::int64_t>();
      if (!d && !i) return wanted_but("a number", from);
      if (!store_real(s, to, d ? *d : static_cast<double>(*i))) return to_text(from) + " does not fit";
      return {};
    }
    case value_kind::text:
      if (const auto* const t = from.get_if<std::string>()) return as<std::string>(to) = *t, std::string();
      return wanted_but("a text", from);
    case value_kind::enumeration: {
      const auto* const t = from.get_if<std::string>();
      const enumerator* const e = t ? find_name(s, *t) : nullptr;
      if (!e) return wanted_but(names_in_words(s), from);
      (void)s.set(to, e->value);
      return {};
    }
    case value_kind::duration: return read_duration(s, to, from);
    case value_kind::size: return read_size(to, from);
    case value_kind::list: return read_list(s, to, from);
    case value_kind::table: return s.element ? read_texts(to, from) : read_structure(s, to, from);
    // Into what is there: of a structure that is given in part, the rest stays.
    case value_kind::maybe: return read_value(s.element(), s.length(to) ? s.at(to, 0) : s.append(to), from);
    case value_kind::moment:
    case value_kind::record:
    case value_kind::none:
    case value_kind::any:
    case value_kind::opaque: break;
  }
  return "a setting cannot be of type " + type_name(s);
}

// None for what no file can say, such as the largest std::uint64_t: as a default it stays as it is.
value write_value(const type_shape& s, const void* v) {
  switch (s.kind) {
    case value_kind::boolean: return value(as<bool>(v));
    case value_kind::integer: {
      const wide_integer i = load_integer(s, v);
      const bool fits = i.negative || i.bits <= std::numeric_limits<std::int64_t>::max();
      return fits ? value(i.as_signed()) : value();  // more than a file can say
    }
    case value_kind::real: return value(load_real(s, v));
    case value_kind::text: return value(as<std::string>(v));
    case value_kind::enumeration: {
      const enumerator* const e = find_value(s, s.get(v));
      return e ? value(e->name) : value();
    }
    case value_kind::duration: {
      const nanoseconds d(s.get(v));
      const bool fits = d != nanoseconds::max() && d != nanoseconds::min();
      return fits ? value(d) : value();
    }
    case value_kind::size: return value(as<byte_size>(v));
    case value_kind::maybe: return s.length(v) ? write_value(s.element(), s.at(part_of(v), 0)) : value();
    case value_kind::list: {
      value::list all;
      for (std::size_t i = 0; i < s.length(v); ++i)
        all.push_back(write_value(s.element(), s.at(part_of(v), i)));
      return value(std::move(all));
    }
    case value_kind::table: {
      value::table all;
      if (s.element)
        for (const text_table::member& m : as<text_table>(v).all) all.push_back({m.name, {}, value(m.text)});
      for (std::size_t i = 0; i < s.field_count; ++i)
        if (value field = write_value(s.fields[i].type(), s.fields[i].in(part_of(v))))
          all.push_back({std::string(s.fields[i].name), {}, std::move(field)});
      return value(std::move(all));
    }
    case value_kind::moment:
    case value_kind::record:
    case value_kind::none:
    case value_kind::any:
    case value_kind::opaque: break;
  }
  return {};
}

}  // namespace leat::shapes
