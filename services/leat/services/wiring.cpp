// SPDX-License-Identifier: BSL-1.0
#include <leat/services/wiring.hpp>

#include <algorithm>
#include <set>

#include <leat/config/graph.hpp>
#include <leat/csp/composite.hpp>
#include <leat/csp/keyed.hpp>
#include <leat/csp/latest_by_key.hpp>
#include <leat/process/message_key.hpp>
#include <leat/process/registry.hpp>
#include <leat/services/aside.hpp>

namespace leat::services {
namespace {

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
  for (std::size_t i = 0; i < plan.processes.size(); ++i) losses_.push_back(std::make_shared<loss_counts>());
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
  o.full = config::effective_policy(c);
  std::set<config::index> writers = processes_of(c.writers);
  for (config::index i = 0; c.dead_letters && i < plan_.processes.size(); ++i)
    if (plan_.processes[i].dead_letter == channel) writers.insert(i);
  j.writers = writers.size();
  j.readers = processes_of(c.readers).size();
  if (c.store) return make_stored(j, c, type, o);
  const leat::flavour f = config::choose_flavour(plan_, c);
  if (!c.key.empty() && f != leat::flavour::broadcast) {
    const std::set<config::index> readers = processes_of(c.readers);
    j.whole = make_queues(j, c, type, {readers.begin(), readers.end()}, o);
    return;
  }
  if (!c.key.empty() && !c.readers.empty()) {
    if (!type.copyable()) throw wiring_error(describe_content(type) + " cannot be copied");
    std::vector<std::pair<config::index, any_channel>> groups;
    csp::channel_list all;
    for (const config::endpoint& e : c.readers) {
      const auto same =
          std::find_if(groups.begin(), groups.end(), [&](const auto& g) { return g.first == e.process; });
      if (same != groups.end()) {
        j.shares.push_back(same->second);
        continue;
      }
      o.full = e.full;
      j.shares.push_back(make_queues(j, c, type, {e.process}, o));
      groups.emplace_back(e.process, j.shares.back());
      all.push_back(j.shares.back().state());
    }
    j.whole = any_channel(type, csp::fan_out(std::move(all), type.copier));
    return;
  }
  if (f == leat::flavour::broadcast) {
    j.whole = any_channel::make(broadcast, type, c.capacity, o);
    // Replicas of one process, and several ports of it, share what it gets.
    std::vector<std::pair<config::index, any_channel>> by_process;
    for (const config::endpoint& e : c.readers) {
      any_channel share;
      for (const auto& [process, made] : by_process)
        if (process == e.process) share = made;
      if (!share) {
        share = j.whole.subscribe(c.capacity, e.full);
        by_process.emplace_back(e.process, share);
      }
      j.shares.push_back(share);
    }
    return;
  }
  if (f == leat::flavour::single) o.writers = o.readers = 1;
  j.whole = any_channel::make(type, c.capacity, o);
}

void wiring::make_stored(joined& j, const config::channel_plan& c, const port_type& type,
                         const channel_options& o) {
  j.whole = stores_.make(plan_, c, type, o);
  for (const config::endpoint& e : c.readers) {
    const config::process_plan& p = plan_.processes[e.process];
    if (p.ports[e.port].delivery != config::delivery::at_least_once) continue;
    for (unsigned k = 0; k < p.replicas; ++k) {
      careful end;
      end.at = e;
      end.replica = k;
      end.end = stores::careful_end(j.whole);
      j.careful_ends.push_back(std::move(end));
    }
  }
}

// Never rings for one writer: others may send into a channel with several readers (`leat inject`).
any_channel wiring::make_queues(joined& j, const config::channel_plan& c, const port_type& type,
                                const std::vector<config::index>& readers, const channel_options& o) {
  const std::shared_ptr<const csp::key_of> key = make_message_key(type.message(), c.key);
  const auto make_queue = [&] {
    if (o.full != leat::full::latest) return any_channel::make(type, c.capacity, o);
    return any_channel(type,
                       csp::ref<csp::channel_base>(new csp::latest_by_key(c.keys, o, key, type.keep_value)));
  };
  const std::size_t first = j.queues.size();
  csp::channel_list all;
  for (const config::index p : readers)
    for (unsigned k = 0; k < plan_.processes[p].replicas; ++k) {
      queue q;
      q.process = p;
      q.replica = k;
      q.end = make_queue();
      q.number = all.size();
      all.push_back(q.end.state());
      j.queues.push_back(std::move(q));
    }
  if (all.empty()) return make_queue();
  if (all.size() == 1) return j.queues[first].end;
  auto* const group = new csp::keyed(std::move(all), key, o);
  any_channel made(type, csp::ref<csp::channel_base>(group));
  for (std::size_t i = first; i < j.queues.size(); ++i) j.queues[i].group = group;
  return made;
}

void wiring::replica_ended(config::index process, unsigned replica) {
  for (joined& j : channels_)
    for (queue& q : j.queues) {
      if (q.process != process || q.replica != replica || !q.group) continue;
      q.group->leave(q.number);
      q.end.abandon();
    }
}

std::vector<port_binding> wiring::bindings(config::index process, unsigned replica) const {
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
      if (p.ports[port].schema->direction == port_direction::in)
        for (const queue& q : j.queues)
          if (q.process == process && q.replica == replica) end = q.end;
      for (const careful& e : j.careful_ends)
        if (e.at.process == process && e.at.port == port && e.replica == replica) end = e.end;
      b.channels.push_back(end);
    }
    std::vector<field_renames::rename> names;
    for (const config::rename_plan& r : p.ports[port].names) names.push_back({r.here, r.there});
    b.names = field_renames(std::move(names));
    b.losses = losses_[process];
    // One conversion for all of them: the strictest counts.
    for (const config::index ci : p.ports[port].channels)
      b.unknown = ci == p.ports[port].channels.front() ? plan_.channels[ci].unknown
                                                       : std::max(b.unknown, plan_.channels[ci].unknown);
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

bool wiring::inputs_over(config::index process, unsigned replica) const {
  bool any = false;
  for (const port_binding& b : bindings(process, replica)) {
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
    if (j.whole.type().reply)
      (void)run_aside([whole = j.whole, refused = j.refused] { (void)whole.discard(refused.get()); });
  }
}

std::vector<channel_account> wiring::accounts() const {
  std::vector<channel_account> all;
  for (config::index i = 0; i < channels_.size(); ++i) {
    const joined& j = channels_[i];
    const config::channel_plan& c = plan_.channels[i];
    if (j.shares.empty()) {
      // Read first: what is thrown away counts there as received before it counts here.
      const std::uint64_t thrown_away = j.refused->load();
      channel_stats s = j.whole.stats();
      const std::uint64_t refused = std::min(thrown_away, s.received);
      s.received -= refused;
      s.left += refused;
      all.push_back({i, {}, s, config::effective_policy(c)});
      all.back().store = stores::account(j.whole);
      continue;
    }
    std::set<config::index> told;
    for (std::size_t r = 0; r < j.shares.size(); ++r) {
      if (!told.insert(c.readers[r].process).second) continue;
      channel_stats s = j.shares[r].stats();
      if (told.size() == 1) s.refused = j.whole.stats().refused;  // of all shares: told once
      all.push_back({i, plan_.processes[c.readers[r].process].name, s, c.readers[r].full});
    }
  }
  add_losses(all);
  return all;
}

void wiring::add_losses(std::vector<channel_account>& to) const {
  for (config::index i = 0; i < plan_.processes.size(); ++i) {
    const std::string& name = plan_.processes[i].name;
    const std::uint64_t lost = losses_[i]->lost.load(std::memory_order_relaxed);
    const std::uint64_t rejected = losses_[i]->rejected.load(std::memory_order_relaxed);
    const std::uint64_t fields = losses_[i]->fields.load(std::memory_order_relaxed);
    if (lost == 0 && rejected == 0 && fields == 0) continue;
    for (const port_direction d : {port_direction::in, port_direction::out}) {
      const std::set<config::index> its = channels_at(plan_.processes[i], d);
      const auto at = std::find_if(to.begin(), to.end(), [&](const channel_account& a) {
        return its.contains(a.channel) && (d == port_direction::out || a.reader.empty() || a.reader == name);
      });
      if (at == to.end()) continue;
      at->losses.push_back({name, lost, rejected, fields});
      break;
    }
  }
}

}  // namespace leat::services
