// SPDX-License-Identifier: BSL-1.0
#include <leat/services/deadlock_watch.hpp>

#include <algorithm>
#include <chrono>
#include <unordered_map>

namespace leat::services {

using namespace std::chrono_literals;

namespace {

// Together less than two seconds from a deadlock to its report.
constexpr nanoseconds while_busy = 700ms, while_at_rest = 1400ms, until_sure = 300ms;
constexpr std::uint64_t busy_from = 100;  // sends and receives since the last look
constexpr std::size_t most_lines = 20;

constexpr std::size_t whole_channel = static_cast<std::size_t>(-1);

std::vector<config::index> their_processes(const std::vector<config::endpoint>& ends) {
  std::vector<config::index> all;
  all.reserve(ends.size());
  for (const config::endpoint& e : ends) all.push_back(e.process);
  return all;
}

}  // namespace

deadlock_watch::deadlock_watch(const config::plan& plan, const wiring& wires) : plan_(plan), wires_(wires) {
  if (can_deadlock(plan)) next_ = leat::now() + while_busy;
}

bool deadlock_watch::suspicion::same(const suspicion& other) const {
  return members == other.members && moved == other.moved &&
         std::equal(
             waits.begin(), waits.end(), other.waits.begin(), other.waits.end(),
             [](const seen_wait& a, const seen_wait& b) { return a.wait == b.wait && a.since == b.since; });
}

void deadlock_watch::ask(const any_channel& end, std::vector<csp::waiting_g>& to) const {
  to.resize(std::max<std::size_t>(to.capacity(), 16));
  std::size_t n = 0;
  while ((n = end.base()->waiting(to)) > to.size()) to.resize(2 * n);
  to.resize(n);
}

std::vector<std::vector<config::index>> deadlock_watch::helpers(config::index channel, bool sends,
                                                                std::size_t share) const {
  const config::channel_plan& c = plan_.channels[channel];
  if (!sends) return {their_processes(c.writers)};
  const std::vector<any_channel>& shares = wires_.shares(channel);
  if (share == whole_channel && shares.empty()) return {their_processes(c.readers)};
  // Each reader that holds the sender up has to make room.
  std::vector<std::vector<config::index>> groups;
  for (std::size_t r = 0; r < shares.size(); ++r) {
    const bool blocks = c.readers[r].full == leat::full::block || c.readers[r].full == leat::full::fail;
    if (blocks && shares[r].size() >= shares[r].capacity()) groups.push_back({c.readers[r].process});
  }
  return groups;
}

deadlock_watch::picture deadlock_watch::take(const std::vector<replica_sight>& replicas) {
  picture now;
  now.replicas.resize(replicas.size());
  now.waits.resize(replicas.size());
  std::unordered_map<const void*, std::size_t> by_stop;
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    now.replicas[r].process = replicas[r].process;
    now.replicas[r].ended = replicas[r].ended;
    if (replicas[r].stop && !replicas[r].ended) by_stop.emplace(replicas[r].stop, r);
  }
  std::vector<csp::waiting_g> waiting;
  const auto look_at = [&](const any_channel& end, config::index channel, std::size_t share) {
    ask(end, waiting);
    for (const csp::waiting_g& w : waiting) {
      const auto found = by_stop.find(w.stop);
      if (found == by_stop.end()) continue;
      seen_wait& seen = now.waits[found->second];
      if (!seen.wait) seen = {w.wait, w.since, w.places, 0};
      if (seen.wait == w.wait) ++seen.found;
      now.replicas[found->second].waits.push_back({channel, w.sends, helpers(channel, w.sends, share)});
    }
  };
  for (config::index c = 0; c < plan_.channels.size(); ++c) {
    const any_channel& whole = wires_.whole(c);
    const channel_stats s = whole.stats();
    now.moved += s.sent + s.received;
    look_at(whole, c, whole_channel);
    const std::vector<any_channel>& shares = wires_.shares(c);
    for (std::size_t r = 0; r < shares.size(); ++r) {
      now.moved += shares[r].stats().received;
      // Several ports of a process have one share.
      const bool seen = std::any_of(shares.begin(), shares.begin() + static_cast<std::ptrdiff_t>(r),
                                    [&](const any_channel& x) { return x.base() == shares[r].base(); });
      if (!seen) look_at(shares[r], c, r);
    }
  }
  for (std::size_t r = 0; r < replicas.size(); ++r) {
    std::vector<wait_site>& waits = now.replicas[r].waits;
    const seen_wait& seen = now.waits[r];
    // It waits for something else as well, or has just gone on.
    const bool known = seen.places > 0 && seen.places == seen.found && waits.size() == seen.found;
    const bool may_come = std::any_of(waits.begin(), waits.end(), [&](const wait_site& w) {
      return w.helpers.empty() || (!w.sends && plan_.channels[w.channel].dead_letters);
    });
    if (!known || may_come) waits.clear();
  }
  return now;
}

std::vector<deadlock_set> deadlock_watch::look(const std::vector<replica_sight>& replicas,
                                               const std::vector<std::string>& names, time_point now) {
  const picture p = take(replicas);
  std::vector<suspicion> suspicions;
  std::vector<deadlock_set> out;
  bool unsure = false;
  for (const stuck_set& s : find_deadlocks(p.replicas, plan_.processes.size())) {
    suspicion x{s.members, {}, 0, false};
    for (const std::size_t r : s.members) {
      x.waits.push_back(p.waits[r]);
      for (const wait_site& w : p.replicas[r].waits) {
        const channel_stats stats = wires_.whole(w.channel).stats();
        x.moved += stats.sent + stats.received;
      }
    }
    const auto before =
        std::find_if(suspicions_.begin(), suspicions_.end(), [&](const suspicion& y) { return y.same(x); });
    if (before == suspicions_.end()) {
      unsure = true;
    } else {
      x.told = true;
      if (!before->told) out.push_back({s.members, s.behind, describe(s, p, names)});
    }
    suspicions.push_back(std::move(x));
  }
  suspicions_ = std::move(suspicions);
  next_ = now + (unsure ? until_sure : p.moved - moved_ >= busy_from ? while_busy : while_at_rest);
  moved_ = p.moved;
  return out;
}

std::vector<std::string> deadlock_watch::describe(const stuck_set& s, const picture& now,
                                                  const std::vector<std::string>& names) const {
  const auto who = [&](std::size_t r) {
    const config::process_plan& p = plan_.processes[now.replicas[r].process];
    return "process '" + names[r] + "' (" + p.type->name + ", " + plan_.where(p.at) + ")";
  };
  std::vector<std::string> lines;
  std::string head = "deadlock: ";
  head += s.members.size() == 1 ? "a process waits for itself"
                                : std::to_string(s.members.size()) + " processes wait only for one another";
  if (!s.behind.empty()) head += ", and " + std::to_string(s.behind.size()) + " behind them";
  lines.push_back(std::move(head));
  for (const std::size_t r : s.members) {
    if (lines.size() > most_lines) {
      lines.push_back("... and " + std::to_string(s.members.size() - most_lines) + " more");
      break;
    }
    std::string line = who(r) + " waits to ";
    const char* between = "";
    for (const wait_site& w : now.replicas[r].waits) {
      const config::channel_plan& c = plan_.channels[w.channel];
      any_channel at = wires_.whole(w.channel);
      for (std::size_t i = 0; i < wires_.shares(w.channel).size(); ++i) {
        const any_channel& share = wires_.shares(w.channel)[i];
        const bool its = !w.sends && c.readers[i].process == now.replicas[r].process;
        if (its || (w.sends && share.size() >= share.capacity())) at = share;
      }
      line.append(between).append(w.sends ? "send to" : "receive from");
      line += " channel '" + plan_.full_name(c) + "' (" + std::to_string(at.size()) + " of " +
              std::to_string(at.capacity()) + " values" +
              (c.at.known() ? ", " + plan_.where(c.at) : std::string()) + ")";
      between = ", or to ";
    }
    lines.push_back(std::move(line));
  }
  if (!s.behind.empty()) {
    std::string line = "behind them:";
    for (std::size_t i = 0; i < std::min(s.behind.size(), most_lines); ++i)
      line += (i ? ", " : " ") + who(s.behind[i]);
    if (s.behind.size() > most_lines) line += ", ...";
    lines.push_back(std::move(line));
  }
  return lines;
}

}  // namespace leat::services
