// SPDX-License-Identifier: BSL-1.0
#include <leat/config/stand_ins.hpp>

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include <leat/config/keys.hpp>
#include <leat/config/overrides.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

value table_of(const std::string& key, source_location at, value inner) {
  value::table one;
  one.push_back(value_member{key, at, std::move(inner)});
  return value(std::move(one), at);
}

// The table without keys that are none of [simulate.NAME]; these have been reported.
value known_keys(const value_member& m, diagnostics& found) {
  const key_section& grammar = section_of("simulate");
  std::vector<std::string_view> names;
  names.reserve(grammar.keys.size());
  for (const key_info& k : grammar.keys) names.push_back(k.type.name);
  value::table out;
  for (const value_member& one : m.value.get<value::table>()) {
    if (grammar.find(one.key)) {
      out.push_back(one);
      continue;
    }
    (void)report_unknown("unknown-key", one.key_at,
                         "unknown key '" + one.key + "' in [simulate." + m.key + ']', one.key, names, found);
  }
  return value(std::move(out), m.value.at());
}

class stand_in_setter {
 public:
  stand_in_setter(merged& to, const catalog& classes, const source_set& sources, bool services_unread,
                  diagnostics& found)
      : to_(to),
        classes_(classes),
        sources_(sources),
        words_{.services_unread = services_unread},
        found_(found) {}

  // `of`: the service of its file; empty: there is none.
  void one(const value_member& m, const std::string& of) {
    if (m.value.kind() != value_kind::table) {
      if (m.value)
        found_.error("type", m.value.at(),
                     "[simulate." + m.key + "] must be a table, not " + kind_with_article(m.value.kind()));
      return;
    }
    const std::size_t slash = m.key.find('/');
    const std::string service = slash == std::string::npos ? of : m.key.substr(0, slash);
    const std::string process = slash == std::string::npos ? m.key : m.key.substr(slash + 1);
    if (service.empty() || process.empty()) {
      found_.error("name", m.key_at,
                   "this file describes no service: write [simulate.\"SERVICE/" +
                       (process.empty() ? "PROCESS" : process) + "\"]");
      return;
    }
    if (!m.value.find("use") && !m.value.find("enabled")) {
      found_.error("missing", m.key_at,
                   "[simulate." + m.key + "] says nothing of what stands in for '" + process +
                       "': write use = \"CLASS\", or enabled = false");
      return;
    }
    apply_overrides(
        to_,
        table_of(service, m.key_at,
                 table_of("process", m.key_at, table_of(process, m.key_at, known_keys(m, found_)))),
        classes_, sources_, words_, found_);
    for (const merged_service& s : to_.services) {
      if (!name_fits(service, s.name.text)) continue;
      for (const value_member& p : s.processes)
        if (name_fits(process, p.key))
          to_.stand_ins.push_back(std::string(s.name.text).append("/").append(p.key));
    }
  }

 private:
  merged& to_;
  const catalog& classes_;
  const source_set& sources_;
  const override_words words_;
  diagnostics& found_;
};

}  // namespace

void apply_stand_ins(merged& to, const catalog& classes, const source_set& sources, bool services_unread,
                     diagnostics& found) {
  stand_in_setter set(to, classes, sources, services_unread, found);
  for (std::size_t i = 0; i < to.services.size(); ++i) {
    const std::string name = to.services[i].name.text;
    for (const value_member& m : to.services[i].stand_ins) set.one(m, name);
  }
  for (const value_member& m : to.other_stand_ins) set.one(m, "");
}

}  // namespace leat::config
