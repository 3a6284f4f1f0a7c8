// SPDX-License-Identifier: BSL-1.0
#include <leat/base/schema.hpp>

namespace leat {

bool may_become(value_kind from, value_kind to) noexcept {
  if (from == to || from == value_kind::any || to == value_kind::any) return true;
  switch (to) {
    case value_kind::integer: return from == value_kind::real;  // one that is whole
    case value_kind::real: return from == value_kind::integer;
    case value_kind::duration:
    case value_kind::moment: return from == value_kind::text;  // one that says so
    case value_kind::list:
    case value_kind::table: return from == value_kind::text;  // its JSON
    default: return false;
  }
}

value shown_value(const setting_schema& s, const value& v) {
  const auto* const text = v.get_if<std::string>();
  const auto* const list = v.get_if<value::list>();
  const auto* const table = v.get_if<value::table>();
  const bool empty = !v || (text && text->empty()) || (list && list->empty()) || (table && table->empty());
  if (empty) return v;
  if (s.secret) return value("(hidden)");
  if (list && !s.element.empty()) {
    value::list shown;
    for (const value& e : *list) shown.push_back(shown_value(s.element.front(), e));
    return value(std::move(shown));
  }
  if (!table) return v;
  value::table shown;
  for (const value_member& m : *table) {
    const setting_schema* of = find_setting(s.fields, m.key);
    if (!of && !s.element.empty()) of = &s.element.front();
    shown.push_back({m.key, m.key_at, of ? shown_value(*of, m.value) : m.value});
  }
  return value(std::move(shown));
}

const char* to_string(port_direction d) noexcept { return d == port_direction::in ? "in" : "out"; }

std::string describe_type(const setting_schema& s) {
  std::string out;
  switch (s.kind) {
    case value_kind::list:
      out = "list";
      if (!s.element.empty()) out += " of " + describe_type(s.element.front());
      return out;
    case value_kind::enumeration:
      out = "one of";
      for (const std::string& name : s.names) out += " " + in_quotes(name);
      return out;
    case value_kind::table:
      if (!s.element.empty()) return "table of " + describe_type(s.element.front());
      out = "{";
      for (const setting_schema& f : s.fields) out += (out.size() > 1 ? ", " : " ") + f.name;
      return out += " }";
    default: break;
  }
  out = to_string(s.kind);
  if (s.least && s.most) {
    out += ' ' + to_text(s.least) + " to " + to_text(s.most);
  } else if (s.least) {
    out += " of at least " + to_text(s.least);
  } else if (s.most) {
    out += " of at most " + to_text(s.most);
  }
  return out;
}

const port_schema* find_port(const class_schema& c, std::string_view name) noexcept {
  for (const port_schema& p : c.ports)
    if (p.name == name) return &p;
  return nullptr;
}

const setting_schema* find_setting(const std::vector<setting_schema>& among, std::string_view name) noexcept {
  for (const setting_schema& s : among)
    if (s.name == name) return &s;
  return nullptr;
}

}  // namespace leat
