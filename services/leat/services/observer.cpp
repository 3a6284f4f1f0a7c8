// SPDX-License-Identifier: BSL-1.0
#include <leat/services/observer.hpp>

#include <sys/resource.h>
#include <algorithm>
#include <array>
#include <cmath>
#include <ctime>
#include <mutex>

#include <leat/base/log.hpp>
#include <leat/config/graph.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>
#include <leat/services/notify.hpp>

namespace leat::services {

using namespace std::chrono_literals;
using control::activity;
using control::queue_index;
using namespace observing;

namespace {

// With a window of blame (control/blame.hpp), less than two seconds from a full queue to the name of who is slow.
constexpr nanoseconds at_rest = 600ms, while_suspicious = 100ms;
// Rates are of somewhat more than two seconds: of a slow channel they would jump from tick to tick.
constexpr std::size_t rate_ticks = 4;
constexpr unsigned looks_to_clear = 4;

std::string utc_now() {
  const std::time_t now = std::time(nullptr);
  std::tm utc{};
  ::gmtime_r(&now, &utc);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &utc)};
}

std::int64_t program_cpu() {
  rusage u{};
  (void)::getrusage(RUSAGE_SELF, &u);
  const auto ns = [](const timeval& t) {
    return static_cast<std::int64_t>(t.tv_sec) * second + static_cast<std::int64_t>(t.tv_usec) * 1000;
  };
  return ns(u.ru_utime) + ns(u.ru_stime);
}

}  // namespace

std::string observing::peer_alone(std::string both) {
  for (const std::string_view arrow : {" <- ", " -> "})
    if (const std::size_t at = both.rfind(arrow); at != std::string::npos)
      return both.substr(at + arrow.size());
  return both;
}

// --- What there is ----------------------------------------------------------------------------------

std::vector<observer::queue> observer::queues_of(const config::plan& plan, const wiring& wires) {
  std::vector<queue> all;
  for (config::index c = 0; c < plan.channels.size(); ++c) {
    if (wires.shares(c).empty()) {
      all.push_back({c});
      continue;
    }
    std::vector<config::index> seen;
    for (std::size_t r = 0; r < wires.shares(c).size(); ++r) {
      const config::index reader = plan.channels[c].readers[r].process;
      if (std::find(seen.begin(), seen.end(), reader) != seen.end()) continue;
      seen.push_back(reader);
      all.push_back({c, r, true});
    }
  }
  return all;
}

const any_channel& observer::end_of(const queue& q) const {
  return q.is_share ? wires_.shares(q.channel)[q.share] : wires_.whole(q.channel);
}

leat::full observer::policy_of(const queue& q) const {
  const config::channel_plan& c = plan_.channels[q.channel];
  return q.is_share ? c.readers[q.share].full : config::effective_policy(c);
}

bool observer::is_full(const queue& q) const {
  const any_channel& c = end_of(q);
  // A store is bound by bytes.
  return plan_.channels[q.channel].store ? has_senders(c) : c.size() >= c.capacity();
}

control::blame_graph observer::graph_of(const config::plan& plan, const std::vector<queue>& queues,
                                        std::vector<config::index> process_of) {
  control::blame_graph g;
  g.process_of = std::move(process_of);
  for (const queue& q : queues) {
    const config::channel_plan& c = plan.channels[q.channel];
    const leat::full policy = q.is_share ? c.readers[q.share].full : config::effective_policy(c);
    control::blame_graph::queue& made = g.queues.emplace_back();
    made.blocks = policy == leat::full::block || policy == leat::full::fail;
    const auto add = [](std::vector<control::process_index>& to, config::index process) {
      if (std::find(to.begin(), to.end(), process) == to.end()) to.push_back(process);
    };
    for (const config::endpoint& e : c.writers) add(made.writers, e.process);
    if (q.is_share)
      add(made.readers, c.readers[q.share].process);
    else
      for (const config::endpoint& e : c.readers) add(made.readers, e.process);
  }
  return g;
}

observer::observer(const config::plan& plan, const wiring& wires, const board& rows, deployment_identity who,
                   std::vector<config::index> process_of, std::vector<std::string> names)
    : plan_(plan),
      wires_(wires),
      board_(rows),
      process_of_(std::move(process_of)),
      names_(std::move(names)),
      queues_(queues_of(plan, wires)),
      program_{std::move(who), now_ns(), utc_now()},
      injected_(plan.channels.size()),
      full_since_(queues_.size(), 0),
      machine_(graph_of(plan, queues_, process_of_)),
      drops_(queues_.size()),
      injections_(plan.channels.size()),
      restarts_(names_.size()) {}

// --- As time goes by --------------------------------------------------------------------------------

void observer::run() {
  time_point next = leat::now();
  std::int64_t late = -1;  // at this wake; -1: it has not slept
  while (!stop_requested()) {
    bool suspicious = false, watched = false;
    std::vector<log_line> lines;
    try {
      const std::lock_guard held(lock_);
      const std::int64_t now = now_ns();
      if (late >= 0) delay_.add(late);
      watched = now - looked_at_ < cpu_watch.count();
      if (counted_.last().accounts.empty() || now - counted_.last().at >= at_rest.count() * 9 / 10) tick(now);
      // A queue that is full nearly always is not so at each look: it takes several in a row to clear it.
      quiet_looks_ = machine_.suspects() || worth_a_sample(counted_.last().accounts) ? 0 : quiet_looks_ + 1;
      suspicious = quiet_looks_ < looks_to_clear;
      if (suspicious)
        sample(now);
      else
        machine_.forget();
      assess(now);
      report_status(now);
      lines.swap(to_say_);
    } catch (const std::exception& e) {  // memory, usually: the next round may have it
      log_warning("services", "a look at the deployment failed: {}", e.what());
    }
    for (const log_line& l : lines) log(l.level, "services", "{}", l.text);
    next = std::max(next + (suspicious || watched ? while_suspicious : at_rest), leat::now());
    const bool sleeps = leat::now() < next;
    late = sleep_until(next) == sleep_result::elapsed && sleeps ? (leat::now() - next).count() : -1;
  }
}

void observer::looks::add(counters now) {
  if (!last_.accounts.empty()) earlier_.push_back(std::move(last_));
  last_ = std::move(now);
  while (earlier_.size() > rate_ticks) earlier_.pop_front();
}

void observer::tick(std::int64_t now) {
  // What may find no memory comes first: whoever looks then finds all of the last round, and not half of this one.
  counters fresh{now, wires_.accounts()};
  counted_.add(std::move(fresh));
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    const bool full = end_of(queues_[q]).capacity() > 0 && is_full(queues_[q]);
    if (!full)
      full_since_[q] = 0;
    else if (full_since_[q] == 0)
      full_since_[q] = now;
    const auto line = drops_.add(q, counted_.last().accounts[q].stats.dropped, now);
    if (!line) continue;
    const config::channel_plan& c = plan_.channels[queues_[q].channel];
    std::string readers;
    for (const control::process_index p : machine_.graph().queues[q].readers)
      readers += (readers.empty() ? "'" : ", '") + plan_.processes[p].name + "'";
    to_say_.push_back(
        {log_level::warning,
         "channel '" + plan_.full_name(c) + "'" +
             (c.at.known() ? " at " + plan_.where(c.at) : std::string()) + " drops values (" +
             to_string(policy_of(queues_[q])) + "): " + std::to_string(line->since_last) +
             (line->first ? " so far; " : " more, " + std::to_string(line->in_all) + " in all; ") +
             (readers.empty() ? "nobody reads it, who" : readers) + " does not keep up"});
  }
  for (config::index c = 0; c < plan_.channels.size(); ++c)
    if (const auto line = injections_.add(c, injected_[c].load(std::memory_order_relaxed), now))
      to_say_.push_back(
          {log_level::notice,
           "channel '" + plan_.full_name(plan_.channels[c]) + "': " + std::to_string(line->since_last) +
               (line->since_last == 1 ? " value was" : " values were") + " injected at the control door" +
               (line->first ? "" : ", " + std::to_string(line->in_all) + " in all")});
  const std::vector<replica_row> rows = board_.rows();
  for (std::size_t i = 0; i < rows.size(); ++i) restarts_.add(i, rows[i], now);
  if (now - looked_at_ < cpu_watch.count()) remember_cpu(now);
  cpu_.mark_program(now, program_cpu());
}

bool observer::worth_a_sample(const std::vector<channel_account>& now) const {
  for (std::size_t q = 0; q < queues_.size(); ++q) {
    const any_channel& c = end_of(queues_[q]);
    if (c.capacity() > 0 ? is_full(queues_[q]) : has_senders(c)) return true;
    if (const counters* const then = counted_.before();
        then && now[q].stats.dropped > then->accounts[q].stats.dropped)
      return true;
  }
  return false;
}

void observer::report_status(std::int64_t now) {
  if (now < status_.next_look || !has_notify_socket()) return;
  status_.next_look = now + second;
  double passed = 0;
  const counters& last = counted_.last();
  if (const counters* const then = counted_.before(); then && last.at > then->at) {
    for (std::size_t q = 0; q < last.accounts.size(); ++q)
      passed += growth(then->accounts[q].stats.received, last.accounts[q].stats.received);
    passed /= seconds(last.at - then->at);
  }
  unsigned restarts = 0;
  for (const replica_row& r : board_.rows()) restarts += r.restarts;
  std::string text = "STATUS=" + std::to_string(std::lround(passed)) + " values/s, " +
                     std::to_string(restarts) + (restarts == 1 ? " restart" : " restarts");
  if (!blame_.empty()) text += "; " + blame_.front().text;
  if (text == status_.said) return;
  status_.said = text;
  notify_systemd(text);
}

}  // namespace leat::services
