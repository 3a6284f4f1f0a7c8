// SPDX-License-Identifier: BSL-1.0
#include <leat/config/reader.hpp>

#include <string_view>
#include <utility>

#include <leat/base/runtime_keys.hpp>
#include <leat/config/keys.hpp>
#include <leat/config/section.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

const setting_schema& field(const setting_schema& structure, std::string_view name) {
  return *find_setting(structure.fields, name);
}

const setting_schema& policy_type() { return section_of("channel").find("full")->type; }

setting_schema delivery_type() {
  return {.kind = value_kind::enumeration,
          .names = {std::string(delivery_names[0]), std::string(delivery_names[1])}};
}

std::optional<named> name_of(const section& s, std::string_view key) {
  const value* v = s.find(key);
  const auto* text = v ? v->get_if<std::string>() : nullptr;
  if (!text) return std::nullopt;
  return named{*text, v->at()};
}

restart_builder read_restart(const section& s, std::string_view in, diagnostics& found) {
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

thread_plan read_thread(const section& s, diagnostics& found) {
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

std::optional<state_plan> read_state(const section& s, diagnostics& found) {
  const value* v = s.find("state");
  const value* folder = v ? v->find("folder") : nullptr;
  if (!folder) return std::nullopt;
  state_plan out{folder->get<std::string>(), folder->at()};
  if (out.folder.empty()) found.error("state", folder->at(), "'folder' must name a folder");
  out.every = section::get_from<nanoseconds>(*v, "every").value_or(out.every);
  return out;
}

std::optional<store_plan> read_store(const section& s, diagnostics& found) {
  const value* v = s.find("store");
  const value* folder = v ? v->find("folder") : nullptr;
  if (!folder) return std::nullopt;
  store_plan out{folder->get<std::string>(), folder->at()};
  if (out.folder.empty()) found.error("store", folder->at(), "'folder' must name a folder");
  out.max = section::get_from<std::uint64_t>(*v, "max").value_or(out.max);
  const auto full = section::get_from<std::string>(*v, "full");
  out.full = full == "drop-oldest" ? leat::full::drop_oldest : leat::full::block;
  if (const auto sync = section::get_from<std::string>(*v, "sync"))
    out.sync = *sync == "each"    ? nanoseconds::zero()
               : *sync == "never" ? nanoseconds::max()
                                  : parse_duration(*sync).value.value_or(out.sync);
  return out;
}

// in = { raw = "a", other = ["a", "b"], inbox.reading = "c" }
void read_ports(const value& table, const std::string& prefix, source_location prefix_at,
                std::vector<port_builder>& out, diagnostics& found) {
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

std::vector<delivery_builder> read_deliveries(const section& s, diagnostics& found) {
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
std::vector<map_builder> read_maps(const section& s, diagnostics& found) {
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
      const auto* there = f.value.get_if<std::string>();
      if (there && (f.key.empty() || there->empty()))
        found.error("map", f.key.empty() ? f.key_at : f.value.at(), what + ": a field has no name");
      else if (there)
        port.fields.push_back({{f.key, f.key_at}, {*there, f.value.at()}});
      else if (f.value)
        found.error("type", f.value.at(),
                    what + ": a field must be text, not " + kind_with_article(f.value.kind()));
    }
    out.push_back(std::move(port));
  }
  return out;
}

process_builder read_process(const value_member& m, diagnostics& found) {
  const section s("process", m.value, "[process." + m.key + ']', m.key_at, found);
  process_builder p{{m.key, m.key_at}};
  p.use = name_of(s, "use").value_or(named{});
  p.enabled = s.get<bool>("enabled").value_or(true);
  p.enabled_at = s.at("enabled");
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
  p.state = read_state(s, found);
  return p;
}

channel_builder read_channel(const value_member& m, diagnostics& found) {
  const section s("channel", m.value, "[channel." + m.key + ']', m.key_at, found);
  channel_builder c{{m.key, m.key_at}};
  c.type = name_of(s, "type");
  c.capacity = s.get<std::size_t>("capacity").value_or(0);
  c.capacity_at = s.at("capacity");
  c.full = name_to<leat::full>(policy_type(), s.find("full")).value_or(leat::full::block);
  c.full_at = s.at("full");
  c.copy = s.get<std::string>("fanout") == "copy";
  c.fanout_at = s.at("fanout");
  c.key = name_of(s, "key");
  c.keys = s.get<std::size_t>("keys").value_or(c.keys);
  c.keys_at = s.at("keys");
  c.exported = s.get<bool>("export").value_or(false);
  c.inject = s.get<bool>("inject").value_or(false);
  if (const auto unknown = s.get<std::string>("unknown")) {
    c.unknown = *unknown == "error" ? unknown_fields::error : unknown_fields::drop;
    c.unknown_at = s.at("unknown");
  }
  c.store = read_store(s, found);
  if (const value* readers = s.find("reader")) {
    c.readers_at = s.key_at("reader");
    for (const value_member& r : readers->get<value::table>()) {
      const value checked =
          check_value(policy_type(), r.value, "the policy of reader '" + r.key + "'", found);
      c.readers.push_back({{r.key, r.key_at}, name_to<leat::full>(policy_type(), &checked).value_or(c.full)});
    }
  }
  return c;
}

service_builder read_service(const merged_service& m, const source_set& sources, diagnostics& found) {
  const section s("service", m.service, "[service]", m.name.at, found);
  service_builder out{m.name};
  out.drain = s.get<nanoseconds>("drain").value_or(out.drain);
  out.processes.reserve(m.processes.size());
  for (const value_member& p : m.processes) {
    out.processes.push_back(read_process(p, found));
    if (const source_set::use* use = sources.use_of(p.key_at.file)) out.processes.back().inside = use->prefix;
  }
  out.channels.reserve(m.channels.size());
  for (const value_member& c : m.channels) out.channels.push_back(read_channel(c, found));
  out.lost = m.lost;
  return out;
}

void read_runtime(const value& raw, builder& b, diagnostics& found) {
  const section s("runtime", raw, "[runtime]", raw.at(), found);
  runtime_plan& r = b.runtime;
  for_each_runtime_key([&]<class T>(const runtime_key<T>& key) {
    if (const auto given = s.get<typename limited_as<T>::type>(key.name)) r.*key.member = *given;
  });
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

void read_supervisor(const value& raw, builder& b, diagnostics& found) {
  const section s("supervisor", raw, "[supervisor]", raw.at(), found);
  const key_section& grammar = section_of("supervisor");
  b.hang = s.get<nanoseconds>("hang").value_or(b.hang);
  b.grace = s.get<nanoseconds>("grace").value_or(b.grace);
  b.watchdog = s.get<nanoseconds>("watchdog");
  b.hang_given = s.at("hang").known();
  b.grace_given = s.at("grace").known();
  b.restart = read_restart(s, "supervisor", found);
  b.supervisor.on_limit = name_to<limit_action>(grammar.find("on_limit")->type, s.find("on_limit"))
                              .value_or(b.supervisor.on_limit);
  b.supervisor.on_deadlock =
      name_to<deadlock_action>(grammar.find("on_deadlock")->type, s.find("on_deadlock"))
          .value_or(b.supervisor.on_deadlock);
  b.supervisor.host_hang = s.get<nanoseconds>("host_hang").value_or(b.supervisor.host_hang);
  b.supervisor.on_host_hang = name_to<host_action>(grammar.find("on_host_hang")->type, s.find("on_host_hang"))
                                  .value_or(b.supervisor.on_host_hang);
}

void read_control(const value& raw, builder& b, diagnostics& found) {
  const section s("control", raw, "[control]", raw.at(), found);
  control_plan& c = b.control;
  c.name = s.get<std::string>("name").value_or("");
  c.socket = s.get<bool>("socket").value_or(c.socket);
  c.listen = s.get<std::string>("listen").value_or("");
  c.listen_at = s.at("listen");
  c.token_file = s.get<std::string>("token_file").value_or("");
  c.token_file_at = s.at("token_file");
  c.clients = s.get<std::size_t>("clients").value_or(c.clients);
  c.blame_after = s.get<nanoseconds>("blame_after").value_or(c.blame_after);
  if (const value* hosts = s.find("hosts"))
    if (const auto* list = hosts->get_if<value::list>())
      for (const value& h : *list)
        if (const auto* text = h.get_if<std::string>()) c.hosts.push_back(*text);
  if (!c.listen.empty()) return;
  for (const char* key : {"hosts", "token_file"})
    if (s.at(key).known() && (key != std::string_view("hosts") || !c.hosts.empty()))
      found.error("control", s.at(key), std::string("'") + key + "' is for the TCP door: give 'listen' too");
}

}  // namespace

builder build(const merged& m, const source_set& sources, diagnostics& found) {
  builder b;
  b.all_classes = m.all_classes;
  b.services.reserve(m.services.size());
  for (const merged_service& s : m.services) b.services.push_back(read_service(s, sources, found));
  read_runtime(m.runtime, b, found);
  read_supervisor(m.supervisor, b, found);
  read_control(m.control, b, found);
  return b;
}

}  // namespace leat::config
