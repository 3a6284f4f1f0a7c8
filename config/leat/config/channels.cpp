// SPDX-License-Identifier: BSL-1.0
//
// Which port is joined to which channel.
#include <algorithm>
#include <set>
#include <string>
#include <unordered_map>
#include <utility>

#include <leat/config/keys.hpp>
#include <leat/config/resolve.hpp>
#include <leat/config/suggest.hpp>
#include <leat/config/values.hpp>

namespace leat::config {

namespace {

std::string in_or_out(port_direction d) { return d == port_direction::in ? "an in port" : "an out port"; }

class joiner {
 public:
  explicit joiner(draft& d) : d_(d), services_(d.from.services.size()) {
    d_.lost_readers.resize(services_.size());
    d_.lost_writers.resize(services_.size());
    for (index s = 0; s < services_.size(); ++s) service_by_name_.emplace(d_.out.services[s].name, s);
    for (index p = 0; p < d_.out.processes.size(); ++p)
      services_[d_.out.processes[p].service].processes.emplace(d_.out.processes[p].name, p);
  }

  void declare_channels() {
    const std::set<std::string> named = names_in_use();
    for (index s = 0; s < services_.size(); ++s)
      for (const channel_builder& from : d_.from.services[s].channels) {
        // All who had to do with it are gone, and it with them.
        if (is_gone(s, from.id.text) && named.count(d_.out.services[s].name + '/' + from.id.text) == 0)
          continue;
        channel_plan c{from.id.text, false, s, from.id.at};
        c.capacity = from.capacity;
        c.full = from.full;
        c.copy = from.copy;
        if (from.key) {
          c.key = from.key->text;
          c.key_at = from.key->at;
          if (c.key.empty()) d_.found.error("key", c.key_at, "'key' must name a field");
        }
        c.keys = from.keys;
        c.exported = from.exported;
        c.inject = from.inject;
        c.unknown = from.unknown;
        c.store = from.store;
        if (c.store) c.full = c.store->full;
        services_[s].channels.emplace(from.id.text, add(std::move(c), &from));
      }
  }

  void join(index process) {
    const process_builder& from = *d_.process_sources[process];
    for (const port_builder& port : from.in) join(process, port, port_direction::in);
    for (const port_builder& port : from.out) join(process, port, port_direction::out);
    if (from.dead_letter) dead_letter(process, *from.dead_letter);
  }

 private:
  struct names {
    std::unordered_map<std::string, index> processes, channels, unnamed;
  };

  // Channels that processes name which run, as "service/name".
  std::set<std::string> names_in_use() const {
    std::set<std::string> out;
    for (index p = 0; p < d_.process_sources.size(); ++p) {
      const process_builder& from = *d_.process_sources[p];
      const std::string service = d_.out.services[d_.out.processes[p].service].name + '/';
      const auto add = [&](const std::string& name) {
        out.insert(name.find('/') == std::string::npos ? service + name : name);
      };
      for (const auto* ports : {&from.in, &from.out})
        for (const port_builder& port : *ports)
          for (const named& c : port.channels) add(c.text);
      if (from.dead_letter) add(from.dead_letter->text);
    }
    return out;
  }

  bool is_gone(index service, const std::string& channel) const {
    const std::vector<lost_end>& gone = d_.gone[service];
    return std::any_of(gone.begin(), gone.end(), [&](const lost_end& e) { return e.channel == channel; });
  }

  index add(channel_plan c, const channel_builder* from) {
    const auto number = static_cast<index>(d_.out.channels.size());
    d_.out.services[c.service].channels.push_back(number);
    d_.out.channels.push_back(std::move(c));
    d_.channel_sources.push_back(from);
    d_.dead_letters.emplace_back();
    return number;
  }

  void lost(index process, port_direction direction) {
    std::vector<bool>& those = direction == port_direction::in ? d_.lost_readers : d_.lost_writers;
    those[d_.out.processes[process].service] = true;
  }

  void join(index process, const port_builder& from, port_direction direction) {
    const index port = find_port(process, from.name, direction);
    if (from.channels.empty()) {
      excuse(process, port);
      lost(process, direction);
    }
    for (const named& name : from.channels) {
      const std::optional<index> channel = find_channel(process, name, direction);
      if (!channel) {
        excuse(process, port);
        lost(process, direction);
        continue;
      }
      std::vector<index>& joined = d_.out.processes[process].ports[port].channels;
      channel_plan& c = d_.out.channels[*channel];
      if (std::find(joined.begin(), joined.end(), *channel) != joined.end()) {
        // One that was taken for it has been reported already.
        if (name.text == c.name || name.text == d_.out.full_name(c))
          d_.found.error("duplicate", name.at,
                         "port '" + from.name.text + "' names channel '" + name.text + "' twice");
        continue;
      }
      joined.push_back(*channel);
      if (direction == port_direction::in)
        c.readers.push_back({process, port, name.at, c.full});
      else
        c.writers.push_back({process, port, name.at});
    }
  }

  void excuse(index process, index port) {
    if (port < d_.excused[process].size()) d_.excused[process][port] = true;
  }

  // A port that nothing is known of.
  index stranger(index process) {
    d_.out.processes[process].ports.emplace_back();
    return static_cast<index>(d_.out.processes[process].ports.size() - 1);
  }

  index find_port(index process, const named& name, port_direction direction) {
    const process_plan& p = d_.out.processes[process];
    if (!p.type) return stranger(process);
    const std::vector<port_schema>& ports = p.type->ports;
    std::vector<std::string_view> same_way;
    for (index i = 0; i < ports.size(); ++i) {
      if (ports[i].direction == direction) same_way.push_back(ports[i].name);
      if (ports[i].name != name.text) continue;
      if (ports[i].direction == direction) return i;
      excuse(process, i);
      d_.found.error("unknown-port", name.at,
                     "'" + name.text + "' is " + in_or_out(ports[i].direction) + " of '" + p.type->name +
                         "'; here stand its " + to_string(direction) + " ports");
      return stranger(process);
    }
    const std::string near = report_unknown("unknown-port", name.at,
                                            std::string("unknown ") + to_string(direction) + " port '" +
                                                name.text + "' of '" + p.type->name + "'",
                                            name.text, same_way, d_.found);
    for (index i = 0; i < ports.size(); ++i)
      if (ports[i].name == near && ports[i].direction == direction) return i;
    return stranger(process);
  }

  std::optional<index> find_channel(index process, const named& name, port_direction direction) {
    if (name.text.find('/') != std::string::npos) return find_exported(process, name, direction);
    if (name.text.find('.') != std::string::npos) return find_unnamed(process, name, direction);
    return find_declared(process, name);
  }

  std::optional<index> find_declared(index from, const named& name) {
    const index service = d_.out.processes[from].service;
    const names& known = services_[service];
    const auto same = known.channels.find(name.text);
    if (same != known.channels.end()) return same->second;
    const auto process = known.processes.find(name.text);
    if (process != known.processes.end()) {
      d_.found.error("unknown-channel", name.at,
                     "'" + name.text + "' is a process; a channel of its own is named by its port, as '" +
                         name.text + ".PORT'");
      return std::nullopt;
    }
    // Of a template, its own ones come first, as it calls them.
    const std::string& inside = d_.process_sources[from]->inside;
    std::vector<std::string_view> among = channel_names(service);
    if (!inside.empty()) {
      std::vector<std::string_view> own;
      for (const std::string_view c : among)
        if (c.starts_with(inside)) own.push_back(c.substr(inside.size()));
      among.insert(among.begin(), own.begin(), own.end());
    }
    const std::string near = report_unknown(
        "unknown-channel", name.at, "unknown channel '" + name.text + "'", name.text, among, d_.found,
        inside.empty()
            ? "; add a table [channel." + name.text + "]"
            : "; add a table [template.NAME.channel." + name.text + "], or [channel." + name.text + "]");
    for (const std::string& whole : {inside + near, near})
      if (const auto meant = known.channels.find(whole); meant != known.channels.end()) return meant->second;
    return std::nullopt;
  }

  std::vector<std::string_view> channel_names(index service) const {
    std::vector<std::string_view> out;
    for (const channel_builder& c : d_.from.services[service].channels) out.push_back(c.id.text);
    return out;
  }

  // "climate/clean"
  std::optional<index> find_exported(index process, const named& name, port_direction direction) {
    const std::size_t slash = name.text.find('/');
    const std::string service_name = name.text.substr(0, slash);
    auto service = service_by_name_.find(service_name);
    if (service == service_by_name_.end()) {
      std::vector<std::string_view> all;
      for (const service_plan& s : d_.out.services) all.push_back(s.name);
      const std::string near = report_unknown(
          "unknown-service", name.at, "unknown service '" + service_name + "'", service_name, all, d_.found);
      service = service_by_name_.find(near);
      if (service == service_by_name_.end()) return std::nullopt;
    }
    const std::string rest = name.text.substr(slash + 1);
    const names& known = services_[service->second];
    auto channel = known.channels.find(rest);
    if (channel == known.channels.end()) {
      const std::string near = report_unknown(
          "unknown-channel", name.at, "service '" + service->first + "' has no channel '" + rest + "'", rest,
          channel_names(service->second), d_.found);
      channel = known.channels.find(near);
      if (channel == known.channels.end()) return std::nullopt;
    }
    const channel_plan& c = d_.out.channels[channel->second];
    if (service->second == d_.out.processes[process].service) return channel->second;
    if (!c.exported) {
      diagnostic& f = d_.found.error(
          "export", name.at, "channel '" + c.name + "' of service '" + service->first + "' is not exported");
      f.notes.push_back({c.at, "export = true is missing here"});
    }
    if (direction == port_direction::out) {
      d_.found.error(
          "export", name.at,
          "only service '" + service->first + "' may write to '" + c.name + "'; others may read it");
      return std::nullopt;
    }
    return channel->second;
  }

  // "probe.value": made for the first who reads it.
  std::optional<index> find_unnamed(index process, const named& name, port_direction direction) {
    const index service = d_.out.processes[process].service;
    if (direction == port_direction::out) {
      d_.found.error("unknown-channel", name.at,
                     "an out port must name a channel; its reader may name the port instead");
      return std::nullopt;
    }
    names& known = services_[service];
    const auto same = known.unnamed.find(name.text);
    if (same != known.unnamed.end()) return same->second;
    const std::size_t dot = name.text.find('.');
    const std::string writer_name = name.text.substr(0, dot);
    auto writer = known.processes.find(writer_name);
    if (writer == known.processes.end()) {
      for (const process_builder& p : d_.from.services[service].processes) {
        if (p.enabled || p.id.text != writer_name) continue;
        diagnostic& f = d_.found.error(
            "disabled", name.at,
            "'" + name.text + "' has no writer: process '" + writer_name + "' is switched off");
        f.notes.push_back({p.enabled_at, "here"});
        return std::nullopt;
      }
      std::vector<std::string_view> all;
      for (const process_builder& p : d_.from.services[service].processes) all.push_back(p.id.text);
      const std::string near = report_unknown(
          "unknown-process", name.at, "unknown process '" + writer_name + "'", writer_name, all, d_.found);
      writer = known.processes.find(near);
      if (writer == known.processes.end()) return std::nullopt;
    }
    const index port = find_port(writer->second, {name.text.substr(dot + 1), name.at}, port_direction::out);
    channel_plan c{name.text, true, service, name.at};
    c.capacity = default_capacity_;
    c.writers.push_back({writer->second, port, {}});
    const index number = add(std::move(c), nullptr);
    known.unnamed.emplace(name.text, number);
    d_.out.processes[writer->second].ports[port].channels.push_back(number);
    return number;
  }

  void dead_letter(index process, const named& name) {
    process_plan& p = d_.out.processes[process];
    const std::optional<index> channel = find_declared(process, name);
    if (!channel) return lost(process, port_direction::out);
    p.dead_letter = channel;
    d_.out.channels[*channel].dead_letters = true;
    for (index i = 0; i < p.ports.size(); ++i)
      if (p.ports[i].delivery == delivery::at_least_once)
        d_.dead_letters[*channel].push_back({process, i, name.at});
  }

  draft& d_;
  std::vector<names> services_;
  std::unordered_map<std::string, index> service_by_name_;
  const std::size_t default_capacity_ = static_cast<std::size_t>(
      section_of("channel").find("capacity")->type.default_value.get<std::int64_t>());
};

}  // namespace

void resolve_channels(draft& d) {
  joiner j(d);
  j.declare_channels();
  for (index p = 0; p < d.out.processes.size(); ++p) j.join(p);
}

}  // namespace leat::config
