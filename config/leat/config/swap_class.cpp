// SPDX-License-Identifier: BSL-1.0
#include <leat/config/swap_class.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include <leat/config/table_members.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

// The class under that name, or that is probably meant.
const class_schema* probable_class(const std::string& name, const catalog& classes,
                                   const diagnostics& found) {
  if (const class_schema* c = classes.find_class(name)) return c;
  std::vector<std::string_view> names;
  for (const class_schema* c : classes.classes()) names.push_back(c->name);
  return classes.find_class(nearest_while_few(name, names, found));
}

class port_dropper {
 public:
  port_dropper(merged_service& service, const value_member& process, const class_schema& type,
               source_location at)
      : service_(service), process_(process), type_(type), at_(at) {}

  // `before`: of a port in a table, as inbox.reading.
  void run(value& ports, const std::string& before, port_direction direction) {
    auto* members = ports.get_if<value::table>();
    if (!members) return;
    for (std::size_t i = 0; i < members->size();) {
      value_member& m = (*members)[i];
      const std::string name = before + m.key;
      bool kept = has(name, direction);
      if (m.value.kind() == value_kind::table) {
        run(m.value, name + '.', direction);
        kept = !m.value.get<value::table>().empty();
      } else if (!kept) {
        lose(m.value, name, direction);
      }
      if (kept)
        ++i;
      else
        members->erase(members->begin() + static_cast<std::ptrdiff_t>(i));
    }
  }

 private:
  bool has(std::string_view name, port_direction direction) const {
    return std::any_of(type_.ports.begin(), type_.ports.end(),
                       [&](const port_schema& p) { return p.name == name && p.direction == direction; });
  }

  void lose(const value& channels, const std::string& port, port_direction direction) {
    if (const auto* list = channels.get_if<value::list>())
      for (const value& v : *list) lose(v, port, direction);
    if (const auto* channel = channels.get_if<std::string>())
      service_.lost.push_back({process_.key, *channel, direction, at_,
                               "'" + process_.key + "' is '" + type_.name + "' by this, which has no " +
                                   to_string(direction) + " port '" + port + "'"});
  }

  merged_service& service_;
  const value_member& process_;
  const class_schema& type_;
  source_location at_;
};

}  // namespace

void swap_class(merged_service& service, value_member& process, const value& changes, const catalog& classes,
                const diagnostics& found) {
  value& table = process.value;
  const value* now = table.find("use");
  const value* then = changes.find("use");
  const auto* old_name = now ? now->get_if<std::string>() : nullptr;
  const auto* new_name = then ? then->get_if<std::string>() : nullptr;
  if (!old_name || !new_name || *old_name == *new_name) return;
  (void)erase_member(table, "config");
  const class_schema* type = probable_class(*new_name, classes, found);
  if (!type) return;  // nobody knows its ports
  port_dropper drop(service, process, *type, then->at());
  for (const port_direction direction : {port_direction::in, port_direction::out})
    if (value_member* ports = member_of(table, to_string(direction))) drop.run(ports->value, "", direction);
  for (const char* key : {"map", "delivery"}) {
    value_member* by_port = member_of(table, key);
    auto* members = by_port ? by_port->value.get_if<value::table>() : nullptr;
    if (!members) continue;
    members->erase(std::remove_if(members->begin(), members->end(),
                                  [&](const value_member& m) {
                                    return std::none_of(
                                        type->ports.begin(), type->ports.end(),
                                        [&](const port_schema& p) { return p.name == m.key; });
                                  }),
                   members->end());
  }
}

}  // namespace leat::config
