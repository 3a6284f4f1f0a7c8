// SPDX-License-Identifier: BSL-1.0
#include <leat/services/deadlock.hpp>

#include <algorithm>
#include <numeric>

namespace leat::services {
namespace {

class search {
 public:
  search(const std::vector<replica_view>& replicas, std::size_t processes)
      : replicas_(replicas), stuck_(replicas.size()), free_(processes), waiting_for_(processes) {}

  std::vector<stuck_set> run() {
    find_stuck();
    join_processes();
    find_components();
    return sets();
  }

 private:
  bool helped(const std::vector<config::index>& group) const {
    return std::any_of(group.begin(), group.end(), [&](config::index p) { return free_[p] > 0; });
  }
  bool helped(const wait_site& w) const {
    return std::all_of(w.helpers.begin(), w.helpers.end(), [&](const auto& group) { return helped(group); });
  }

  void find_stuck() {
    std::vector<config::index> newly_free;
    const auto set_free = [&](std::size_t r) {
      stuck_[r] = false;
      if (free_[replicas_[r].process]++ == 0) newly_free.push_back(replicas_[r].process);
    };
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      stuck_[r] = !replicas_[r].ended;
      if (replicas_[r].ended) continue;
      if (replicas_[r].waits.empty()) set_free(r);
      for (const wait_site& w : replicas_[r].waits)
        for (const auto& group : w.helpers)
          for (const config::index p : group) waiting_for_[p].push_back(r);
    }
    while (!newly_free.empty()) {
      const config::index p = newly_free.back();
      newly_free.pop_back();
      for (const std::size_t r : waiting_for_[p]) {
        if (!stuck_[r]) continue;
        const auto& waits = replicas_[r].waits;
        if (std::any_of(waits.begin(), waits.end(), [&](const wait_site& w) { return helped(w); }))
          set_free(r);
      }
    }
  }

  // p -> q: a stuck replica of p waits for q, which has stuck ones.
  void join_processes() {
    const std::size_t n = free_.size();
    members_.resize(n);
    for (std::size_t r = 0; r < replicas_.size(); ++r)
      if (stuck_[r]) members_[replicas_[r].process].push_back(r);
    edges_.resize(n);
    for (std::size_t r = 0; r < replicas_.size(); ++r) {
      if (!stuck_[r]) continue;
      std::vector<config::index>& to = edges_[replicas_[r].process];
      for (const wait_site& w : replicas_[r].waits)
        for (const auto& group : w.helpers) {
          if (helped(group)) continue;
          for (const config::index p : group)
            if (!members_[p].empty()) to.push_back(p);
        }
    }
    for (std::vector<config::index>& to : edges_) {
      std::sort(to.begin(), to.end());
      to.erase(std::unique(to.begin(), to.end()), to.end());
    }
  }

  // Tarjan's, without recursion: the stacks here are small.
  void find_components() {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    const std::size_t n = edges_.size();
    component_.assign(n, none);
    std::vector<std::size_t> order(n, none);
    std::vector<std::size_t> low(n, 0);
    std::vector<std::size_t> open;
    struct frame {
      std::size_t p;
      std::size_t next;
    };
    std::vector<frame> path;
    std::size_t count = 0;
    for (std::size_t root = 0; root < n; ++root) {
      if (order[root] != none || members_[root].empty()) continue;
      path.push_back({root, 0});
      while (!path.empty()) {
        frame& f = path.back();
        const std::size_t p = f.p;
        if (f.next == 0) {
          order[p] = low[p] = count++;
          open.push_back(p);
        }
        if (f.next < edges_[p].size()) {
          const std::size_t q = edges_[p][f.next++];
          if (order[q] == none)
            path.push_back({q, 0});
          else if (component_[q] == none)
            low[p] = std::min(low[p], order[q]);
          continue;
        }
        if (low[p] == order[p]) {
          std::size_t q = none;
          do {
            q = open.back();
            open.pop_back();
            component_[q] = components_;
          } while (q != p);
          ++components_;
        }
        path.pop_back();
        if (!path.empty()) low[path.back().p] = std::min(low[path.back().p], low[p]);
      }
    }
  }

  // Components are numbered with those first that others lead to.
  std::vector<stuck_set> sets() const {
    constexpr std::size_t nobody = static_cast<std::size_t>(-1);
    std::vector<bool> leads_out(components_);
    std::vector<bool> circle(components_);
    std::vector<std::vector<std::size_t>> of(components_);
    for (std::size_t p = 0; p < edges_.size(); ++p) {
      if (members_[p].empty()) continue;
      of[component_[p]].push_back(p);
      for (const std::size_t q : edges_[p]) {
        if (component_[q] == component_[p])
          circle[component_[p]] = true;
        else
          leads_out[component_[p]] = true;
      }
    }
    std::vector<stuck_set> out;
    std::vector<std::size_t> set_of(components_, nobody);
    for (std::size_t c = 0; c < components_; ++c) {
      if (!leads_out[c] && circle[c]) {
        set_of[c] = out.size();
        stuck_set& s = out.emplace_back();
        for (const std::size_t p : of[c])
          s.members.insert(s.members.end(), members_[p].begin(), members_[p].end());
        std::sort(s.members.begin(), s.members.end());
        continue;
      }
      for (const std::size_t p : of[c])
        for (const std::size_t q : edges_[p])
          if (component_[q] != c && set_of[component_[q]] != nobody) set_of[c] = set_of[component_[q]];
      if (set_of[c] == nobody) continue;
      std::vector<std::size_t>& b = out[set_of[c]].behind;
      for (const std::size_t p : of[c]) b.insert(b.end(), members_[p].begin(), members_[p].end());
    }
    for (stuck_set& s : out) std::sort(s.behind.begin(), s.behind.end());
    return out;
  }

  const std::vector<replica_view>& replicas_;
  std::vector<bool> stuck_;
  std::vector<unsigned> free_;                         // replicas by process that are not stuck
  std::vector<std::vector<std::size_t>> waiting_for_;  // replicas by process that may help them
  std::vector<std::vector<std::size_t>> members_;      // the stuck, by process
  std::vector<std::vector<config::index>> edges_;
  std::vector<std::size_t> component_;
  std::size_t components_ = 0;
};

}  // namespace

std::vector<stuck_set> find_deadlocks(const std::vector<replica_view>& replicas, std::size_t processes) {
  return search(replicas, processes).run();
}

bool can_deadlock(const config::plan& plan) {
  // Processes and channels as nodes, ports as edges: a circle of waits is a circle here, or an edge there and
  // back, where one would wait for room and the other for a value of the same channel.
  const std::size_t processes = plan.processes.size();
  std::vector<std::size_t> group(processes + plan.channels.size());
  std::iota(group.begin(), group.end(), std::size_t{0});
  const auto root = [&](std::size_t n) {
    while (group[n] != n) n = group[n] = group[group[n]];
    return n;
  };
  for (std::size_t p = 0; p < processes; ++p)
    for (const config::port_plan& port : plan.processes[p].ports)
      for (const config::index c : port.channels) {
        const std::size_t a = root(p);
        const std::size_t b = root(processes + c);
        if (a == b) return true;
        group[a] = b;
      }
  return false;
}

}  // namespace leat::services
