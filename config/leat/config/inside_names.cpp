// SPDX-License-Identifier: BSL-1.0
#include <leat/config/inside_names.hpp>

#include <utility>

namespace leat::config {

namespace {

template <class Change>
value with_members(const value& table, const Change& change) {
  const auto* members = table.get_if<value::table>();
  if (!members) return table;
  value::table out;
  out.reserve(members->size());
  for (const value_member& m : *members) out.push_back(value_member{m.key, m.key_at, change(m)});
  return value(std::move(out), table.at());
}

value renamed(const value& v, const inside_names& names) {
  const auto* text = v.get_if<std::string>();
  if (!text || text->find("${") != std::string::npos) return v;
  const std::size_t dot = text->find('.');
  const bool inside = dot == std::string::npos ? names.channels.count(*text) != 0
                                               : names.processes.count(text->substr(0, dot)) != 0;
  return inside ? value(names.prefix + *text, v.at()) : v;
}

// A channel, a list of them, or a table of either.
value renamed_ports(const value& v, const inside_names& names) {
  if (v.kind() == value_kind::table)
    return with_members(v, [&](const value_member& m) { return renamed_ports(m.value, names); });
  const auto* list = v.get_if<value::list>();
  if (!list) return renamed(v, names);
  value::list out;
  for (const value& e : *list) out.push_back(renamed(e, names));
  return value(std::move(out), v.at());
}

}  // namespace

value rename_process(const value& table, const inside_names& names) {
  return with_members(table, [&](const value_member& m) {
    if (m.key == "in" || m.key == "out") return renamed_ports(m.value, names);
    if (m.key == "dead_letter") return renamed(m.value, names);
    return m.value;
  });
}

value rename_channel(const value& table, const inside_names& names) {
  return with_members(table, [&](const value_member& m) {
    const auto* readers = m.key == "reader" ? m.value.get_if<value::table>() : nullptr;
    if (!readers) return m.value;
    value::table out = *readers;
    for (value_member& r : out)
      if (names.processes.count(r.key) != 0) r.key = names.prefix + r.key;
    return value(std::move(out), m.value.at());
  });
}

}  // namespace leat::config
