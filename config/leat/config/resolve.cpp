// SPDX-License-Identifier: BSL-1.0
#include <leat/config/resolve.hpp>

#include <algorithm>
#include <map>
#include <optional>
#include <utility>

#include <leat/config/values.hpp>

namespace leat::config {

namespace {

restart_policy effective_restart(const restart_builder& own, const restart_builder& general) {
  restart_policy out;
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

// Of what a file says of all processes and what the class asks for, the longer one: a file can give everybody
// more time, but must name the process that is to have less than it needs.
nanoseconds longer(nanoseconds general, bool given, std::optional<nanoseconds> asked) {
  if (!asked) return general;
  return given ? std::max(general, *asked) : *asked;
}

void resolve_limits(const draft& d, const process_builder& from, process_plan& p) {
  process_limits asked;
  // Settings that are wrong are no settings to be asked about.
  if (p.type && p.type->limits_by) {
    if (d.good_settings.back()) asked = p.type->limits_by(p.settings);
  } else if (p.type) {
    asked = p.type->limits;
  }
  p.hang = from.hang.value_or(longer(d.from.hang, d.from.hang_given, asked.hang));
  p.grace = from.grace.value_or(longer(d.from.grace, d.from.grace_given, asked.grace));
  p.watchdog = from.watchdog     ? from.watchdog
               : d.from.watchdog ? longer(*d.from.watchdog, true, asked.watchdog)
                                 : std::optional<nanoseconds>(asked.watchdog);
}

const class_schema* resolve_class(draft& d, const process_builder& from) {
  if (from.use.text.empty() && !from.use.at.known()) return nullptr;
  const class_schema* type = d.classes.find_class(from.use.text);
  if (type || !d.from.all_classes) return type;
  const std::string unknown = "unknown process class '" + from.use.text + "'";
  // Exactly this one elsewhere is more than one with a name like it here.
  if (const std::string where = d.from.where_is ? d.from.where_is(from.use.text) : ""; !where.empty()) {
    d.found.error("unknown-class", from.use.at, unknown + "; " + where);
    return nullptr;
  }
  const std::vector<const class_schema*> all = d.classes.classes();
  std::vector<std::string_view> names;
  names.reserve(all.size());
  for (const class_schema* c : all) names.push_back(c->name);
  // One that was probably meant is taken for it, so that what else is wrong with the process is found as
  // well.
  const std::string near = report_unknown(
      "unknown-class", from.use.at, unknown, from.use.text, names, d.found,
      "; a class of this program needs LEAT_PROCESS in a file that is linked into it, the ready-made ones "
      "leat::stock::use() in main(), and those of a shared object `plugins = [...]`");
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
      const port_schema& s = *port.schema;
      if (how.how == delivery::at_least_once && (!s.copyable || !s.reply.empty()))
        d.found.error("delivery", how.port.at,
                      "port '" + s.name + "' takes " +
                          (s.reply.empty() ? "'" + s.message + "'" : "requests") +
                          ", which cannot be copied, and so not be delivered at least once");
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
  std::map<std::pair<const port_plan*, std::string_view>, source_location> mapped;
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
        diagnostic& e =
            d.found.error("map", f.there.at, "field '" + f.there.text + "' is mapped twice at this port");
        e.notes.push_back({same->second, "here already"});
        continue;
      }
      port->names.push_back({f.here.text, f.there.text, f.here.at, f.there.at});
    }
  }
}

void resolve_state(draft& d, const process_builder& from, process_plan& p) {
  p.state = from.state;
  if (!p.state || !p.type) return;
  if (p.type->states.empty())
    d.found.error("state", p.state->at, "'" + p.type->name + "' saves no state: there is nothing to write");
  for (const state_schema& s : p.type->states)
    if (!s.not_kept.empty())
      d.found.error(
          "state", p.state->at,
          "state '" + s.name + "' of '" + p.type->name + "' cannot be written to a file: " + s.not_kept);
}

process_plan resolve_process(draft& d, const process_builder& from, index service) {
  process_plan p{from.id.text, service, from.id.at};
  p.type = resolve_class(d, from);
  if (p.type) {
    const source_location missing_at = from.config_at.known() ? from.config_at : from.use.at;
    const std::size_t errors = d.found.errors();
    p.settings = check_table(p.type->settings, from.config,
                             {"setting", "of '" + p.type->name + "'", missing_at}, d.found);
    if (d.found.errors() == errors)
      for (const value_validator validate : p.type->validators)
        (void)ask_validator(validate, p.settings, missing_at, "'" + p.type->name + "'", d.found);
    d.good_settings.back() = d.found.errors() == errors;
    p.ports.reserve(p.type->ports.size());
    for (const port_schema& s : p.type->ports) p.ports.push_back({&s});
  }
  p.replicas = from.replicas;
  p.stack = from.stack.value_or(d.from.runtime.stack);
  p.thread = from.thread;
  resolve_limits(d, from, p);
  p.critical = from.critical;
  p.restart = effective_restart(from.restart, d.from.restart);
  p.attempts = from.attempts;
  resolve_deliveries(d, from, p);
  resolve_maps(d, from, p);
  resolve_state(d, from, p);
  return p;
}

}  // namespace

namespace {

void add_gone(const process_builder& p, std::vector<lost_end>& to) {
  const auto add = [&](const std::string& channel, port_direction direction) {
    to.push_back({p.id.text, channel, direction, p.enabled_at, "'" + p.id.text + "' is switched off here"});
  };
  for (const port_builder& port : p.in)
    for (const named& c : port.channels) add(c.text, port_direction::in);
  for (const port_builder& port : p.out)
    for (const named& c : port.channels) add(c.text, port_direction::out);
  if (p.dead_letter) add(p.dead_letter->text, port_direction::out);
}

void report_empty(draft& d, const service_builder& from) {
  constexpr std::size_t enough = 4;
  if (from.processes.empty()) {
    d.found.error("empty", from.name.at, "service '" + from.name.text + "' has no process");
    return;
  }
  diagnostic& f = d.found.error(
      "empty", from.name.at,
      "all processes of service '" + from.name.text + "' are switched off; leave the service out instead");
  for (const process_builder& p : from.processes)
    if (f.notes.size() < enough)
      f.notes.push_back({p.enabled_at, "'" + p.id.text + "' is switched off here"});
}

}  // namespace

void draft::note_gone(diagnostic& f, index service, std::string_view channel, port_direction direction,
                      std::string_view advice) const {
  constexpr std::size_t enough = 4;
  const std::string whole = out.services[service].name + '/' + std::string(channel);
  const std::size_t before = f.notes.size();
  for (index s = 0; s < gone.size(); ++s)
    for (const lost_end& e : gone[s])
      if (e.direction == direction && (s == service ? e.channel == channel : e.channel == whole) &&
          f.notes.size() < enough)
        f.notes.push_back({e.at, e.why});
  if (f.notes.size() > before) f.text += advice;
}

void resolve_processes(draft& d) {
  for (const service_builder& from : d.from.services) {
    const auto service = static_cast<index>(d.out.services.size());
    service_plan s{from.name.text, from.name.at, from.drain};
    d.gone.push_back(from.lost);
    if (std::none_of(from.processes.begin(), from.processes.end(),
                     [](const process_builder& p) { return p.enabled; }))
      report_empty(d, from);
    for (const process_builder& p : from.processes) {
      if (!p.enabled) {
        add_gone(p, d.gone.back());
        continue;
      }
      s.processes.push_back(static_cast<index>(d.out.processes.size()));
      d.good_settings.push_back(false);
      d.out.processes.push_back(resolve_process(d, p, service));
      d.process_sources.push_back(&p);
      d.excused.emplace_back(d.out.processes.back().ports.size());
    }
    d.out.services.push_back(std::move(s));
  }
}

std::optional<plan> resolve(const builder& from, const catalog& classes, diagnostics& found) {
  draft d{from, classes, found};
  d.out.runtime = from.runtime;
  d.out.supervisor = from.supervisor;
  d.out.control = from.control;
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
