// SPDX-License-Identifier: BSL-1.0
#include <leat/services/wiring.hpp>

#include <algorithm>
#include <set>

#include <leat/config/graph.hpp>
#include <leat/process/registry.hpp>

namespace leat::services {
namespace {

full policy(config::overflow o) noexcept {
  switch (o) {
    case config::overflow::block: return full::block;
    case config::overflow::drop_newest: return full::drop_newest;
    case config::overflow::drop_oldest: return full::drop_oldest;
    case config::overflow::latest: return full::latest;
    case config::overflow::fail: break;
  }
  return full::fail;
}

const process_class& class_of(const config::process_plan& p) {
  const process_class* const c = find_process_class(p.type->name);
  if (!c) throw wiring_error("process '" + p.name + "': there is no class '" + p.type->name + "'");
  return *c;
}

const port_type& type_at(const config::plan& plan, const config::endpoint& e) {
  const config::process_plan& p = plan.processes[e.process];
  const std::string& port = p.ports[e.port].schema->name;
  const port_type* const t = class_of(p).find_port_type(port);
  if (!t) throw wiring_error("process '" + p.name + "' has no port '" + port + "'");
  return *t;
}

// Ports for records take what the others have; if there are no others, it is records.
const port_type& type_of_channel(const config::plan& plan, const config::channel_plan& c) {
  const port_type* any = nullptr;
  for (const std::vector<config::endpoint>* ends : {&c.readers, &c.writers})
    for (const config::endpoint& e : *ends) {
      const port_type& t = type_at(plan, e);
      if (!plan.processes[e.process].ports[e.port].schema->converts) return t;
      any = &t;
    }
  // Values that are given up come as they are.
  for (const config::process_plan& p : plan.processes) {
    if (!p.dead_letter || &plan.channels[*p.dead_letter] != &c) continue;
    for (const config::port_plan& port : p.ports)
      if (port.delivery == config::delivery::at_least_once && !port.schema->converts)
        return *class_of(p).find_port_type(port.schema->name);
  }
  if (!any) throw wiring_error("nobody is joined to it");
  return *any;
}

std::set<config::index> channels_at(const config::process_plan& p, port_direction d) {
  std::set<config::index> all;
  for (const config::port_plan& port : p.ports)
    if (port.schema->direction == d) all.insert(port.channels.begin(), port.channels.end());
  return all;
}

std::set<config::index> processes_of(const std::vector<config::endpoint>& ends) {
  std::set<config::index> all;
  for (const config::endpoint& e : ends) all.insert(e.process);
  return all;
}

}  // namespace

wiring::wiring(const config::plan& plan) : plan_(plan), channels_(plan.channels.size()) {
  for (config::index i = 0; i < plan.channels.size(); ++i) {
    try {
      make(i);
    } catch (const std::exception& e) {
      const config::channel_plan& c = plan.channels[i];
      throw wiring_error(plan.where(c.at) + ": channel '" + plan.full_name(c) + "': " + e.what());
    }
  }
}

void wiring::make(config::index channel) {
  const config::channel_plan& c = plan_.channels[channel];
  joined& j = channels_[channel];
  const port_type& type = type_of_channel(plan_, c);
  channel_options o;
  o.name = plan_.full_name(c);
  o.full = policy(config::effective_policy(c));
  std::set<config::index> writers = processes_of(c.writers);
  for (config::index i = 0; c.dead_letters && i < plan_.processes.size(); ++i)
    if (plan_.processes[i].dead_letter == channel) writers.insert(i);
  j.writers = writers.size();
  j.readers = processes_of(c.readers).size();
  const config::flavour f = config::choose_flavour(plan_, c);
  if (f == config::flavour::broadcast) {
    j.whole = any_channel::make(broadcast, type, c.capacity, o);
    // Replicas of one process, and several ports of it, share what it gets.
    std::vector<std::pair<config::index, any_channel>> by_process;
    for (const config::endpoint& e : c.readers) {
      any_channel share;
      for (const auto& [process, made] : by_process)
        if (process == e.process) share = made;
      if (!share) {
        share = j.whole.subscribe(c.capacity, policy(e.full));
        by_process.emplace_back(e.process, share);
      }
      j.shares.push_back(share);
    }
    return;
  }
  if (f == config::flavour::single) o.writers = o.readers = 1;
  j.whole = any_channel::make(type, c.capacity, o);
}

std::vector<port_binding> wiring::bindings(config::index process) const {
  const config::process_plan& p = plan_.processes[process];
  std::vector<port_binding> all;
  for (config::index port = 0; port < p.ports.size(); ++port) {
    port_binding b{p.ports[port].schema->name, {}};
    for (const config::index ci : p.ports[port].channels) {
      const joined& j = channels_[ci];
      any_channel end = j.whole;
      const std::vector<config::endpoint>& readers = plan_.channels[ci].readers;
      for (std::size_t r = 0; r < j.shares.size(); ++r)
        if (readers[r].process == process && readers[r].port == port) end = j.shares[r];
      b.channels.push_back(end);
    }
    std::vector<field_renames::rename> names;
    for (const config::rename_plan& r : p.ports[port].names) names.push_back({r.here, r.there});
    b.names = field_renames(std::move(names));
    if (!b.channels.empty()) all.push_back(std::move(b));
  }
  return all;
}

void wiring::change_user(config::index process) const noexcept {
  for (const config::port_plan& port : plan_.processes[process].ports)
    for (const config::index i : port.channels)
      channels_[i].whole.base()->change_user(port.schema->direction == port_direction::in ? csp::op::recv
                                                                                          : csp::op::send);
}

bool wiring::inputs_over(config::index process) const {
  bool any = false;
  for (const port_binding& b : bindings(process)) {
    const std::vector<config::port_plan>& ports = plan_.processes[process].ports;
    const auto port =
        std::find_if(ports.begin(), ports.end(), [&](const auto& p) { return p.schema->name == b.port; });
    if (port->schema->direction != port_direction::in) continue;
    for (const any_channel& c : b.channels) {
      if (!c.closed() || c.size() > 0) return false;
      any = true;
    }
  }
  return any;
}

void wiring::writer_ended(config::index process) {
  std::set<config::index> written = channels_at(plan_.processes[process], port_direction::out);
  if (plan_.processes[process].dead_letter) written.insert(*plan_.processes[process].dead_letter);
  for (const config::index i : written) {
    joined& j = channels_[i];
    // A process may have closed it itself.
    if (--j.writers == 0 && !j.whole.closed()) j.whole.close();
  }
}

void wiring::reader_ended(config::index process) {
  for (const config::index i : channels_at(plan_.processes[process], port_direction::in)) {
    joined& j = channels_[i];
    const std::vector<config::endpoint>& readers = plan_.channels[i].readers;
    for (std::size_t r = 0; r < j.shares.size(); ++r)
      if (readers[r].process == process) j.shares[r].abandon();
    if (--j.readers > 0) continue;
    j.whole.abandon();
    if (j.whole.type().reply) j.refused += j.whole.discard();
  }
}

std::vector<channel_account> wiring::accounts() const {
  std::vector<channel_account> all;
  for (config::index i = 0; i < channels_.size(); ++i) {
    const joined& j = channels_[i];
    const config::channel_plan& c = plan_.channels[i];
    if (j.shares.empty()) {
      channel_stats s = j.whole.stats();
      s.received -= j.refused;
      s.left += j.refused;
      all.push_back({i, {}, s, config::effective_policy(c)});
      continue;
    }
    std::set<config::index> told;
    for (std::size_t r = 0; r < j.shares.size(); ++r)
      if (told.insert(c.readers[r].process).second)
        all.push_back(
            {i, plan_.processes[c.readers[r].process].name, j.shares[r].stats(), c.readers[r].full});
  }
  return all;
}

}  // namespace leat::services
