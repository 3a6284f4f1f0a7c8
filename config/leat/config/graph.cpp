// SPDX-License-Identifier: BSL-1.0
#include <leat/config/graph.hpp>

#include <algorithm>
#include <limits>
#include <utility>

namespace leat::config {

namespace {

// Processes, and behind them channels: with edges from process to process, a channel of many writers and many
// readers would have as many edges as their product.
using graph = std::vector<std::vector<index>>;

graph edges_of(const plan& p, bool only_blocking) {
  const auto processes = static_cast<index>(p.processes.size());
  graph out(p.processes.size() + p.channels.size());
  for (index c = 0; c < p.channels.size(); ++c) {
    const channel_plan& channel = p.channels[c];
    for (const endpoint& writer : channel.writers) out[writer.process].push_back(processes + c);
    for (const endpoint& reader : channel.readers) {
      const leat::full full = channel.copy ? reader.full : channel.full;
      if (!only_blocking || full == leat::full::block) out[processes + c].push_back(reader.process);
    }
  }
  return out;
}

// Sets of nodes that reach one another, in reverse topological order (Tarjan, without recursion: a chain may
// be as long as there are processes).
class components {
 public:
  explicit components(const graph& g)
      : graph_(g), number_(g.size(), unseen), low_(g.size(), 0), open_(g.size()) {
    for (index n = 0; n < g.size(); ++n)
      if (number_[n] == unseen) visit(n);
  }

  std::vector<std::vector<index>> found;

 private:
  static constexpr index unseen = std::numeric_limits<index>::max();
  struct frame {
    index node;
    std::size_t next_edge;
  };

  void enter(index n) {
    number_[n] = low_[n] = count_++;
    stack_.push_back(n);
    open_[n] = true;
    calls_.push_back({n, 0});
  }

  void visit(index root) {
    enter(root);
    while (!calls_.empty()) {
      frame& f = calls_.back();
      const index n = f.node;
      if (f.next_edge < graph_[n].size()) {
        const index to = graph_[n][f.next_edge++];
        if (number_[to] == unseen)
          enter(to);
        else if (open_[to])
          low_[n] = std::min(low_[n], number_[to]);
        continue;
      }
      calls_.pop_back();
      if (!calls_.empty()) low_[calls_.back().node] = std::min(low_[calls_.back().node], low_[n]);
      if (low_[n] == number_[n]) close(n);
    }
  }

  void close(index n) {
    std::vector<index> members;
    index last = unseen;
    do {
      last = stack_.back();
      stack_.pop_back();
      open_[last] = false;
      members.push_back(last);
    } while (last != n);
    std::sort(members.begin(), members.end());
    found.push_back(std::move(members));
  }

  const graph& graph_;
  std::vector<index> number_, low_;
  std::vector<bool> open_;
  std::vector<index> stack_;
  std::vector<frame> calls_;
  index count_ = 0;
};

constexpr index nowhere = std::numeric_limits<index>::max();

// A shortest way from a node back to it, within its component. `came` and `within` have a place for each
// node; came is nowhere for all of them.
std::vector<index> shortest_cycle(const graph& g, index start, const std::vector<bool>& within,
                                  std::vector<index>& came) {
  std::vector<index> queue{start};
  for (std::size_t i = 0; i < queue.size(); ++i) {
    for (const index to : g[queue[i]]) {
      if (!within[to] || came[to] != nowhere) continue;
      came[to] = queue[i];
      queue.push_back(to);
      if (to != start) continue;
      std::vector<index> out;
      index at = start;
      do {
        at = came[at];
        out.push_back(at);
      } while (at != start);
      std::reverse(out.begin(), out.end());
      return out;
    }
  }
  return {};
}

}  // namespace

user_count count_users(const plan& p, const channel_plan& c) {
  user_count out;
  const auto users = [&](const endpoint& e) {
    const port_schema* const s = p.processes[e.process].ports[e.port].schema;
    return p.processes[e.process].replicas * (s && s->helpers ? 2 : 1);
  };
  for (const endpoint& e : c.writers) out.writers += users(e);
  std::vector<index> reading;
  for (const endpoint& e : c.readers) {
    out.readers += users(e);
    reading.push_back(e.process);
  }
  std::sort(reading.begin(), reading.end());
  out.reading_processes =
      static_cast<unsigned>(std::unique(reading.begin(), reading.end()) - reading.begin());
  return out;
}

unsigned reading_replicas(const plan& p, const channel_plan& c) {
  std::vector<index> reading;
  for (const endpoint& e : c.readers) reading.push_back(e.process);
  std::sort(reading.begin(), reading.end());
  reading.erase(std::unique(reading.begin(), reading.end()), reading.end());
  unsigned n = 0;
  for (const index i : reading) n += p.processes[i].replicas;
  return n;
}

leat::full effective_policy(const channel_plan& c) {
  return c.copy && c.readers.size() == 1 ? c.readers.front().full : c.full;
}

flavour choose_flavour(const plan& p, const channel_plan& c) {
  if (c.store) return flavour::stored;
  const user_count n = count_users(p, c);
  // Readers of other services may yet come and go with their services.
  if (c.copy && (c.readers.size() != 1 || c.exported)) return flavour::broadcast;
  const leat::full full = effective_policy(c);
  if (!c.key.empty() && reading_replicas(p, c) > 1) return flavour::keyed;
  if (full == leat::full::latest) return c.key.empty() ? flavour::latest : flavour::latest_by_key;
  if (c.capacity == 0) return flavour::rendezvous;
  const bool reader_alone_takes = full != leat::full::drop_oldest;
  // Requests whose reader has gone are taken out by somebody else.
  const bool alone = reader_alone_takes && !c.dead_letters && c.reply.empty() && !c.inject;
  if (n.writers == 1 && n.readers == 1 && alone) return flavour::single;
  return flavour::many;
}

std::vector<index> sinks_first(const plan& p) {
  const graph g = edges_of(p, false);
  std::vector<index> out;
  out.reserve(p.processes.size());
  for (const std::vector<index>& members : components(g).found)
    for (const index n : members)
      if (n < p.processes.size()) out.push_back(n);
  return out;
}

std::vector<blocking_cycle> blocking_cycles(const plan& p) {
  const graph g = edges_of(p, true);
  const auto processes = static_cast<index>(p.processes.size());
  std::vector<blocking_cycle> out;
  std::vector<bool> within(g.size());
  std::vector<index> came(g.size(), nowhere);
  for (const std::vector<index>& members : components(g).found) {
    if (members.size() < 2) continue;
    for (const index n : members) within[n] = true;
    blocking_cycle cycle;
    // Sorted, so it begins with a process.
    for (const index n : shortest_cycle(g, members.front(), within, came)) {
      if (n < processes)
        cycle.processes.push_back(n);
      else
        cycle.channels.push_back(n - processes);
    }
    out.push_back(std::move(cycle));
    for (const index n : members) {
      within[n] = false;
      came[n] = nowhere;
    }
  }
  std::sort(out.begin(), out.end(), [](const blocking_cycle& a, const blocking_cycle& b) {
    return a.processes.front() < b.processes.front();
  });
  return out;
}

memory_sum sum_memory(const plan& p) {
  constexpr std::uint64_t pointer = sizeof(void*);
  memory_sum out;
  for (const process_plan& process : p.processes) {
    out.stacks += std::uint64_t{process.replicas} * process.stack;
    if (process.type) out.pools += process.replicas * process.type->object_size;
  }
  for (const channel_plan& c : p.channels) {
    const flavour f = choose_flavour(p, c);
    if (!c.key.empty()) {
      // A queue for each replica; what is kept by key is in a node with five pointers, and in a table.
      const auto queue = [&](leat::full full) {
        return full == leat::full::latest ? c.keys * (c.value_size + 6 * pointer) : c.capacity * c.value_size;
      };
      if (f != flavour::broadcast) {
        out.rings += std::max(1u, reading_replicas(p, c)) * queue(effective_policy(c));
      } else {
        for (const endpoint& reader : c.readers)
          out.rings += p.processes[reader.process].replicas * queue(reader.full);
      }
      continue;
    }
    if (f == flavour::stored) {
      // What is ready, and what is not yet written, at most.
      constexpr std::uint64_t ready = 1 << 18, unwritten = 1 << 20;
      out.rings +=
          std::max<std::uint64_t>(c.capacity * c.value_size, ready) + std::min(c.store->max, unwritten);
      continue;
    }
    if (f != flavour::broadcast) {
      out.rings += (effective_policy(c) == leat::full::latest ? 1 : c.capacity) * c.value_size;
      continue;
    }
    // The values once, and a ring of pointers for each reader.
    out.rings += c.capacity * c.value_size;
    for (const endpoint& reader : c.readers)
      out.rings += (reader.full == leat::full::latest ? 1 : c.capacity) * pointer;
  }
  return out;
}

}  // namespace leat::config
