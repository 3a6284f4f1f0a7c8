// SPDX-License-Identifier: BSL-1.0
#include <leat/config/parameters.hpp>

#include <algorithm>
#include <iterator>
#include <utility>

#include <leat/config/values.hpp>

namespace leat::config {

namespace {

bool is_parameter_name(std::string_view text) {
  const auto letter = [](char c) { return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_'; };
  return !text.empty() && letter(text[0]) &&
         std::all_of(text.begin(), text.end(), [&](char c) { return letter(c) || (c >= '0' && c <= '9'); });
}

value_kind kind_of(std::string_view type) {
  constexpr value_kind kinds[] = {value_kind::text,    value_kind::real,     value_kind::integer,
                                  value_kind::boolean, value_kind::duration, value_kind::size,
                                  value_kind::text,    value_kind::list,     value_kind::table};
  static_assert(std::size(kinds) == std::size(parameter_types));
  for (std::size_t i = 0; i < std::size(kinds); ++i)
    if (parameter_types[i] == type) return kinds[i];
  return value_kind::none;
}

// A table or list is taken as it is: what it is put into knows what it must be.
value check_argument(const parameter& p, const value& given, diagnostics& found) {
  if (!p.good || !given) return given;
  const std::string what = "parameter '" + p.name + "'";
  if (p.type.kind == value_kind::table) {
    if (given.kind() == value_kind::table) return given;
    found.error("type", given.at(), what + " must be a table, not " + kind_with_article(given.kind()));
    return value();
  }
  value checked = check_value(p.type, given, what, found);
  if (!checked) return value();
  switch (p.type.kind) {
    case value_kind::duration:
    case value_kind::size: return given;  // with its unit
    case value_kind::real: {              // a whole one can be put where an integer is wanted
      value number = from_variable(value_kind::real, given, found);
      return number ? number : given;
    }
    default: return checked;
  }
}

void read_type(parameter& p, const value& type, diagnostics& found) {
  const setting_schema words{.kind = value_kind::enumeration,
                             .names = {std::begin(parameter_types), std::end(parameter_types)}};
  const value checked = check_value(words, type, "the type of parameter '" + p.name + "'", found);
  p.good = static_cast<bool>(checked);
  if (!p.good) return;
  p.type.kind = kind_of(checked.get<std::string>());
  p.channel = checked.get<std::string>() == "channel";
}

parameter read_parameter(const value_member& m, diagnostics& found) {
  parameter p{m.key, m.key_at};
  if (m.value.kind() == value_kind::text) {
    read_type(p, m.value, found);
    return p;
  }
  if (m.value.kind() != value_kind::table) {
    if (m.value)
      found.error("type", m.value.at(),
                  "parameter '" + m.key + "' must be a type or a table with 'type', not " +
                      kind_with_article(m.value.kind()));
    p.good = false;
    return p;
  }
  const value* given_default = nullptr;
  bool typed = false;
  for (const value_member& f : m.value.get<value::table>()) {
    if (f.key == "type") {
      typed = true;
      read_type(p, f.value, found);
    } else if (f.key == "default") {
      given_default = &f.value;
    } else if (f.key == "help") {
      (void)check_value({.kind = value_kind::text}, f.value, "'help'", found);
    } else {
      typed =
          report_unknown("unknown-key", f.key_at, "unknown key '" + f.key + "' of parameter '" + m.key + "'",
                         f.key, {"type", "default", "help"}, found) == "type" ||
          typed;
      p.good = false;
    }
  }
  if (!typed) {
    found.error("missing", m.key_at, "the key 'type' of parameter '" + m.key + "' is missing");
    p.good = false;
  }
  if (given_default) p.default_value = check_argument(p, *given_default, found);
  // One that is wrong is not missing as well.
  if (given_default && !p.default_value) p.good = false;
  return p;
}

}  // namespace

std::vector<parameter> read_parameters(const value& declared, const std::string& of, diagnostics& found) {
  std::vector<parameter> out;
  if (!declared) return out;
  const auto* members = declared.get_if<value::table>();
  if (!members) {
    found.error("type", declared.at(), "'param' must be a table, not " + kind_with_article(declared.kind()));
    return out;
  }
  for (const value_member& m : *members) {
    if (m.key == "name" || m.key == "for_each") {
      found.error(
          "name", m.key_at,
          "a parameter of " + of + " cannot be called '" + m.key + "': " +
              (m.key == "name" ? "${name} is the name of the use" : "a use says by it over what it goes"));
      continue;
    }
    if (!is_parameter_name(m.key)) {
      found.error("name", m.key_at,
                  "'" + m.key + "' is not a name for a parameter: letters, digits and _, no digit first");
      continue;
    }
    out.push_back(read_parameter(m, found));
  }
  return out;
}

std::vector<argument> bind(const std::vector<parameter>& wanted, const std::vector<given_table>& given,
                           const use_words& words, diagnostics& found) {
  std::vector<argument> out;
  out.push_back({"name", value(words.name, words.used_at)});
  std::vector<std::string_view> names;
  names.reserve(wanted.size());
  for (const parameter& p : wanted) names.push_back(p.name);
  std::vector<std::string> meant;
  for (const given_table& table : given)
    for (const value_member& m : *table.members) {
      if (m.key == table.besides || std::find(names.begin(), names.end(), m.key) != names.end()) continue;
      meant.push_back(report_unknown("unknown-parameter", m.key_at,
                                     words.of + " has no parameter '" + m.key + "'", m.key, names, found));
    }
  for (const parameter& p : wanted) {
    const value_member* from = nullptr;
    for (const given_table& table : given)
      for (const value_member& m : *table.members)
        if (m.key == p.name) from = &m;
    if (from) {
      out.push_back({p.name, check_argument(p, from->value, found)});
      continue;
    }
    out.push_back({p.name, p.default_value});
    if (p.default_value || !p.good || std::find(meant.begin(), meant.end(), p.name) != meant.end()) continue;
    diagnostic& f = found.error("missing", words.used_at.known() ? words.used_at : p.at,
                                "parameter '" + p.name + "' of " + words.of +
                                    " is not given and has no default" + std::string(words.advice));
    if (words.used_at.known()) f.notes.push_back({p.at, "declared here"});
  }
  return out;
}

}  // namespace leat::config
