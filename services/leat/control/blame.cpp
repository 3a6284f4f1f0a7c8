// SPDX-License-Identifier: BSL-1.0
#include <leat/control/blame.hpp>

#include <algorithm>
#include <map>
#include <tuple>
#include <utility>

namespace leat::control {
namespace {

// A queue is held from nearly always on, until it is not even mostly: on a busy machine a sender that has been
// woken waits for a CPU, and is not seen blocked then.
constexpr double nearly_always = 0.75, mostly = 0.5;
constexpr std::size_t fewest_samples = 5;
// One replica is named when it stays at one thing for so long, and so much longer than any other of its
// process; and those must be seen to come round several times in a window, or chance decides whose wait is old.
constexpr double long_wait = 20e6, much_longer = 3;
constexpr std::int64_t short_wait = blame_machine::window.count() / 4;

bool sends_to(const activity& a, queue_index q) {
  return a.what == activity::kind::sends && std::find(a.queues.begin(), a.queues.end(), q) != a.queues.end();
}
bool receives_from(const activity& a, queue_index q) {
  return a.what == activity::kind::receives &&
         std::find(a.queues.begin(), a.queues.end(), q) != a.queues.end();
}

}  // namespace

blame_machine::blame_machine(blame_graph graph)
    : graph_(std::move(graph)), held_since_(graph_.queues.size(), 0), is_held_(graph_.queues.size()) {
  for (replica_index r = 0; r < graph_.process_of.size(); ++r) {
    const process_index p = graph_.process_of[r];
    if (replicas_of_.size() <= p) replicas_of_.resize(p + 1);
    replicas_of_[p].push_back(r);
  }
}

void blame_machine::add(blame_sample s) {
  samples_.push_back(std::move(s));
  while (samples_.size() > fewest_samples && samples_.back().at - samples_[1].at >= window.count())
    samples_.pop_front();
  suspects_ = false;
  const std::size_t last = samples_.size() - 1;
  for (queue_index q = 0; q < graph_.queues.size(); ++q) {
    const bool now = is_suspect(q, last);
    suspects_ |= now;
    if (now && held_since_[q] == 0) held_since_[q] = samples_.back().at;
    if (held_since_[q] == 0) continue;
    std::size_t n = 0;
    for (std::size_t i = 0; i <= last; ++i) n += is_suspect(q, i);
    const double share = static_cast<double>(n) / static_cast<double>(samples_.size());
    if (graph_.queues[q].blocks)
      is_held_[q] = covers_a_window() && share >= (is_held_[q] ? mostly : nearly_always);
    // A sender that is just passing through between two full moments ends nothing, nor does a pause between
    // two bunches of values that are dropped.
    if (!now && (graph_.queues[q].blocks ? share < mostly : n == 0)) held_since_[q] = 0;
  }
}

bool blame_machine::covers_a_window() const {
  return samples_.size() >= fewest_samples &&
         samples_.back().at - samples_.front().at >= window.count() * 3 / 4;
}

bool blame_machine::is_suspect(queue_index q, std::size_t sample) const {
  const blame_sample& s = samples_[sample];
  if (!graph_.queues[q].blocks) return sample > 0 && s.dropped[q] > samples_[sample - 1].dropped[q];
  return std::any_of(s.replicas.begin(), s.replicas.end(), [&](const activity& a) { return sends_to(a, q); });
}

void blame_machine::forget() noexcept {
  samples_.clear();
  std::fill(held_since_.begin(), held_since_.end(), 0);
  std::fill(is_held_.begin(), is_held_.end(), false);
  suspects_ = false;
}

// Of values that come in bunches some samples see none: all that counts is that it goes on.
bool blame_machine::drops_all_the_time(queue_index q, double& rate) const {
  if (graph_.queues[q].blocks) return false;
  const std::uint64_t n = samples_.back().dropped[q] - samples_.front().dropped[q];
  const std::size_t half = samples_.size() / 2;
  if (n == 0 || samples_[half].dropped[q] == samples_.front().dropped[q] ||
      samples_.back().dropped[q] == samples_[half].dropped[q])
    return false;
  rate = static_cast<double>(n) * 1e9 / static_cast<double>(samples_.back().at - samples_.front().at);
  return true;
}

bool blame_machine::is_victim(replica_index r, std::vector<queue_index>& at) const {
  std::map<queue_index, std::size_t> seen;
  std::size_t blocked = 0;
  for (const blame_sample& s : samples_) {
    const activity& a = s.replicas[r];
    if (a.what != activity::kind::sends) continue;
    ++blocked;
    for (const queue_index q : a.queues) ++seen[q];
  }
  if (static_cast<double>(blocked) < mostly * static_cast<double>(samples_.size())) return false;
  for (const auto& [q, n] : seen)
    if (static_cast<double>(n) >= mostly * static_cast<double>(blocked)) at.push_back(q);
  return !at.empty();
}

blame_machine::share_of_time blame_machine::does(replica_index r, queue_index instead_of) const {
  std::map<std::tuple<activity::kind, std::string, queue_index>, std::size_t> seen;
  share_of_time best;
  for (const blame_sample& s : samples_) {
    const activity& a = s.replicas[r];
    if (a.what == activity::kind::is_away || receives_from(a, instead_of)) continue;
    best.all += 1;
    ++seen[{a.what, a.detail, a.queues.empty() ? no_queue : a.queues.front()}];
  }
  for (const auto& [what, n] : seen)
    if (static_cast<double>(n) > best.most)
      best = {best.all, static_cast<double>(n), std::get<0>(what), std::get<1>(what), std::get<2>(what)};
  best.all /= static_cast<double>(samples_.size());
  best.most /= static_cast<double>(samples_.size());
  return best;
}

replica_index blame_machine::slowest(const std::vector<replica_index>& among, queue_index q,
                                     bool& by_far) const {
  by_far = false;
  replica_index worst = among.front();
  double busiest = -1;
  for (const replica_index r : among)
    if (const double busy = does(r, q).all; busy > busiest + 0.01) {
      busiest = busy;
      worst = r;
    }
  if (among.size() < 2) return worst;
  replica_index oldest = among.front();
  double mean = -1;
  for (const replica_index r : among)
    if (const double its = ages_of(r, q).mean; its > mean) {
      mean = its;
      oldest = r;
    }
  by_far = mean >= long_wait && does(oldest, q).all > mostly &&
           std::all_of(among.begin(), among.end(), [&](replica_index r) {
             if (r == oldest) return true;
             const ages its = ages_of(r, q);
             return its.most < short_wait && its.mean * much_longer < mean;
           });
  return by_far ? oldest : worst;
}

blame_machine::ages blame_machine::ages_of(replica_index r, queue_index instead_of) const {
  ages all;
  for (const blame_sample& s : samples_) {
    const activity& a = s.replicas[r];
    if (a.what == activity::kind::is_away || receives_from(a, instead_of)) continue;
    all.mean += static_cast<double>(a.age) / static_cast<double>(samples_.size());
    all.most = std::max(all.most, a.age);
  }
  return all;
}

void blame_machine::add_once(std::vector<verdict>& to, verdict v) {
  const auto same = std::find_if(
      to.begin(), to.end(), [&](const verdict& x) { return x.culprit == v.culprit && x.drops == v.drops; });
  if (same == to.end()) return to.push_back(std::move(v));
  for (const process_index p : v.victims)
    if (std::find(same->victims.begin(), same->victims.end(), p) == same->victims.end())
      same->victims.push_back(p);
  same->held = std::max(same->held, v.held);
}

void blame_machine::walk(queue_index q, verdict v, std::vector<bool>& seen, std::vector<verdict>& to) const {
  if (seen[q]) return;
  seen[q] = true;
  // Who is blocked here, whoever began.
  for (replica_index r = 0; r < graph_.process_of.size(); ++r) {
    const bool blocked = std::any_of(samples_.begin(), samples_.end(),
                                     [&](const blame_sample& s) { return sends_to(s.replicas[r], q); });
    const process_index p = graph_.process_of[r];
    if (blocked && std::find(v.victims.begin(), v.victims.end(), p) == v.victims.end())
      v.victims.push_back(p);
  }
  for (const process_index p : graph_.queues[q].readers) {
    if (p >= replicas_of_.size()) continue;
    std::vector<replica_index> candidates;
    for (const replica_index r : replicas_of_[p]) {
      std::vector<queue_index> further;
      if (!is_victim(r, further)) {
        candidates.push_back(r);
        continue;
      }
      for (const queue_index f : further) walk(f, v, seen, to);
    }
    // While some of them wait downstream, the others are not at fault, unless they are all there is.
    if (candidates.empty() || candidates.size() < replicas_of_[p].size()) continue;
    verdict found = v;
    found.queue = q;
    found.culprit = slowest(candidates, q, found.one_of_several);
    const share_of_time busy = does(found.culprit, q);
    if (busy.all < mostly) continue;  // it receives: the queue was full by chance
    found.does = busy.what;
    found.detail = busy.detail;
    found.waits_at = busy.at;
    found.share = busy.most;
    if (held_since_[q] != 0) found.held = nanoseconds(samples_.back().at - held_since_[q]);
    std::erase(found.victims, p);
    add_once(to, std::move(found));
  }
}

// The index of the verdict that explains why nothing comes from the queue that v's culprit waits at, or the
// number of all: nobody.
std::size_t blame_machine::cause_of(const verdict& v, const std::vector<verdict>& all) const {
  std::vector<queue_index> todo{v.waits_at};
  std::vector<bool> seen(graph_.queues.size());
  while (!todo.empty()) {
    const queue_index q = todo.back();
    todo.pop_back();
    if (seen[q]) continue;
    seen[q] = true;
    for (const process_index w : graph_.queues[q].writers) {
      for (std::size_t i = 0; i < all.size(); ++i) {
        const verdict& x = all[i];
        const bool waits_too = x.does == activity::kind::receives && x.waits_at != no_queue;
        if (&x != &v && !waits_too && !x.drops &&
            (graph_.process_of[x.culprit] == w ||
             std::find(x.victims.begin(), x.victims.end(), w) != x.victims.end()))
          return i;
      }
      if (w >= replicas_of_.size()) continue;
      // It gets nothing itself: whoever feeds it.
      for (const replica_index r : replicas_of_[w])
        for (const queue_index f : samples_.back().replicas[r].what == activity::kind::receives
                                       ? samples_.back().replicas[r].queues
                                       : std::vector<queue_index>())
          todo.push_back(f);
    }
  }
  return all.size();
}

void blame_machine::spare_who_waits(std::vector<verdict>& all) const {
  for (std::size_t i = 0; i < all.size();) {
    const verdict& v = all[i];
    const std::size_t cause = v.does == activity::kind::receives && v.waits_at != no_queue && !v.drops
                                  ? cause_of(v, all)
                                  : all.size();
    if (cause == all.size()) {
      ++i;
      continue;
    }
    verdict& to = all[cause];
    std::vector<process_index> held = v.victims;
    held.push_back(graph_.process_of[v.culprit]);
    for (const process_index p : held)
      if (p != graph_.process_of[to.culprit] &&
          std::find(to.victims.begin(), to.victims.end(), p) == to.victims.end())
        to.victims.push_back(p);
    all.erase(all.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

std::vector<verdict> blame_machine::verdicts() const {
  std::vector<verdict> all;
  if (!covers_a_window()) return all;
  for (queue_index q = 0; q < graph_.queues.size(); ++q) {
    if (!is_held_[q]) continue;
    std::vector<bool> seen(graph_.queues.size());
    walk(q, {}, seen, all);
  }
  spare_who_waits(all);
  for (queue_index q = 0; q < graph_.queues.size(); ++q) {
    verdict v;
    if (!drops_all_the_time(q, v.drop_rate)) continue;
    v.drops = true;
    std::vector<bool> fresh(graph_.queues.size());
    walk(q, v, fresh, all);
  }
  std::stable_sort(all.begin(), all.end(),
                   [](const verdict& a, const verdict& b) { return a.held > b.held; });
  return all;
}

}  // namespace leat::control
