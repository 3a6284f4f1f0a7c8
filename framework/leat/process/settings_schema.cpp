// SPDX-License-Identifier: BSL-1.0
//
// What is asked of the value of a setting beyond its type, and how a class tells it to others.
#include <leat/process/settings.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <utility>

#include <leat/base/schema.hpp>
#include <leat/process/scalar.hpp>

namespace leat::shapes {
namespace {

// The same limit in the kind of the setting: between(0, 1) for a double.
value fitting(const value& limit, value_kind k) {
  if (k == value_kind::real)
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

// A file can give no moment, record or opaque: read_value says so of any text.
value_kind written_as(value_kind k) noexcept {
  return k == value_kind::moment || k == value_kind::record || k == value_kind::opaque ? value_kind::text : k;
}

void narrow(setting_schema& s, const limits& l, value_kind k) {
  if (l.least) s.least = fitting(l.least, k);
  if (l.most) s.most = fitting(l.most, k);
}

void add_limits(setting_schema& s, const type_shape& shape, const limits& l) {
  const type_shape* inner = &shape;
  if (inner->kind == value_kind::maybe) inner = &inner->element();
  if (inner->kind == value_kind::list) {
    narrow(s.element.front(), l, inner->element().kind);
    s.element.front().validate_text = l.validate_text;
  } else {
    narrow(s, l, inner->kind);
    s.validate_text = l.validate_text;
  }
  s.validate = l.validate;
  s.secret = l.secret;
}

void add_options(setting_schema& s, const field_shape& f) {
  const field_options o = options_of(f);
  s.required = s.required || o.required;
  if (o.required) s.default_value = {};
  s.help = o.help;
  add_limits(s, f.type(), o.limits);
}

setting_schema describe(const type_shape& shape, const void* defaults);

// What a list or an optional holds. A structure there has the defaults that its type gives it.
setting_schema describe_element(const type_shape& shape) {
  if (shape.element().kind != value_kind::table) return describe(shape.element(), nullptr);
  struct context {
    const type_shape& element;
    setting_schema made;
  } c{shape.element(), {}};
  shape.with_fresh(
      [](const void* fresh, void* to) {
        auto& out = as<context>(to);
        out.made = describe(out.element, fresh);
      },
      &c);
  return std::move(c.made);
}

// `defaults`: an object whose members are the defaults, or null.
setting_schema describe(const type_shape& shape, const void* defaults) {
  if (shape.kind == value_kind::maybe) {
    const bool given = defaults && shape.length(defaults) > 0;
    setting_schema inner =
        given ? describe(shape.element(), shape.at(part_of(defaults), 0)) : describe_element(shape);
    inner.required = false;
    return inner;
  }
  setting_schema s{.kind = written_as(shape.kind)};
  switch (shape.kind) {
    case value_kind::integer:
      s.least = value(least_of(shape));
      s.most = value(static_cast<std::int64_t>(
          std::min<std::uint64_t>(most_of(shape), std::numeric_limits<std::int64_t>::max())));
      if (shape.size == sizeof(std::int64_t)) {
        s.most = {};
        if (shape.is_signed) s.least = {};
      }
      break;
    case value_kind::enumeration:
      for (std::size_t i = 0; i < shape.name_count; ++i) s.names.emplace_back(shape.names[i].name);
      break;
    case value_kind::list: s.element.push_back(describe_element(shape)); break;
    case value_kind::table:
      if (shape.element) s.element.push_back(describe(shape.element(), nullptr));
      for (std::size_t i = 0; i < shape.field_count; ++i) {
        const field_shape& f = shape.fields[i];
        setting_schema field = describe(f.type(), defaults ? f.in(part_of(defaults)) : nullptr);
        field.name = f.name;
        if (f.options) add_options(field, f);
        s.required = s.required || field.required;
        s.fields.push_back(std::move(field));
      }
      break;
    default: break;
  }
  if (defaults && shape.kind != value_kind::table) s.default_value = write_value(shape, defaults);
  return s;
}

std::string check_fields(const type_shape& s, const void* v, bool is_default) {
  for (std::size_t i = 0; i < s.field_count; ++i) {
    const field_shape& f = s.fields[i];
    const field_options o = options_of(f);
    if (is_default && o.required) continue;
    const void* const part = f.in(part_of(v));
    std::string wrong = check_limits(f.type(), part, o.limits, is_default);
    if (wrong.empty() && f.options) wrong = ask_validators(write_value(f.type(), part), o.limits);
    if (!wrong.empty()) return std::string(f.name) + ": " + wrong;
  }
  return {};
}

}  // namespace

std::string check_limits(const type_shape& s, const void* v, const limits& l, bool is_default) {
  if (s.kind == value_kind::table) return check_fields(s, v, is_default);
  if (s.kind == value_kind::list || s.kind == value_kind::maybe) {
    for (std::size_t i = 0; i < s.length(v); ++i)
      if (std::string wrong = check_limits(s.element(), s.at(part_of(v), i), l, is_default); !wrong.empty())
        return wrong;
    return {};
  }
  if (!l.least && !l.most) return {};
  const value is = write_value(s, v), least = fitting(l.least, s.kind), most = fitting(l.most, s.kind);
  if (is_default)
    for (const value& limit : {least, most})
      if (limit && limit.kind() != s.kind)
        return to_text(is) + " cannot be compared with its limit " + to_text(limit);
  // Not-a-number is in no range.
  const bool no_number = s.kind == value_kind::real && std::isnan(load_real(s, v));
  if (least && (no_number || compare(is, least).value_or(0) < 0))
    return to_text(is) + " is below " + to_text(least);
  if (most && (no_number || compare(is, most).value_or(0) > 0))
    return to_text(is) + " is above " + to_text(most);
  return {};
}

std::string ask_validators(const value& v, const limits& l) {
  if (l.validate_text) {
    if (const auto* const text = v.get_if<std::string>()) return l.validate_text(*text);
    if (const auto* const list = v.get_if<value::list>())
      for (const value& e : *list)
        if (std::string why = ask_validators(e, l); !why.empty()) return why;
  }
  if (!l.validate) return {};
  const std::vector<setting_diagnostic> all = l.validate(v);
  return all.empty() ? std::string() : all.front().why;
}

std::string read_setting(const type_shape& s, void* to, const value& from, const limits& l) {
  std::string wrong = read_value(s, to, from);
  if (wrong.empty()) wrong = check_limits(s, to, l);
  // With units read and defaults filled in, as the check of a file hands it over.
  if (wrong.empty()) wrong = ask_validators(write_value(s, to), l);
  return wrong;
}

setting_schema schema_of(const setting_registration& r) {
  // The defaults of a structure are those of its members, also when the whole must be given.
  const bool has_defaults = !r.required || r.shape->kind == value_kind::table;
  setting_schema s = describe(*r.shape, has_defaults ? r.to : nullptr);
  s.name = r.name;
  s.required = s.required || r.required;
  s.live = r.live;
  s.help = r.help;
  add_limits(s, *r.shape, *r.limits);
  return s;
}

}  // namespace leat::shapes
