// SPDX-License-Identifier: BSL-1.0
#include <leat/services/set_settings.hpp>

#include <algorithm>
#include <exception>
#include <utility>

#include <leat/config/values.hpp>

namespace leat::services {
namespace {

bool contains(const value& all, const value* part) {
  if (&all == part) return true;
  if (const auto* const list = all.get_if<value::list>())
    return std::any_of(list->begin(), list->end(), [&](const value& v) { return contains(v, part); });
  if (const auto* const table = all.get_if<value::table>())
    return std::any_of(table->begin(), table->end(),
                       [&](const value_member& m) { return contains(m.value, part); });
  return false;
}

// The checked value; none: what is wrong is in `errors`.
value check_one(const class_schema& of, const value_member& m, std::vector<setting_error>& errors) {
  config::diagnostics found;
  const std::string what = "'" + m.key + "'";
  value checked;
  if (const setting_schema* const s = find_setting(of.settings, m.key)) {
    checked = config::check_value(*s, m.value, what, found);
    if (!m.value) found.error("type", m.value.at(), what + " must be given a value");
  } else {
    std::vector<std::string_view> names;
    for (const setting_schema& known : of.settings) names.push_back(known.name);
    (void)config::report_unknown("unknown-setting", m.key_at,
                                 "unknown setting " + what + " of '" + of.name + "'", m.key, names, found);
  }
  for (const config::diagnostic& d : found.all())
    if (d.severity == config::severity::error) errors.push_back({m.key, d.text, d.at});
  return checked;
}

void ask_about_all(const class_schema& of, const value& all, std::vector<setting_error>& errors) {
  for (const value_validator validate : of.validators) {
    try {
      for (const setting_diagnostic& d : validate(all)) {
        setting_error f{{}, "'" + of.name + "': " + d.why, {}};
        for (const value_member& m : all.get<value::table>())
          if (d.part && contains(m.value, d.part)) f.key = m.key;
        if (d.part) f.at = d.part->at();
        errors.push_back(std::move(f));
      }
    } catch (const std::exception& e) {
      errors.push_back({{}, "'" + of.name + "' cannot be validated: " + e.what(), {}});
    }
  }
}

}  // namespace

set_outcome set_settings(const class_schema& of, const value& planned, setting_store& store,
                         const value& changes, not_live others) {
  set_outcome out;
  const auto* const members = changes.get_if<value::table>();
  if (!members || members->empty()) {
    out.errors.push_back({{}, "no setting is given: name each with its value", changes.at()});
    return out;
  }
  value::table checked;
  for (const value_member& m : *members) {
    value v = check_one(of, m, out.errors);
    if (!v) continue;
    const setting_schema* const s = find_setting(of.settings, m.key);
    if (!s->live) out.not_live.push_back(m.key);
    checked.push_back({m.key, m.key_at, std::move(v)});
  }
  const value wanted(std::move(checked));
  const bool refused = others == not_live::refuse && !out.not_live.empty();
  std::shared_ptr<const value> before;
  std::string wrong;
  if (!out.errors.empty()) return out;
  do {
    before = store.all_set();
    ask_about_all(of, settings_with(settings_with(planned, before.get()), &wanted), out.errors);
    if (!out.errors.empty() || refused) return out;
  } while (!store.set_since(before, wanted, wrong));
  if (!wrong.empty()) {
    out.errors.push_back({{}, std::move(wrong), {}});
    return out;
  }
  for (const value_member& m : *members) out.set.push_back(m.key);
  return out;
}

}  // namespace leat::services
