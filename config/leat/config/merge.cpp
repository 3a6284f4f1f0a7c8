// SPDX-License-Identifier: BSL-1.0
#include <leat/config/merge.hpp>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <leat/config/keys.hpp>
#include <leat/config/overrides.hpp>
#include <leat/config/stand_ins.hpp>
#include <leat/config/templates.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

value_member* find_member(value::table& among, std::string_view key) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const value_member& m) { return m.key == key; });
  return found == among.end() ? nullptr : &*found;
}

class merger {
 public:
  merger(const source_set& sources, const catalog& classes, diagnostics& found)
      : sources_(sources), classes_(classes), found_(found) {}

  void file(const parsed_file& f) {
    file_parts parts;
    parts.rank = f.rank;
    const key_section& top = section_of("");
    std::vector<std::string_view> names;
    for (const key_info& k : top.keys) names.push_back(k.type.name);
    // A mistyped name is taken for the one that was probably meant, so that one mistake is one error.
    for (const value_member& m : f.root.get<value::table>()) {
      if (const key_info* k = top.find(m.key)) {
        part(*k, m, parts);
        continue;
      }
      const std::string meant =
          report_unknown("unknown-key", m.key_at, "unknown key '" + m.key + "' at the top of the file", m.key,
                         names, found_);
      if (meant.empty()) continue;
      if (meant == "services") services_unread_ = true;
      if (meant == "plugins") out_.all_classes = false;
      if (!f.root.find(meant) || m.value.kind() == value_kind::table) part(*top.find(meant), m, parts);
    }
    if (!parts.has_version)
      found_.error("version", {f.file, 1, 1, 1},
                   "'leat = " + std::to_string(grammar_version) + "' is missing: the version of the grammar");
    if (!parts.is_service) {
      std::move(parts.service.stand_ins.begin(), parts.service.stand_ins.end(),
                std::back_inserter(out_.other_stand_ins));
      return;
    }
    name(parts.service, f.file);
    add(std::move(parts.service));
  }

  merged take(const set_values& sets, bool simulated) {
    std::stable_sort(shared_.begin(), shared_.end(),
                     [](const shared_part& a, const shared_part& b) { return a.rank < b.rank; });
    for (const shared_part& p : shared_) section(p.key, p.table);
    for (const shared_part& p : shared_)
      if (p.key == "override")
        apply_overrides(out_, p.table, classes_, sources_, {.services_unread = services_unread_}, found_);
    if (simulated) apply_stand_ins(out_, classes_, sources_, services_unread_, found_);
    section("runtime", sets.runtime);
    section("supervisor", sets.supervisor);
    section("control", sets.control);
    apply_overrides(out_, sets.overrides, classes_, sources_,
                    {.services_unread = services_unread_, .by_argument = true}, found_);
    return std::move(out_);
  }

 private:
  struct file_parts {
    merged_service service;
    bool is_service = false;
    bool has_version = false;
    std::size_t rank = 0;
  };

  // What is said of the deployment, in the order in which it counts.
  struct shared_part {
    std::size_t rank;
    std::string key;
    value table;
  };

  void part(const key_info& k, const value_member& m, file_parts& parts) {
    const std::string& key = k.type.name;
    merged_service& service = parts.service;
    if (key == "leat") {
      parts.has_version = true;
      version(k.type, m.value);
      return;
    }
    if (k.shape == key_shape::setting) {
      (void)check_value(k.type, m.value, "'" + m.key + "'", found_);
      return;
    }
    // They have been looked at before.
    if (k.shape == key_shape::services || k.shape == key_shape::uses || key == "template") return;
    if (!m.value) return;
    if (m.value.kind() != value_kind::table) {
      found_.error("type", m.value.at(),
                   "'" + m.key + "' must be a table, not " + kind_with_article(m.value.kind()));
      return;
    }
    if (key == "service") {
      parts.is_service = true;
      if (service.service)
        overlay(service.service, m.value);
      else
        service.service = m.value;
      service.name.at = m.key_at;
    } else if (key == "process" || key == "channel") {
      parts.is_service = true;
      if (!service.name.at.known()) service.name.at = m.key_at;
      members(key, m, key == "process" ? service.processes : service.channels);
    } else if (key == "simulate") {
      for (const value_member& one : m.value.get<value::table>()) service.stand_ins.push_back(one);
    } else {
      shared_.push_back(shared_part{parts.rank, key, m.value});
    }
  }

  void version(const setting_schema& wanted, const value& v) {
    const auto* number = v.get_if<std::int64_t>();
    if (number && *number != grammar_version)
      found_.error("version", v.at(),
                   "grammar " + std::to_string(*number) + " is unknown; this program reads grammar " +
                       std::to_string(grammar_version));
    else
      (void)check_value(wanted, v, "'leat'", found_);
  }

  // A later one replaces keys of an earlier one.
  void section(std::string_view key, const value& table) {
    value* into = key == "runtime"      ? &out_.runtime
                  : key == "supervisor" ? &out_.supervisor
                  : key == "control"    ? &out_.control
                                        : nullptr;
    if (!into || !table) return;
    if (*into)
      overlay(*into, table, '[' + std::string(key) + ']', &found_);
    else
      *into = table;
  }

  void members(const std::string& key, const value_member& group, std::vector<value_member>& into) {
    // Two groups of the same kind: the name of one was mistyped.
    const bool second = !into.empty();
    for (const value_member& m : group.value.get<value::table>()) {
      if (const value_member* same = second ? find_member(into, m.key) : nullptr) {
        diagnostic& f = found_.error("duplicate", m.key_at, '[' + key + '.' + m.key + "] is there twice");
        f.notes.push_back({same->key_at, "first here"});
        continue;
      }
      if (!is_id(m.key))
        found_.error("name", m.key_at,
                     "'" + m.key + "' is not a name for a " + key + ": letters, digits, - and _");
      if (m.value.kind() == value_kind::table)
        into.push_back(m);
      else if (m.value)
        found_.error("type", m.value.at(),
                     '[' + key + '.' + m.key + "] must be a table, not " + kind_with_article(m.value.kind()));
    }
  }

  void name(merged_service& s, std::uint32_t file) {
    const value* given = s.service ? s.service.find("name") : nullptr;
    if (given) {
      s.name.at = given->at();
      // Another kind is reported with the other keys of [service].
      if (const auto* text = given->get_if<std::string>()) {
        s.name.text = *text;
        if (!is_id(*text))
          found_.error("name", given->at(),
                       "'" + *text + "' is not a name for a service: letters, digits, - and _");
      }
      return;
    }
    s.name.text = std::filesystem::path(sources_[file].name()).stem().string();
    if (!is_id(s.name.text))
      found_.error(
          "name", s.name.at,
          "the service has no name, and that of its file is none: write name = \"...\" in [service]");
  }

  void add(merged_service s) {
    const auto [same, fresh] = by_name_.emplace(s.name.text, out_.services.size());
    if (!fresh && !s.name.text.empty()) {
      diagnostic& f = found_.error("duplicate", s.name.at, "service '" + s.name.text + "' is there twice");
      f.notes.push_back({out_.services[same->second].name.at, "first here"});
      return;
    }
    out_.services.push_back(std::move(s));
  }

  const source_set& sources_;
  const catalog& classes_;
  diagnostics& found_;
  merged out_;
  std::vector<shared_part> shared_;
  bool services_unread_ = false;  // a mistyped `services`: nobody knows what it lists
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace

merged merge(const parsed_files& files, const set_values& sets, bool simulated, const source_set& sources,
             const catalog& classes, diagnostics& found) {
  merger m(sources, classes, found);
  for (const parsed_file& f : files.files) m.file(f);
  return m.take(sets, simulated);
}

}  // namespace leat::config
