// SPDX-License-Identifier: BSL-1.0
#include <leat/config/overrides.hpp>

#include <algorithm>
#include <set>
#include <utility>

#include <leat/config/inside_names.hpp>
#include <leat/config/swap_class.hpp>
#include <leat/config/table_members.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

bool is_pattern(std::string_view name) { return name.find('*') != std::string_view::npos; }

class overrider {
 public:
  overrider(merged& to, const catalog& classes, const source_set& sources, const override_words& words,
            diagnostics& found)
      : to_(to), classes_(classes), sources_(sources), words_(words), found_(found) {}

  void service(const value_member& m) {
    std::vector<merged_service*> among;
    for (merged_service& s : to_.services)
      if (name_fits(m.key, s.name.text)) among.push_back(&s);
    if (among.empty()) return unknown_service(m);
    if (m.value.kind() != value_kind::table) {
      if (m.value)
        found_.error("type", m.value.at(),
                     "[override." + m.key + "] must be a table, not " + kind_with_article(m.value.kind()));
      return;
    }
    for (const value_member& part : m.value.get<value::table>()) {
      std::string key = part.key;
      if (key != "process" && key != "channel" && key != "service") {
        const std::string where =
            words_.by_argument ? "of service '" + m.key + "'" : "in [override." + m.key + ']';
        key = report_unknown("unknown-key", part.key_at, "unknown key '" + part.key + "' " + where, part.key,
                             {"process", "channel", "service"}, found_);
        if (key.empty()) continue;
      }
      if (part.value.kind() != value_kind::table) {
        if (part.value)
          found_.error("type", part.value.at(),
                       "'" + part.key + "' must be a table, not " + kind_with_article(part.value.kind()));
        continue;
      }
      if (key == "service") {
        keys_of_service(among, part);
        continue;
      }
      for (const value_member& one : part.value.get<value::table>()) members(among, key, one);
    }
  }

 private:
  struct target {
    merged_service* service;
    value_member* member;
  };

  void unknown_service(const value_member& m) {
    if (words_.services_unread) return;
    if (is_pattern(m.key)) {
      found_.error("unknown-service", m.key_at, "there is no service that fits '" + m.key + "'");
      return;
    }
    std::vector<std::string_view> names;
    for (const merged_service& s : to_.services) names.push_back(s.name.text);
    if (words_.by_argument)
      for (const char* section : {"runtime", "supervisor", "control"}) names.push_back(section);
    report_unknown("unknown-service", m.key_at, "unknown service '" + m.key + "'", m.key, names, found_);
  }

  void members(const std::vector<merged_service*>& among, const std::string& key, const value_member& one) {
    std::vector<target> targets;
    std::vector<std::string_view> names;
    for (merged_service* s : among)
      for (value_member& m : key == "process" ? s->processes : s->channels) {
        names.push_back(m.key);
        if (name_fits(one.key, m.key)) targets.push_back({s, &m});
      }
    const std::string whose = among.size() == 1 ? "service '" + among.front()->name.text + "' has no " + key
                                                : "no service has a " + key;
    if (targets.empty()) {
      if (is_pattern(one.key))
        found_.error(key == "process" ? "unknown-process" : "unknown-channel", one.key_at,
                     whose + " that fits '" + one.key + "'");
      else
        report_unknown(key == "process" ? "unknown-process" : "unknown-channel", one.key_at,
                       whose + " '" + one.key + "'", one.key, names, found_);
      return;
    }
    if (one.value.kind() != value_kind::table) {
      if (one.value)
        found_.error("type", one.value.at(),
                     "'" + one.key + "' must be a table, not " + kind_with_article(one.value.kind()));
      return;
    }
    std::vector<value*> tables;
    tables.reserve(targets.size());
    for (const target& t : targets) tables.push_back(&t.member->value);
    const value written = take_unset(one.value, tables, '[' + key + '.' + one.key + ']');
    for (const target& t : targets) {
      const value changes = seen_inside(t, key, written);
      if (key == "process") swap_class(*t.service, *t.member, changes, classes_, found_);
      overlay(t.member->value, changes, '[' + key + '.' + t.member->key + ']', &found_);
    }
  }

  // The names in it as the use calls them which made the process or channel.
  value seen_inside(const target& t, const std::string& key, const value& changes) const {
    const source_set::use* const use = sources_.use_of(t.member->key_at.file);
    if (!use || use->prefix.empty()) return changes;
    inside_names names{use->prefix};
    const auto declare = [&](const std::vector<value_member>& from, std::set<std::string, std::less<>>& to) {
      for (const value_member& m : from)
        if (m.key.starts_with(names.prefix)) to.insert(m.key.substr(names.prefix.size()));
    };
    declare(t.service->processes, names.processes);
    declare(t.service->channels, names.channels);
    return key == "process" ? rename_process(changes, names) : rename_channel(changes, names);
  }

  void keys_of_service(const std::vector<merged_service*>& among, const value_member& part) {
    if (const value* name = part.value.find("name")) {
      found_.error("override", name->at(), "the name of a service cannot be overridden");
      return;
    }
    if (const value* param = part.value.find("param")) {
      found_.error(
          "override", param->at(),
          "parameters of a service cannot be overridden; a deployment gives them: services = [{ file = ..., "
          "with = { ... } }]");
      return;
    }
    std::vector<value*> tables;
    tables.reserve(among.size());
    for (merged_service* s : among) tables.push_back(&s->service);
    const value changes = take_unset(part.value, tables, "[service]");
    for (value* table : tables) {
      if (*table)
        overlay(*table, changes, "[service]", &found_);
      else
        *table = changes;
    }
  }

  // The override without `unset`, which is done.
  value take_unset(const value& override_table, const std::vector<value*>& tables,
                   const std::string& heading) {
    value out = override_table;
    const value* unset = override_table.find("unset");
    if (!unset) return out;
    (void)erase_member(out, "unset");
    const auto* list = unset->get_if<value::list>();
    if (!list) {
      if (*unset)
        found_.error("type", unset->at(),
                     "'unset' must be a list of keys, not " + kind_with_article(unset->kind()));
      return out;
    }
    for (const value& v : *list) {
      const auto* path = v.get_if<std::string>();
      if (!path) {
        if (v)
          found_.error("type", v.at(), "a key to unset must be text, not " + kind_with_article(v.kind()));
        continue;
      }
      bool any = false;
      for (value* table : tables) any = erase(*table, *path) || any;
      if (!any) not_there(*path, v.at(), tables, heading);
    }
    return out;
  }

  // "config.window"
  static bool erase(value& table, std::string_view path) {
    if (erase_member(table, path)) return true;
    const std::size_t dot = path.find('.');
    if (dot == std::string_view::npos) return false;
    value_member* m = member_of(table, path.substr(0, dot));
    return m && erase(m->value, path.substr(dot + 1));
  }

  static void paths_of(const value& table, const std::string& before, std::vector<std::string>& out) {
    const auto* members = table.get_if<value::table>();
    if (!members) return;
    for (const value_member& m : *members) {
      out.push_back(before + m.key);
      paths_of(m.value, before + m.key + '.', out);
    }
  }

  void not_there(const std::string& path, source_location at, const std::vector<value*>& tables,
                 const std::string& heading) {
    std::vector<std::string> there;
    for (const value* table : tables) paths_of(*table, "", there);
    report_unknown("unset", at, "there is no '" + path + "' in " + heading + " to unset", path,
                   {there.begin(), there.end()}, found_);
  }

  merged& to_;
  const catalog& classes_;
  const source_set& sources_;
  const override_words& words_;
  diagnostics& found_;
};

}  // namespace

bool name_fits(std::string_view pattern, std::string_view name) {
  std::size_t p = 0, n = 0, star = std::string_view::npos, from = 0;
  while (n < name.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = n;
    } else if (p < pattern.size() && pattern[p] == name[n]) {
      ++p;
      ++n;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      n = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

void overlay(value& into, const value& from, const std::string& path, diagnostics* found) {
  auto* left = into.get_if<value::table>();
  const auto* right = from.get_if<value::table>();
  if (!left || !right) {
    into = from;
    return;
  }
  for (const value_member& m : *right) {
    value_member* same = member_of(into, m.key);
    if (!same) {
      left->push_back(m);
      continue;
    }
    const bool tables = same->value.kind() == value_kind::table && m.value.kind() == value_kind::table;
    if (found && !tables && !(same->value == m.value) && same->key_at.known()) {
      diagnostic& r = found->remark("replaced", m.key_at, "'" + m.key + "' of " + path + " is replaced");
      r.label = "this counts";
      r.notes.push_back({same->key_at, "and not this"});
    }
    // [process.filter], then [process.filter] config
    overlay(same->value, m.value, path + ' ' + m.key, found);
    same->key_at = m.key_at;
  }
}

void apply_overrides(merged& to, const value& overrides, const catalog& classes, const source_set& sources,
                     const override_words& words, diagnostics& found) {
  const auto* services = overrides.get_if<value::table>();
  if (!services) return;
  overrider o(to, classes, sources, words, found);
  for (const value_member& m : *services) o.service(m);
}

}  // namespace leat::config
