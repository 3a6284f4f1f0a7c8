// SPDX-License-Identifier: BSL-1.0
#include <leat/config/section.hpp>

#include <algorithm>
#include <utility>
#include <vector>

#include <leat/config/values.hpp>

namespace leat::config {

namespace {

value check_key(const key_info& k, const value_member& m, diagnostics& found) {
  const std::string what = "'" + m.key + "'";
  if (k.shape == key_shape::setting) return check_value(k.type, m.value, what, found);
  if (k.shape == key_shape::word_or) {
    const auto* text = m.value.get_if<std::string>();
    if (text && *text == k.word) return value();
    const bool fits = k.type.kind == value_kind::duration ? text && parse_duration(*text)
                                                          : m.value.kind() == value_kind::integer ||
                                                                from_variable(k.type.kind, m.value, found);
    if (m.value && !fits) {
      found
          .error("type", m.value.at(),
                 what + " must be " + (k.type.kind == value_kind::integer ? "an " : "a ") +
                     describe_type(k.type) + " or " + in_quotes(k.word) + quotes_hint(k.type.kind, m.value))
          .label = said_of(m.value, found);
      return value();
    }
    return check_value(k.type, m.value, what, found);
  }
  const bool table = m.value.kind() == value_kind::table;
  const bool text = k.shape == key_shape::deliveries && m.value.kind() == value_kind::text;
  if (table || text || !m.value) return m.value;
  found.error("type", m.value.at(), what + " must be a table, not " + kind_with_article(m.value.kind()));
  return value();
}

}  // namespace

section::section(std::string_view name, const value& raw, const std::string& heading,
                 source_location missing_at, diagnostics& found) {
  const key_section& grammar = section_of(name);
  std::vector<std::string_view> names;
  for (const key_info& k : grammar.keys) names.push_back(k.type.name);
  value::table out;
  std::vector<std::string> meant;
  const auto present = [&](const std::string& key) {
    return std::any_of(out.begin(), out.end(), [&](const value_member& m) { return m.key == key; });
  };
  if (const auto* members = raw.get_if<value::table>()) {
    for (const value_member& m : *members) {
      const key_info* k = grammar.find(m.key);
      if (!k) {
        // Taken for the one that was probably meant, so that one mistake is one error.
        meant.push_back(report_unknown("unknown-key", m.key_at, "unknown key '" + m.key + "' in " + heading,
                                       m.key, names, found));
        if (meant.back().empty() || raw.find(meant.back()) || present(meant.back())) continue;
        k = grammar.find(meant.back());
      }
      if (value checked = check_key(*k, m, found))
        out.push_back({k->type.name, m.key_at, std::move(checked)});
    }
  }
  for (const key_info& k : grammar.keys) {
    if (present(k.type.name)) continue;
    if (k.type.default_value)
      out.push_back({k.type.name, {}, k.type.default_value});
    else if (k.type.required && !raw.find(k.type.name) &&
             std::find(meant.begin(), meant.end(), k.type.name) == meant.end())
      found.error("missing", missing_at, "the key '" + k.type.name + "' in " + heading + " is missing");
  }
  checked_ = value(std::move(out), raw.at());
}

source_location section::at(std::string_view key) const noexcept {
  const value* v = find(key);
  return v ? v->at() : source_location{};
}

source_location section::key_at(std::string_view key) const noexcept {
  for (const value_member& m : checked_.get<value::table>())
    if (m.key == key) return m.key_at;
  return {};
}

}  // namespace leat::config
