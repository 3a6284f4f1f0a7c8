// SPDX-License-Identifier: BSL-1.0
#include <leat/config/reader.hpp>

#include <string_view>
#include <utility>

#include <leat/config/keys.hpp>
#include <leat/config/merge.hpp>
#include <leat/config/section.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

const setting_schema& field(const setting_schema& structure, std::string_view name) {
  return *find_setting(structure.fields, name);
}

const setting_schema& policy_type() { return section_of("channel").find("full")->type; }

setting_schema delivery_type() {
  return {.kind = setting_kind::enumeration,
          .names = {std::string(delivery_names[0]), std::string(delivery_names[1])}};
}

std::optional<named> name_of(const section& s, std::string_view key) {
  const value* v = s.find(key);
  const auto* text = v ? v->get_if<std::string>() : nullptr;
  if (!text) return std::nullopt;
  return named{*text, v->at()};
}

restart_builder read_restart(const section& s, std::string_view in, findings& found) {
  restart_builder out;
  const value* v = s.find("restart");
  if (!v) return out;
  const setting_schema& type = section_of(in).find("restart")->type;
  out.when = name_to<restart_when>(field(type, "when"), v->find("when"));
  out.strategy = name_to<restart_strategy>(field(type, "strategy"), v->find("strategy"));
  out.burst = section::get_from<unsigned>(*v, "burst");
  out.window = section::get_from<nanoseconds>(*v, "window");
  if (const value* pair = v->find("backoff")) {
    const auto& both = pair->get<value::list>();
    if (both.size() != 2 || both[0].get<nanoseconds>() > both[1].get<nanoseconds>()) {
      found.error("range", pair->at(),
                  "'backoff' must be two durations, the first no longer than the second");
    } else {
      out.backoff = both[0].get<nanoseconds>();
      out.longest_backoff = both[1].get<nanoseconds>();
    }
  }
  return out;
}

thread_plan read_thread(const section& s, findings& found) {
  thread_plan out;
  const value* v = s.find("thread");
  if (!v) return out;
  out.own = section::get_from<bool>(*v, "own").value_or(false);
  out.cpu = section::get_from<unsigned>(*v, "cpu");
  out.priority = section::get_from<unsigned>(*v, "priority");
  for (const char* key : {"cpu", "priority"}) {
    const value* given = v->find(key);
    if (given && !out.own)
      found.error("thread", given->at(), std::string("'") + key + "' needs a thread of its own: own = true");
  }
  return out;
}

// in = { raw = "a", other = ["a", "b"], inbox.reading = "c" }
void read_ports(const value& table, const std::string& prefix, place prefix_at,
                std::vector<port_builder>& out, findings& found) {
  for (const value_member& m : table.get<value::table>()) {
    port_builder port{{prefix + m.key, m.key_at}, m.value.at()};
    // inbox.reading, written without quotes
    if (prefix_at.known() && prefix_at.line == m.key_at.line && prefix_at.column < m.key_at.column) {
      port.name.at = prefix_at;
      port.name.at.length = m.key_at.column + m.key_at.length - prefix_at.column;
    }
    const std::string what = "the channel of port '" + port.name.text + "'";
    if (const auto* text = m.value.get_if<std::string>()) {
      port.channels.push_back({*text, m.value.at()});
    } else if (const auto* list = m.value.get_if<value::list>()) {
      if (list->empty()) found.error("type", m.value.at(), "port '" + port.name.text + "' names no channel");
      for (const value& v : *list) {
        if (const auto* name = v.get_if<std::string>())
          port.channels.push_back({*name, v.at()});
        else if (v)
          found.error("type", v.at(), what + " must be text, not " + kind_with_article(v.kind()));
      }
    } else if (m.value.kind() == value_kind::table) {
      read_ports(m.value, port.name.text + '.', port.name.at, out, found);
      continue;
    } else if (m.value) {
      found.error("type", m.value.at(),
                  what + " must be text or a list of texts, not " + kind_with_article(m.value.kind()));
    }
    // Also without a channel: then it was reported here, and is not unconnected as well.
    out.push_back(std::move(port));
  }
}

std::vector<delivery_builder> read_deliveries(const section& s, findings& found) {
  std::vector<delivery_builder> out;
  const value* v = s.find("delivery");
  if (!v) return out;
  const setting_schema type = delivery_type();
  if (v->kind() == value_kind::text) {
    const value checked = check_value(type, *v, "'delivery'", found);
    if (const auto how = name_to<delivery>(type, &checked)) out.push_back({{"", v->at()}, *how});
    return out;
  }
  for (const value_member& m : v->get<value::table>()) {
    const value checked = check_value(type, m.value, "the delivery of port '" + m.key + "'", found);
    if (const auto how = name_to<delivery>(type, &checked)) out.push_back({{m.key, m.key_at}, *how});
  }
  return out;
}

// map = { values = { value = "celsius" } }
std::vector<map_builder> read_maps(const section& s, findings& found) {
  std::vector<map_builder> out;
  const value* v = s.find("map");
  if (!v) return out;
  for (const value_member& m : v->get<value::table>()) {
    const std::string what = "the map of port '" + m.key + "'";
    map_builder port{{m.key, m.key_at}};
    if (m.value.kind() != value_kind::table) {
      if (m.value)
        found.error("type", m.value.at(),
                    what + " must be a table, not " + kind_with_article(m.value.kind()));
      continue;
    }
    for (const value_member& f : m.value.get<value::table>()) {
      if (const auto* there = f.value.get_if<std::string>())
        port.fields.push_back({{f.key, f.key_at}, {*there, f.value.at()}});
      else if (f.value)
        found.error("type", f.value.at(),
                    what + ": a field must be text, not " + kind_with_article(f.value.kind()));
    }
    out.push_back(std::move(port));
  }
  return out;
}

process_builder read_process(const value_member& m, findings& found) {
  const section s("process", m.value, "[process." + m.key + ']', m.key_at, found);
  process_builder p{{m.key, m.key_at}};
  p.use = name_of(s, "use").value_or(named{});
  if (const value* config = s.find("config")) {
    p.config = *config;
    p.config_at = s.key_at("config");
  }
  if (const value* in = s.find("in")) read_ports(*in, "", {}, p.in, found);
  if (const value* out = s.find("out")) read_ports(*out, "", {}, p.out, found);
  p.maps = read_maps(s, found);
  p.replicas = s.get<unsigned>("replicas").value_or(1);
  p.replicas_at = s.at("replicas");
  p.stack = s.get<std::size_t>("stack");
  p.thread = read_thread(s, found);
  p.hang = s.get<nanoseconds>("hang");
  p.grace = s.get<nanoseconds>("grace");
  p.watchdog = s.get<nanoseconds>("watchdog");
  p.critical = s.get<bool>("critical").value_or(false);
  p.restart = read_restart(s, "process", found);
  p.deliveries = read_deliveries(s, found);
  p.attempts = s.get<unsigned>("attempts").value_or(p.attempts);
  p.attempts_at = s.at("attempts");
  p.dead_letter = name_of(s, "dead_letter");
  return p;
}

channel_builder read_channel(const value_member& m, findings& found) {
  const section s("channel", m.value, "[channel." + m.key + ']', m.key_at, found);
  channel_builder c{{m.key, m.key_at}};
  c.type = name_of(s, "type");
  c.capacity = s.get<std::size_t>("capacity").value_or(0);
  c.capacity_at = s.at("capacity");
  c.full = name_to<overflow>(policy_type(), s.find("full")).value_or(overflow::block);
  c.full_at = s.at("full");
  c.copy = s.get<std::string>("fanout") == "copy";
  c.fanout_at = s.at("fanout");
  c.exported = s.get<bool>("export").value_or(false);
  if (const value* readers = s.find("reader")) {
    c.readers_at = s.key_at("reader");
    for (const value_member& r : readers->get<value::table>()) {
      const value checked =
          check_value(policy_type(), r.value, "the policy of reader '" + r.key + "'", found);
      c.readers.push_back({{r.key, r.key_at}, name_to<overflow>(policy_type(), &checked).value_or(c.full)});
    }
  }
  return c;
}

service_builder read_service(const merged_service& m, findings& found) {
  const section s("service", m.service, "[service]", m.name.at, found);
  service_builder out{m.name};
  out.drain = s.get<nanoseconds>("drain").value_or(out.drain);
  out.processes.reserve(m.processes.size());
  for (const value_member& p : m.processes) out.processes.push_back(read_process(p, found));
  out.channels.reserve(m.channels.size());
  for (const value_member& c : m.channels) out.channels.push_back(read_channel(c, found));
  return out;
}

void read_runtime(const value& raw, builder& b, findings& found) {
  const section s("runtime", raw, "[runtime]", raw.at(), found);
  runtime_plan& r = b.runtime;
  r.procs = s.get<unsigned>("procs");
  r.run_queue = s.get<unsigned>("run_queue").value_or(r.run_queue);
  r.spinning = s.get<unsigned>("spinning");
  r.max_threads = s.get<unsigned>("max_threads").value_or(r.max_threads);
  r.max_quarantined = s.get<unsigned>("max_quarantined").value_or(r.max_quarantined);
  r.slice = s.get<nanoseconds>("slice").value_or(r.slice);
  r.stack = s.get<std::size_t>("stack").value_or(r.stack);
  r.trace = s.get<nanoseconds>("trace").value_or(r.trace);
  r.grace = s.get<nanoseconds>("grace").value_or(r.grace);
  r.stack_census = s.get<bool>("stack_census").value_or(r.stack_census);
  if (const value* cpus = s.find("cpus"))
    for (const value& v : cpus->get<value::list>()) {
      r.cpus.push_back(static_cast<unsigned>(v.get<std::int64_t>()));
      r.cpus_at.push_back(v.at());
    }
  if (const value* memory = s.find("memory")) {
    r.lock_memory = section::get_from<bool>(*memory, "lock").value_or(false);
    r.max_memory = section::get_from<std::uint64_t>(*memory, "max");
    if (const value* max = memory->find("max")) b.max_memory_at = max->at();
  }
  b.procs_at = s.at("procs");
  b.spinning_at = s.at("spinning");
  b.max_threads_at = s.at("max_threads");
}

void read_supervisor(const value& raw, builder& b, findings& found) {
  const section s("supervisor", raw, "[supervisor]", raw.at(), found);
  const key_section& grammar = section_of("supervisor");
  b.hang = s.get<nanoseconds>("hang").value_or(b.hang);
  b.grace = s.get<nanoseconds>("grace").value_or(b.grace);
  b.watchdog = s.get<nanoseconds>("watchdog");
  b.restart = read_restart(s, "supervisor", found);
  b.supervisor.on_limit = name_to<limit_action>(grammar.find("on_limit")->type, s.find("on_limit"))
                              .value_or(b.supervisor.on_limit);
  b.supervisor.on_deadlock =
      name_to<deadlock_action>(grammar.find("on_deadlock")->type, s.find("on_deadlock"))
          .value_or(b.supervisor.on_deadlock);
}

}  // namespace

builder build(const parsed_files& files, const source_set& sources, findings& found) {
  const merged m = merge(files, sources, found);
  builder b;
  b.complete = files.complete;
  b.all_classes = m.all_classes;
  b.services.reserve(m.services.size());
  for (const merged_service& s : m.services) b.services.push_back(read_service(s, found));
  read_runtime(m.runtime, b, found);
  read_supervisor(m.supervisor, b, found);
  return b;
}

}  // namespace leat::config
