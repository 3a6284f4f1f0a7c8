// SPDX-License-Identifier: BSL-1.0
#include <leat/config/service_list.hpp>

#include <algorithm>
#include <filesystem>
#include <utility>

#include <leat/config/parameters.hpp>
#include <leat/config/table_members.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

// The name and the parameters of a use are none of their own.
std::optional<listed_service> read_use(const value& v, const std::string& what, diagnostics& found) {
  listed_service out{{}, v.at(), service_use{v.at()}};
  const setting_schema text{.kind = value_kind::text};
  bool has_file = false;
  for (const value_member& m : v.get<value::table>()) {
    if (m.key == "file") {
      has_file = true;
      const value file = check_value(text, m.value, "'file' of " + what, found);
      if (!file) return std::nullopt;
      out.file = file.get<std::string>();
      out.at = m.value.at();
    } else if (m.key == "name") {
      value name = check_value(text, m.value, "'name' of " + what, found);
      if (name) out.use->name = std::move(name);
    } else if (m.key == "with") {
      if (m.value.kind() == value_kind::table)
        out.use->with = m.value;
      else if (m.value)
        found.error("type", m.value.at(),
                    "'with' of " + what + " must be a table, not " + kind_with_article(m.value.kind()));
    } else {
      has_file = report_unknown("unknown-key", m.key_at, "unknown key '" + m.key + "' of " + what, m.key,
                                {"file", "name", "with"}, found) == "file" ||
                 has_file;
    }
  }
  if (!out.file.empty()) return out;
  if (!has_file) found.error("missing", v.at(), "the key 'file' of " + what + " is missing");
  return std::nullopt;
}

}  // namespace

std::vector<listed_service> read_service_list(const value& list, bool& complete, diagnostics& found) {
  std::vector<listed_service> out;
  if (!list) return out;
  const auto* elements = list.get_if<value::list>();
  if (!elements) {
    complete = false;
    const bool single = list.kind() == value_kind::table;
    found.error("type", list.at(),
                "'services' must be a list, not " + kind_with_article(list.kind()) +
                    (single ? ": write [[services]]" : ""));
    return out;
  }
  std::size_t number = 0;
  for (const value& v : *elements) {
    const std::string what = "element " + std::to_string(++number) + " of 'services'";
    std::optional<listed_service> one;
    if (const auto* text = v.get_if<std::string>())
      one = listed_service{*text, v.at()};
    else if (v.kind() == value_kind::table)
      one = read_use(v, what, found);
    else if (v)
      found.error("type", v.at(), what + " must be text or a table, not " + kind_with_article(v.kind()));
    complete = complete && one.has_value();
    if (one) out.push_back(std::move(*one));
  }
  return out;
}

std::vector<argument> take_arguments(value& root, const service_use* use, source_location asked_at,
                                     const std::string& file_name, const environment_fn& environment,
                                     diagnostics& found) {
  auto& members = *root.get_if<value::table>();
  value_member* service = member_of(root, "service");
  if (use && use->name && !service) {
    members.push_back(value_member{"service", use->name->at(), value(value::table(), use->name->at())});
    service = &members.back();
  }
  std::string name = std::filesystem::path(file_name).stem().string();
  value declared;
  auto* keys = service ? service->value.get_if<value::table>() : nullptr;
  if (keys) {
    if (use && use->name) {
      if (value_member* own = member_of(service->value, "name"))
        *own = value_member{"name", use->name->at(), *use->name};
      else
        keys->push_back(value_member{"name", use->name->at(), *use->name});
    }
    // What is wrong with it is reported with the other keys.
    diagnostics unheard;
    if (const value* given = service->value.find("name"))
      if (const value text = expand(*given, {environment}, unheard); text.kind() == value_kind::text)
        name = text.get<std::string>();
    const auto param =
        std::find_if(keys->begin(), keys->end(), [](const value_member& m) { return m.key == "param"; });
    if (param != keys->end()) {
      declared = expand(param->value, {environment}, found);
      keys->erase(param);
    }
  }
  if (!declared && (!use || !use->with)) return {};
  const std::string of = "service '" + name + "'";
  std::vector<given_table> given;
  if (use && use->with) given.push_back({&use->with.get<value::table>()});
  const source_location used_at = use ? use->at : asked_at;
  return bind(
      read_parameters(declared, of, found), given,
      {of, name, used_at, use ? "" : "; a deployment gives it: services = [{ file = ..., with = { ... } }]"},
      found);
}

}  // namespace leat::config
