// SPDX-License-Identifier: BSL-1.0
//
// What every replica does, and who is to blame.
#include <leat/services/observer.hpp>

#include <sys/stat.h>
#include <algorithm>
#include <cmath>
#include <string_view>
#include <unordered_set>

#include <leat/base/log.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/sight.hpp>

namespace leat::services {

using namespace std::chrono_literals;
using control::activity;
using control::queue_index;
using namespace observing;

namespace {

// How long after its end a verdict is not reported again.
constexpr nanoseconds told_for = 60s;

// What a descriptor is that is no connection. It may be another's by now: a hint for people. Which way is waited for is
// not reported: who talks to a child waits for its output while a G of its own waits for it to read.
constexpr std::string_view a_pipe = "the other end of a pipe", a_device = "a device";
std::string_view waited_for(const sched::g_sight& g) {
  struct stat s = {};
  if (g.fd < 0 || ::fstat(g.fd, &s) != 0) return {};
  return S_ISFIFO(s.st_mode) ? a_pipe : S_ISCHR(s.st_mode) ? a_device : std::string_view();
}

std::string percent(double share) { return std::to_string(std::lround(share * 100)) + " %"; }

}  // namespace

observer::sends_for_door::sends_for_door(observer& o) noexcept {
  const std::uint64_t me = self().id;
  for (std::atomic<std::uint64_t>& place : o.at_the_door_) {
    std::uint64_t nobody = 0;
    if (!place.compare_exchange_strong(nobody, me, std::memory_order_relaxed)) continue;
    place_ = &place;
    return;
  }
}

// Where there is no room at all, a sender that waits is all there is to see.
bool observer::has_senders(const any_channel& c) {
  std::array<csp::waiting_g, 32> found;
  const std::size_t n = std::min(c.base()->waiting(found), found.size());
  return std::any_of(found.begin(), found.begin() + static_cast<std::ptrdiff_t>(n),
                     [](const csp::waiting_g& w) { return w.sends; });
}

observer::waits_by_g observer::waits_now() const {
  waits_by_g all;
  std::vector<csp::waiting_g> found(32);
  const auto ask = [&](const any_channel& end) {
    std::size_t n = 0;
    while ((n = end.base()->waiting(found)) > found.size()) found.resize(2 * n);
    return std::span(found.data(), n);
  };
  for (queue_index q = 0; q < queues_.size(); ++q) {
    const queue& at = queues_[q];
    for (const csp::waiting_g& w : ask(end_of(at))) {
      waits& its = all[w.g];
      (w.sends ? its.sends : its.receives).push_back(q);
      its.since = w.since;
    }
    // Who sends to a channel that copies waits for each share that is full and blocks.
    if (!at.is_share || !machine_.graph().queues[q].blocks || !is_full(at)) continue;
    for (const csp::waiting_g& w : ask(wires_.whole(at.channel))) {
      if (!w.sends) continue;
      waits& its = all[w.g];
      its.sends.push_back(q);
      its.since = w.since;
    }
  }
  return all;
}

activity observer::activity_of(const replica_row& row, const sched::g_sight* g, const waits_by_g& at) const {
  using enum sched::wait_reason;
  activity a;
  if (row.state == replica_state::restarts && row.failed_at != 0) {
    a.what = activity::kind::restarts;
    a.detail = row.failure.data();
    return a;
  }
  if (row.state != replica_state::runs || !g) {
    a.what = activity::kind::is_away;
    return a;
  }
  if (g->status == sched::g_status::syscall) {
    a.what = activity::kind::blocking_call;
    a.detail = "declared";
    a.age = std::max<std::int64_t>(now_ns() - g->since, 0);
    return a;
  }
  if (g->status == sched::g_status::runnable) {
    a.what = activity::kind::waits_for_cpu;
    return a;
  }
  if (g->status != sched::g_status::waiting) {
    if (const std::string call = sched::call_of(*g); !call.empty()) {
      a.what = activity::kind::blocking_call;
      a.detail = call;
    }
    return a;
  }
  a.age = std::max<std::int64_t>(now_ns() - g->since, 0);
  const auto w = at.find(g->g);
  switch (g->reason) {
    case send:
    case receive:
    case select:
      if (w != at.end() && !w->second.receives.empty()) {
        a.what = activity::kind::receives;
        a.queues = w->second.receives;
      } else if (w != at.end() && !w->second.sends.empty()) {
        a.what = activity::kind::sends;
        a.queues = w->second.sends;
      } else {
        // A channel of its own, or a deadline, as of who paces itself by a timer and can be set meanwhile.
        a.what = g->reason == select ? activity::kind::timer : activity::kind::receives;
      }
      break;
    case io:
      a.what = activity::kind::network;
      a.detail = peer_alone(sched::peer_of(*g));
      if (a.detail.empty()) a.detail = waited_for(*g);
      break;
    case sleep: a.what = activity::kind::timer; break;
    default:
      a.what = activity::kind::lock;
      a.detail = sched::to_string(g->reason);
      break;
  }
  return a;
}

std::vector<observer::waits> observer::helpers_of(const std::vector<replica_row>& rows,
                                                  const waits_by_g& at) const {
  std::vector<waits> all(rows.size());
  const auto only_one = [&](const std::vector<control::process_index>& ends) -> waits* {
    if (ends.size() != 1) return nullptr;
    const auto first = std::find(process_of_.begin(), process_of_.end(), ends.front());
    if (first == process_of_.end() || std::count(first, process_of_.end(), ends.front()) != 1) return nullptr;
    return &all[static_cast<std::size_t>(first - process_of_.begin())];
  };
  std::unordered_set<std::uint64_t> of_replicas;
  for (const replica_row& r : rows) of_replicas.insert(r.g);
  for (const auto& each : at) {
    const std::uint64_t g = each.first;  // a lambda cannot have a binding
    const waits& its = each.second;
    if (of_replicas.contains(g)) continue;
    if (std::any_of(at_the_door_.begin(), at_the_door_.end(),
                    [g](const auto& place) { return place.load(std::memory_order_relaxed) == g; }))
      continue;
    for (const queue_index q : its.sends)
      if (waits* const w = only_one(machine_.graph().queues[q].writers)) w->sends.push_back(q);
    for (const queue_index q : its.receives)
      if (waits* const w = only_one(machine_.graph().queues[q].readers)) w->receives.push_back(q);
  }
  return all;
}

void observer::sample(std::int64_t now) {
  const std::vector<replica_row> rows = board_.rows();
  const waits_by_g at = waits_now();
  const sights gs;
  control::blame_sample s;
  s.at = now;
  std::vector<waits> helpers = helpers_of(rows, at);
  for (std::size_t i = 0; i < rows.size(); ++i) {
    activity a = activity_of(rows[i], gs.find(rows[i].g), at);
    // One that waits while others of its own do the work does what they do.
    const bool stands_by = a.what == activity::kind::lock || a.what == activity::kind::network ||
                           a.what == activity::kind::timer ||
                           (a.what == activity::kind::receives && a.queues.empty());
    if (stands_by && !helpers[i].sends.empty())
      a = {.what = activity::kind::sends, .queues = std::move(helpers[i].sends)};
    else if (stands_by && !helpers[i].receives.empty())
      a = {.what = activity::kind::receives, .queues = std::move(helpers[i].receives)};
    s.replicas.push_back(std::move(a));
  }
  for (const queue& q : queues_) s.dropped.push_back(end_of(q).stats().dropped);
  machine_.add(std::move(s));
}

// --- Blame ------------------------------------------------------------------------------------------

control::blame_view observer::describe(const control::verdict& v) const {
  const config::process_plan& p = plan_.processes[process_of_[v.culprit]];
  const config::channel_plan& c = plan_.channels[queues_[v.queue].channel];
  control::blame_view b;
  b.culprit = v.one_of_several ? names_[v.culprit] : plan_.full_name(p);
  b.type = p.type->name;
  b.at = plan_.where(p.at);
  b.channel = plan_.full_name(c);
  b.full_for = seconds(v.held.count());
  b.share = v.share;
  for (const control::process_index i : v.victims) b.victims.push_back(plan_.full_name(plan_.processes[i]));
  switch (v.does) {
    case activity::kind::computes:
      b.kind = "computes";
      b.doing = "computes";
      break;
    case activity::kind::waits_for_cpu:
      b.kind = "CPU";
      b.doing = "waits for a CPU";
      break;
    case activity::kind::blocking_call:
      b.kind = "blocking call";
      b.doing = v.detail == "declared" ? "is in a blocking call" : "blocks in the system call " + v.detail;
      break;
    case activity::kind::network:
      b.kind = v.detail == a_pipe ? "pipe" : v.detail == a_device ? "device" : "network";
      b.doing = "waits for " + (v.detail.empty() ? std::string("the network") : v.detail);
      break;
    case activity::kind::lock:
      b.kind = "lock";
      b.doing = v.detail == "join" || v.detail == "drain" ? "waits for tasks of its own" : "waits for a lock";
      break;
    case activity::kind::restarts:
      b.kind = "restarts";
      b.doing = "is being restarted: " + v.detail;
      break;
    case activity::kind::timer:
      b.kind = "timer";
      b.doing = "sleeps";
      break;
    default:
      b.kind = "channel";
      b.doing = v.waits_at == control::no_queue
                    ? std::string("waits for a channel of its own")
                    : "waits for channel '" + plan_.channels[queues_[v.waits_at].channel].name + "'";
      break;
  }
  const std::string& service = plan_.services[p.service].name;
  const std::string who = v.one_of_several ? names_[v.culprit].substr(service.size() + 1) : p.name;
  b.text = service + ": '" + who + "' (" + b.type + ", " + b.at + ") ";
  const auto local = [&](const control::process_index i) {
    const config::process_plan& x = plan_.processes[i];
    return x.service == p.service ? x.name : plan_.full_name(x);
  };
  const std::string busy = percent(v.share) + " of its time it " + b.doing;
  if (v.drops) {
    b.kind = "drops";
    b.text += "does not keep up with its channel '" + c.name + "', which drops " +
              std::to_string(std::lround(v.drop_rate)) + " values/s: " + busy;
    return b;
  }
  b.text += "holds up ";
  if (v.victims.empty()) b.text += "its channel";
  for (std::size_t i = 0; i < v.victims.size(); ++i) {
    if (i == 5 && v.victims.size() > 6) {
      b.text += " and " + std::to_string(v.victims.size() - i) + " more";
      break;
    }
    b.text += (i ? ", " : "") + local(v.victims[i]);
  }
  b.text += ": " + busy + "; its channel '" + c.name + "' has been full for " +
            std::to_string(std::max<long>(1, std::lround(b.full_for))) + " s";
  return b;
}

void observer::assess(std::int64_t now) {
  blame_.clear();
  for (const control::verdict& v : machine_.verdicts()) {
    blame_.push_back(describe(v));
    const control::blame_view& b = blame_.back();
    auto t = std::find_if(told_.begin(), told_.end(),
                          [&](const told& x) { return x.culprit == b.culprit && x.channel == b.channel; });
    if (t == told_.end()) t = told_.insert(t, {b.culprit, b.channel});
    t->seen = now;
    if (t->said || v.held < plan_.control.blame_after) continue;
    to_say_.push_back({log_level::warning, b.text});
    t->said = true;
  }
  // What comes and goes is reported once.
  std::erase_if(told_, [&](const told& t) { return now - t.seen > told_for.count(); });
}

}  // namespace leat::services
