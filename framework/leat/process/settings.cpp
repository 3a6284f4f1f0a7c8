// SPDX-License-Identifier: BSL-1.0
#include <leat/process/settings.hpp>

#include <algorithm>
#include <cmath>

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

// The same limit in the kind of the setting: between(0, 1) for a double.
value fitting(const value& limit, form f) {
  if (f == form::real)
    if (const auto* const i = limit.get_if<std::int64_t>()) return value(static_cast<double>(*i));
  return limit;
}

// Less than zero, zero, more; none: they cannot be compared.
std::optional<int> compare(const value& a, const value& b) {
  const auto order = [](const auto& x, const auto& y) { return x < y ? -1 : y < x ? 1 : 0; };
  if (a.kind() != b.kind()) return std::nullopt;
  switch (a.kind()) {
    case value_kind::integer: return order(a.get<std::int64_t>(), b.get<std::int64_t>());
    case value_kind::real: return order(a.get<double>(), b.get<double>());
    case value_kind::duration: return order(a.get<nanoseconds>(), b.get<nanoseconds>());
    case value_kind::size: return order(a.get<byte_size>(), b.get<byte_size>());
    default: return std::nullopt;
  }
}

setting_kind kind_of(form f) noexcept {
  switch (f) {
    case form::boolean: return setting_kind::boolean;
    case form::integer: return setting_kind::integer;
    case form::real: return setting_kind::real;
    case form::enumeration: return setting_kind::enumeration;
    case form::duration: return setting_kind::duration;
    case form::size: return setting_kind::size;
    case form::list: return setting_kind::list;
    case form::structure: return setting_kind::structure;
    default: return setting_kind::text;
  }
}

// `defaults`: an object whose members are the defaults, or null.
setting_schema describe(const type_shape& shape, const void* defaults) {
  if (shape.form == form::maybe) {
    const bool given = defaults && shape.length(defaults) > 0;
    return describe(shape.element(), given ? shape.at(part_of(defaults), 0) : nullptr);
  }
  setting_schema s{.kind = kind_of(shape.form)};
  switch (shape.form) {
    case form::integer:
      s.least = value(least_of(shape));
      s.most = value(static_cast<std::int64_t>(
          std::min<std::uint64_t>(most_of(shape), std::numeric_limits<std::int64_t>::max())));
      if (shape.size == sizeof(std::int64_t)) {
        s.most = {};
        if (shape.is_signed) s.least = {};
      }
      break;
    case form::enumeration:
      for (std::size_t i = 0; i < shape.name_count; ++i) s.names.emplace_back(shape.names[i].name);
      break;
    case form::list: s.element.push_back(describe(shape.element(), nullptr)); break;
    case form::structure:
      for (std::size_t i = 0; i < shape.field_count; ++i) {
        const field_shape& f = shape.fields[i];
        s.fields.push_back(describe(f.type(), defaults ? f.in(part_of(defaults)) : nullptr));
        s.fields.back().name = f.name;
      }
      break;
    default: break;
  }
  if (defaults && shape.form != form::structure) s.default_value = write_value(shape, defaults);
  return s;
}

void narrow(setting_schema& s, const limits& l, form f) {
  if (l.least) s.least = fitting(l.least, f);
  if (l.most) s.most = fitting(l.most, f);
}

}  // namespace

std::string read_value(const type_shape& s, void* to, const value& from) {
  switch (s.form) {
    case form::boolean:
      if (const bool* const b = from.get_if<bool>()) return as<bool>(to) = *b, std::string();
      return wanted_but("true or false", from);
    case form::integer: return read_integer(s, to, from);
    case form::real: {
      const auto* const d = from.get_if<double>();
      const auto* const i = from.get_if<std::int64_t>();
      if (!d && !i) return wanted_but("a number", from);
      if (!store_real(s, to, d ? *d : static_cast<double>(*i))) return to_text(from) + " does not fit";
      return {};
    }
    case form::text:
      if (const auto* const t = from.get_if<std::string>()) return as<std::string>(to) = *t, std::string();
      return wanted_but("a text", from);
    case form::enumeration: {
      const auto* const t = from.get_if<std::string>();
      const enumerator* const e = t ? find_name(s, *t) : nullptr;
      if (!e) return wanted_but(names_in_words(s), from);
      (void)s.set(to, e->value);
      return {};
    }
    case form::duration: return read_duration(s, to, from);
    case form::size: return read_size(to, from);
    case form::list: return read_list(s, to, from);
    case form::structure: return read_structure(s, to, from);
    case form::maybe: s.clear(to); return read_value(s.element(), s.append(to), from);
    case form::moment:
    case form::record:
    case form::opaque: break;
  }
  return "a setting cannot be of type " + type_name(s);
}

value write_value(const type_shape& s, const void* v) {
  switch (s.form) {
    case form::boolean: return value(as<bool>(v));
    case form::integer: return value(load_integer(s, v).as_signed());
    case form::real: return value(load_real(s, v));
    case form::text: return value(as<std::string>(v));
    case form::enumeration: {
      const enumerator* const e = find_value(s, s.get(v));
      return e ? value(e->name) : value();
    }
    case form::duration: return value(nanoseconds(s.get(v)));
    case form::size: return value(as<byte_size>(v));
    case form::maybe: return s.length(v) ? write_value(s.element(), s.at(part_of(v), 0)) : value();
    case form::list: {
      value::list all;
      for (std::size_t i = 0; i < s.length(v); ++i)
        all.push_back(write_value(s.element(), s.at(part_of(v), i)));
      return value(std::move(all));
    }
    case form::structure: {
      value::table all;
      for (std::size_t i = 0; i < s.field_count; ++i)
        if (value field = write_value(s.fields[i].type(), s.fields[i].in(part_of(v))))
          all.push_back({std::string(s.fields[i].name), {}, std::move(field)});
      return value(std::move(all));
    }
    case form::moment:
    case form::record:
    case form::opaque: break;
  }
  return {};
}

std::string check_limits(const type_shape& s, const void* v, const limits& l) {
  if (!l.least && !l.most) return {};
  if (s.form == form::list || s.form == form::maybe) {
    for (std::size_t i = 0; i < s.length(v); ++i)
      if (std::string wrong = check_limits(s.element(), s.at(part_of(v), i), l); !wrong.empty()) return wrong;
    return {};
  }
  const value is = write_value(s, v), least = fitting(l.least, s.form), most = fitting(l.most, s.form);
  // Not-a-number is in no range.
  const bool no_number = s.form == form::real && std::isnan(load_real(s, v));
  if (least && (no_number || compare(is, least).value_or(0) < 0))
    return to_text(is) + " is below " + to_text(least);
  if (most && (no_number || compare(is, most).value_or(0) > 0))
    return to_text(is) + " is above " + to_text(most);
  return {};
}

std::string ask_judges(const value& v, const limits& l) {
  if (l.judge_text) {
    if (const auto* const text = v.get_if<std::string>()) return l.judge_text(*text);
    if (const auto* const list = v.get_if<value::list>())
      for (const value& e : *list)
        if (std::string why = ask_judges(e, l); !why.empty()) return why;
  }
  if (!l.judge) return {};
  const std::vector<fault> all = l.judge(v);
  return all.empty() ? std::string() : all.front().why;
}

setting_schema schema_of(const setting_registration& r) {
  // The defaults of a structure are those of its members, also when the whole must be given.
  const bool has_defaults = !r.required || r.shape->form == form::structure;
  setting_schema s = describe(*r.shape, has_defaults ? r.to : nullptr);
  s.name = r.name;
  s.required = r.required;
  s.help = r.help;
  const type_shape* inner = r.shape;
  if (inner->form == form::maybe) inner = &inner->element();
  if (inner->form == form::list) {
    narrow(s.element.front(), *r.limits, inner->element().form);
    s.element.front().judge_text = r.limits->judge_text;
  } else {
    narrow(s, *r.limits, inner->form);
    s.judge_text = r.limits->judge_text;
  }
  s.judge = r.limits->judge;
  return s;
}

}  // namespace leat::shapes
