// SPDX-License-Identifier: BSL-1.0
#include <leat/config/merge.hpp>

#include <algorithm>
#include <filesystem>
#include <string_view>
#include <unordered_map>
#include <utility>

#include <leat/config/keys.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

bool is_id(std::string_view text) {
  return !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' || c == '_';
  });
}

value_member* find_member(value::table& among, std::string_view key) {
  const auto found =
      std::find_if(among.begin(), among.end(), [&](const value_member& m) { return m.key == key; });
  return found == among.end() ? nullptr : &*found;
}

// Puts the members of `from` beside those of `into`. What both have is there twice, unless both are tables.
void join(value& into, const value& from, const std::string& path, findings& found) {
  auto* left = into.get_if<value::table>();
  const auto* right = from.get_if<value::table>();
  if (!left || !right) return;
  for (const value_member& m : *right) {
    value_member* same = find_member(*left, m.key);
    if (!same) {
      left->push_back(m);
    } else if (same->value.kind() == value_kind::table && m.value.kind() == value_kind::table) {
      join(same->value, m.value, path + '.' + m.key, found);
    } else {
      finding& f = found.error("duplicate", m.key_at, "'" + m.key + "' of [" + path + "] is there twice");
      f.notes.push_back({same->key_at, "first here"});
    }
  }
}

// Replaces what `from` has, tables key by key.
void overlay(value& into, const value& from) {
  auto* left = into.get_if<value::table>();
  const auto* right = from.get_if<value::table>();
  if (!left || !right) {
    into = from;
    return;
  }
  for (const value_member& m : *right) {
    if (value_member* same = find_member(*left, m.key)) {
      overlay(same->value, m.value);
      same->key_at = m.key_at;
    } else {
      left->push_back(m);
    }
  }
}

class merger {
 public:
  merger(const source_set& sources, findings& found) : sources_(sources), found_(found) {}

  void file(const parsed_file& f) {
    file_parts parts;
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
    if (!parts.is_service) return;
    name(parts.service, f.file);
    add(std::move(parts.service));
  }

  merged take() {
    apply_overrides();
    return std::move(out_);
  }

 private:
  struct file_parts {
    merged_service service;
    bool is_service = false;
    bool has_version = false;
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
    if (!m.value) return;
    if (m.value.kind() != value_kind::table) {
      found_.error("type", m.value.at(),
                   "'" + m.key + "' must be a table, not " + kind_with_article(m.value.kind()));
      return;
    }
    if (key == "service") {
      parts.is_service = true;
      section(service.service, key, m);
      service.name.at = m.key_at;
    } else if (key == "process" || key == "channel") {
      parts.is_service = true;
      if (!service.name.at.known()) service.name.at = m.key_at;
      members(key, m, key == "process" ? service.processes : service.channels);
    } else if (key == "runtime") {
      section(out_.runtime, key, m);
    } else if (key == "supervisor") {
      section(out_.supervisor, key, m);
    } else {
      section(overrides_, key, m);
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

  void section(value& into, const std::string& key, const value_member& m) {
    if (into)
      join(into, m.value, key, found_);
    else
      into = m.value;
  }

  void members(const std::string& key, const value_member& group, std::vector<value_member>& into) {
    // Two groups of the same kind: the name of one was mistyped.
    const bool second = !into.empty();
    for (const value_member& m : group.value.get<value::table>()) {
      if (const value_member* same = second ? find_member(into, m.key) : nullptr) {
        finding& f = found_.error("duplicate", m.key_at, '[' + key + '.' + m.key + "] is there twice");
        f.notes.push_back({same->key_at, "first here"});
        continue;
      }
      if (!is_id(m.key))
        found_.error("name", m.key_at,
                     "'" + m.key + "' is no name of a " + key + ": letters, digits, - and _");
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
                       "'" + *text + "' is no name of a service: letters, digits, - and _");
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
      finding& f = found_.error("duplicate", s.name.at, "service '" + s.name.text + "' is there twice");
      f.notes.push_back({out_.services[same->second].name.at, "first here"});
      return;
    }
    out_.services.push_back(std::move(s));
  }

  void apply_overrides() {
    const auto* services = overrides_.get_if<value::table>();
    if (!services) return;
    for (const value_member& m : *services) {
      const auto found = by_name_.find(m.key);
      if (found == by_name_.end()) {
        if (services_unread_) continue;
        std::vector<std::string_view> names;
        for (const merged_service& s : out_.services) names.push_back(s.name.text);
        report_unknown("unknown-service", m.key_at, "unknown service '" + m.key + "'", m.key, names, found_);
      } else if (m.value.kind() != value_kind::table) {
        found_.error("type", m.value.at(),
                     "[override." + m.key + "] must be a table, not " + kind_with_article(m.value.kind()));
      } else {
        override_service(out_.services[found->second], m);
      }
    }
  }

  void override_service(merged_service& s, const value_member& m) {
    for (const value_member& part : m.value.get<value::table>()) {
      std::string key = part.key;
      if (key != "process" && key != "channel" && key != "service") {
        key = report_unknown("unknown-key", part.key_at,
                             "unknown key '" + part.key + "' in [override." + m.key + ']', part.key,
                             {"process", "channel", "service"}, found_);
        if (key.empty()) continue;
      }
      if (part.value.kind() != value_kind::table) {
        found_.error("type", part.value.at(),
                     "'" + part.key + "' must be a table, not " + kind_with_article(part.value.kind()));
        continue;
      }
      if (key == "service") {
        override_keys(s, part);
        continue;
      }
      std::vector<value_member>& among = key == "process" ? s.processes : s.channels;
      for (const value_member& one : part.value.get<value::table>()) {
        value_member* target = find_member(among, one.key);
        if (target) {
          if (one.value.kind() == value_kind::table)
            overlay(target->value, one.value);
          else
            found_.error("type", one.value.at(),
                         "'" + one.key + "' must be a table, not " + kind_with_article(one.value.kind()));
          continue;
        }
        std::vector<std::string_view> names;
        names.reserve(among.size());
        for (const value_member& other : among) names.push_back(other.key);
        report_unknown(key == "process" ? "unknown-process" : "unknown-channel", one.key_at,
                       "service '" + s.name.text + "' has no " + key + " '" + one.key + "'", one.key, names,
                       found_);
      }
    }
  }

  void override_keys(merged_service& s, const value_member& part) {
    const value* name = part.value.find("name");
    if (name) {
      found_.error("override", name->at(), "the name of a service cannot be overridden");
      return;
    }
    if (s.service)
      overlay(s.service, part.value);
    else
      s.service = part.value;
  }

  const source_set& sources_;
  findings& found_;
  merged out_;
  value overrides_;
  bool services_unread_ = false;  // a mistyped `services`: nobody knows what it lists
  std::unordered_map<std::string, std::size_t> by_name_;
};

}  // namespace

merged merge(const parsed_files& files, const source_set& sources, findings& found) {
  merger m(sources, found);
  for (const parsed_file& f : files.files) m.file(f);
  return m.take();
}

}  // namespace leat::config
