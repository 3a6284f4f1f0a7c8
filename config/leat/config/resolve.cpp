// SPDX-License-Identifier: BSL-1.0
#include <leat/config/resolve.hpp>

#include <map>
#include <utility>

#include <leat/config/values.hpp>

namespace leat::config {

namespace {

restart_plan effective_restart(const restart_builder& own, const restart_builder& general) {
  restart_plan out;
  const auto choose = [](auto& to, const auto& first, const auto& second) {
    if (first)
      to = *first;
    else if (second)
      to = *second;
  };
  choose(out.when, own.when, general.when);
  choose(out.strategy, own.strategy, general.strategy);
  choose(out.burst, own.burst, general.burst);
  choose(out.window, own.window, general.window);
  choose(out.backoff, own.backoff, general.backoff);
  choose(out.longest_backoff, own.longest_backoff, general.longest_backoff);
  return out;
}

const class_schema* resolve_class(draft& d, const process_builder& from) {
  if (from.use.text.empty() && !from.use.at.known()) return nullptr;
  const class_schema* type = d.classes.find_class(from.use.text);
  if (type || !d.from.all_classes) return type;
  const std::vector<const class_schema*> all = d.classes.classes();
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const class_schema* c : all) names.push_back(c->name);
  // One that was probably meant is taken for it, so that what else is wrong with the process is found as
  // well.
  const std::string near =
      report_unknown("unknown-class", from.use.at, "unknown process class '" + from.use.text + "'",
                     from.use.text, names, d.found);
  return d.classes.find_class(near);
}

// The words of a delivery apply to in ports: all, or the one it names.
void resolve_deliveries(draft& d, const process_builder& from, process_plan& p) {
  bool any = false;
  for (const delivery_builder& how : from.deliveries) {
    any = any || how.how == delivery::at_least_once;
    if (!p.type) continue;
    bool known = how.port.text.empty();
    std::vector<std::string_view> names;
    for (port_plan& port : p.ports) {
      if (port.schema->direction != port_direction::in) continue;
      names.push_back(port.schema->name);
      if (!how.port.text.empty() && port.schema->name != how.port.text) continue;
      port.delivery = how.how;
      known = true;
    }
    if (!known)
      report_unknown("unknown-port", how.port.at,
                     "unknown in port '" + how.port.text + "' of '" + p.type->name + "'", how.port.text,
                     names, d.found);
  }
  if (any) return;
  if (from.dead_letter)
    d.found.error("delivery", from.dead_letter->at, "'dead_letter' needs delivery = \"at-least-once\"");
  if (from.attempts_at.known())
    d.found.warning("delivery", from.attempts_at,
                    "'attempts' means nothing without delivery = \"at-least-once\"");
}

void resolve_maps(draft& d, const process_builder& from, process_plan& p) {
  if (!p.type) return;
  std::map<std::string_view, port_plan*> by_name;
  std::vector<std::string_view> names;
  for (port_plan& port : p.ports) {
    by_name[port.schema->name] = &port;
    if (port.schema->converts) names.push_back(port.schema->name);
  }
  std::map<std::pair<const port_plan*, std::string_view>, place> mapped;
  for (const map_builder& m : from.maps) {
    const auto known = by_name.find(m.port.text);
    port_plan* const port = known == by_name.end() ? nullptr : known->second;
    if (!port) {
      report_unknown("unknown-port", m.port.at,
                     "unknown port '" + m.port.text + "' of '" + p.type->name + "'", m.port.text, names,
                     d.found);
      continue;
    }
    if (!port->schema->converts) {
      d.found.error("map", m.port.at,
                    "port '" + m.port.text + "' of '" + p.type->name + "' is for '" + port->schema->message +
                        "', not for records: there is nothing to map");
      continue;
    }
    for (const map_builder::rename& f : m.fields) {
      const auto [same, first] = mapped.try_emplace({port, f.there.text}, f.there.at);
      if (!first) {
        finding& e =
            d.found.error("map", f.there.at, "field '" + f.there.text + "' is mapped twice at this port");
        e.notes.push_back({same->second, "here already"});
        continue;
      }
      port->names.push_back({f.here.text, f.there.text, f.here.at, f.there.at});
    }
  }
}

process_plan resolve_process(draft& d, const process_builder& from, index service) {
  process_plan p{from.id.text, service, from.id.at};
  p.type = resolve_class(d, from);
  if (p.type) {
    const place missing_at = from.config_at.known() ? from.config_at : from.use.at;
    const std::size_t errors = d.found.errors();
    p.settings = check_table(p.type->settings, from.config,
                             {"setting", "of '" + p.type->name + "'", missing_at}, d.found);
    if (d.found.errors() == errors)
      for (const value_judge judge : p.type->judges)
        (void)ask_judge(judge, p.settings, missing_at, "'" + p.type->name + "'", d.found);
    d.good_settings.back() = d.found.errors() == errors;
    p.ports.reserve(p.type->ports.size());
    for (const port_schema& s : p.type->ports) p.ports.push_back({&s});
  }
  p.replicas = from.replicas;
  p.stack = from.stack.value_or(d.from.runtime.stack);
  p.thread = from.thread;
  p.hang = from.hang.value_or(d.from.hang);
  p.grace = from.grace.value_or(d.from.grace);
  p.watchdog = from.watchdog ? from.watchdog : d.from.watchdog;
  p.critical = from.critical;
  p.restart = effective_restart(from.restart, d.from.restart);
  p.attempts = from.attempts;
  resolve_deliveries(d, from, p);
  resolve_maps(d, from, p);
  return p;
}

}  // namespace

void resolve_processes(draft& d) {
  for (const service_builder& from : d.from.services) {
    const auto service = static_cast<index>(d.out.services.size());
    service_plan s{from.name.text, from.name.at, from.drain};
    if (from.processes.empty())
      d.found.error("empty", from.name.at, "service '" + from.name.text + "' has no process");
    for (const process_builder& p : from.processes) {
      s.processes.push_back(static_cast<index>(d.out.processes.size()));
      d.good_settings.push_back(false);
      d.out.processes.push_back(resolve_process(d, p, service));
      d.process_sources.push_back(&p);
      d.excused.emplace_back(d.out.processes.back().ports.size());
    }
    d.out.services.push_back(std::move(s));
  }
}

std::optional<plan> resolve(const builder& from, const catalog& classes, findings& found) {
  draft d{from, classes, found};
  d.out.runtime = from.runtime;
  d.out.supervisor = from.supervisor;
  resolve_processes(d);
  // Names may be those of a file that could not be read.
  if (from.complete) {
    resolve_channels(d);
    check_channels(d);
    check_fields(d);
    check_topology(d);
  }
  if (!from.complete || found.errors() > 0) return std::nullopt;
  return std::move(d.out);
}

}  // namespace leat::config
