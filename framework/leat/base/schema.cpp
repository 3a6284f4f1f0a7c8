// SPDX-License-Identifier: BSL-1.0
#include <leat/base/schema.hpp>

namespace leat {

const char* to_string(setting_kind k) noexcept {
  switch (k) {
    case setting_kind::integer: return "integer";
    case setting_kind::real: return "real";
    case setting_kind::boolean: return "boolean";
    case setting_kind::text: return "text";
    case setting_kind::duration: return "duration";
    case setting_kind::size: return "size";
    case setting_kind::list: return "list";
    case setting_kind::enumeration: return "enumeration";
    case setting_kind::structure: return "structure";
  }
  return "?";
}

const char* to_string(field_kind k) noexcept {
  switch (k) {
    case field_kind::none: return "nothing";
    case field_kind::boolean: return "true or false";
    case field_kind::integer: return "a whole number";
    case field_kind::real: return "a number";
    case field_kind::text: return "a text";
    case field_kind::duration: return "a duration";
    case field_kind::moment: return "a time";
    case field_kind::any: return "anything";
  }
  return "?";
}

bool may_become(field_kind from, field_kind to) noexcept {
  if (from == to || from == field_kind::any || to == field_kind::any) return true;
  switch (to) {
    case field_kind::integer: return from == field_kind::real;  // one that is whole
    case field_kind::real: return from == field_kind::integer;
    case field_kind::duration:
    case field_kind::moment: return from == field_kind::text;  // one that says so
    default: return false;
  }
}

const char* to_string(port_direction d) noexcept { return d == port_direction::in ? "in" : "out"; }

std::string describe_type(const setting_schema& s) {
  std::string out;
  switch (s.kind) {
    case setting_kind::list:
      out = "list";
      if (!s.element.empty()) out += " of " + describe_type(s.element.front());
      return out;
    case setting_kind::enumeration:
      out = "one of";
      for (const std::string& name : s.names) out += " " + quoted(name);
      return out;
    case setting_kind::structure:
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
