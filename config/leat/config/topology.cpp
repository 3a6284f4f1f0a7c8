// SPDX-License-Identifier: BSL-1.0
//
// What the parts make together: ports left open, replicas, ways round that can block, memory.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include <leat/config/graph.hpp>
#include <leat/config/resolve.hpp>

namespace leat::config {

namespace {

void check_open_ports(draft& d, index process) {
  const process_plan& p = d.out.processes[process];
  if (!p.type) return;
  const std::vector<port_schema>& ports = p.type->ports;
  std::vector<std::string_view> inboxes;
  for (index i = 0; i < ports.size(); ++i) {
    const port_schema& s = ports[i];
    if (!s.inbox.empty()) {
      if (std::find(inboxes.begin(), inboxes.end(), s.inbox) != inboxes.end()) continue;
      inboxes.push_back(s.inbox);
      bool any = false;
      for (index k = i; k < ports.size(); ++k)
        any = any || (ports[k].inbox == s.inbox &&
                      (ports[k].optional || !p.ports[k].channels.empty() || d.excused[process][k]));
      if (!any)
        d.found.error("open-port", p.at,
                      "no port of inbox '" + s.inbox + "' of '" + p.name + "' is connected");
      continue;
    }
    if (s.optional || !p.ports[i].channels.empty() || d.excused[process][i]) continue;
    // The reader that is lost may have named this port.
    if (s.direction == port_direction::out && d.lost_readers[p.service]) continue;
    diagnostic& f = d.found.error(
        "open-port", p.at,
        std::string(to_string(s.direction)) + " port '" + s.name + "' of '" + p.name + "' is not connected");
    if (s.direction == port_direction::out)
      d.note_gone(f, p.service, p.name + '.' + s.name, port_direction::in);
    // Its class may be another by an override.
    for (const lost_end& e : d.gone[p.service])
      if (e.process == p.name && f.notes.empty()) f.notes.push_back({e.at, e.why});
  }
}

void check_replicas(draft& d, index process) {
  const process_plan& p = d.out.processes[process];
  if (p.replicas < 2) return;
  for (const port_plan& port : p.ports) {
    if (!port.schema || port.schema->shareable || port.channels.empty()) continue;
    d.found.error(
        "replicas", d.process_sources[process]->replicas_at,
        "'" + p.name + "' cannot have replicas: its port '" + port.schema->name + "' cannot be shared");
    return;
  }
}

source_location location_at(const std::vector<endpoint>& ends, index process) {
  for (const endpoint& e : ends)
    if (e.process == process) return e.at;
  return {};
}

void check_cycles(draft& d) {
  constexpr std::size_t enough = 8;
  const plan& p = d.out;
  for (const blocking_cycle& c : blocking_cycles(p)) {
    std::string way = p.processes[c.processes.front()].name;
    source_location first;
    std::vector<diagnostic_note> notes;
    for (std::size_t i = 0; i < c.channels.size(); ++i) {
      const index from = c.processes[i], to = c.processes[(i + 1) % c.processes.size()];
      const channel_plan& channel = p.channels[c.channels[i]];
      way += " -> '" + channel.name + "' -> " + p.processes[to].name;
      source_location at = location_at(channel.writers, from);
      const char* does = " writes here";
      index who = from;
      if (!at.known()) {
        at = location_at(channel.readers, to);
        does = " reads here";
        who = to;
      }
      if (i == 0)
        first = at;
      else if (notes.size() < enough)
        notes.push_back({at, p.processes[who].name + does});
    }
    diagnostic& f = d.found.warning("cycle", first, "these can wait for one another for ever: " + way);
    f.label = "each of these channels blocks when it is full";
    f.notes = std::move(notes);
  }
}

std::string rounded(std::uint64_t bytes) {
  constexpr const char* units[] = {"", "K", "M", "G", "T", "P", "E"};
  auto number = static_cast<double>(bytes);
  std::size_t unit = 0;
  for (; number >= 1024 && unit + 1 < std::size(units); ++unit) number /= 1024;
  char text[32];
  std::snprintf(text, sizeof text, unit == 0 ? "%.0f%s" : "%.1f%s", number, units[unit]);
  return text;
}

void check_memory(draft& d) {
  d.out.memory = sum_memory(d.out);
  const memory_sum& m = d.out.memory;
  const auto& max = d.from.runtime.max_memory;
  if (!max || m.total() <= *max) return;
  d.found.error("memory", d.from.max_memory_at,
                "memory.max is " + rounded(*max) + ", but " + rounded(m.total()) + " are needed: stacks " +
                    rounded(m.stacks) + " + rings " + rounded(m.rings) + " + pools " + rounded(m.pools));
}

void check_runtime(draft& d) {
  const runtime_plan& r = d.from.runtime;
  if (!r.procs) return;
  const std::string procs = "procs is " + std::to_string(*r.procs);
  if (r.spinning && *r.spinning > *r.procs) {
    diagnostic& f =
        d.found.error("range", d.from.spinning_at,
                      "'spinning' is " + std::to_string(*r.spinning) + ", more than there are Ps");
    f.notes.push_back({d.from.procs_at, procs});
  }
  if (r.max_threads < *r.procs) {
    diagnostic& f =
        d.found.error("range", d.from.max_threads_at,
                      "'max_threads' is " + std::to_string(r.max_threads) + "; each P needs a thread to run");
    f.notes.push_back({d.from.procs_at, procs});
  }
}

}  // namespace

void check_topology(draft& d) {
  for (index p = 0; p < d.out.processes.size(); ++p) {
    check_open_ports(d, p);
    check_replicas(d, p);
  }
  check_cycles(d);
  check_memory(d);
  check_runtime(d);
}

}  // namespace leat::config
