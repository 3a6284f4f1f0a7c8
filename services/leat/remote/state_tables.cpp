// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/state_tables.hpp>

#include <algorithm>
#include <cmath>

#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

std::string flow_text(const flow& f) { return rate_text(f.per_second) + (f.shared ? "*" : ""); }

std::string short_names(const deployment_state& s, const std::vector<std::string>& names) {
  std::vector<std::string> all;
  all.reserve(names.size());
  for (const std::string& n : names) all.push_back(short_name(s, n));
  return joined(all, ", ");
}

const channel_state* find_channel(const deployment_state& s, std::string_view name, std::string_view reader) {
  for (const channel_state& c : s.channels)
    if (c.name == name && c.reader == reader) return &c;
  return nullptr;
}

}  // namespace

std::string short_name(const deployment_state& s, std::string_view name) {
  if (s.services.size() == 1 && name.size() > s.services[0].size() + 1 && name.starts_with(s.services[0]) &&
      name[s.services[0].size()] == '/')
    name.remove_prefix(s.services[0].size() + 1);
  return std::string(name);
}

flow flow_in(const deployment_state& s, const process_state& p) {
  flow f;
  for (const std::string& name : p.in) {
    // The share of a channel that copies is the reader's own, unless it has replicas.
    const channel_state* c = find_channel(s, name, p.process);
    f.shared = f.shared || p.replicated;
    if (!c && (c = find_channel(s, name, ""))) f.shared = f.shared || c->readers.size() > 1;
    if (c) f.per_second += c->rate_out;
  }
  return f;
}

flow flow_out(const deployment_state& s, const process_state& p) {
  flow f;
  for (const std::string& name : p.out)
    if (const channel_state* const c = find_channel(s, name, "")) {
      f.per_second += c->rate_in;
      f.shared = f.shared || p.replicated || c->writers.size() > 1;
    }
  return f;
}

std::string waits_text(const deployment_state& s, const process_state& p) {
  const bool down = p.state == "failed" || p.state == "restarting" || p.state == "quarantined";
  if (down && !p.last_failure.empty()) return elapsed_text(p.last_failure_ago) + " ago: " + p.last_failure;
  if (!p.waits) return {};
  std::string text = p.waits->what;
  if (!p.waits->channel.empty()) text += ' ' + short_name(s, p.waits->channel);
  if (!p.waits->peer.empty()) text += ' ' + p.waits->peer;
  if (p.waits->since >= 0.95) text += ' ' + elapsed_text(p.waits->since);
  return text;
}

std::string fill_bar(const channel_state& c, std::size_t cells) {
  std::size_t filled = 0;
  if (c.capacity > 0) {
    const double share = std::min(1.0, static_cast<double>(c.length) / static_cast<double>(c.capacity));
    filled = static_cast<std::size_t>(std::lround(share * static_cast<double>(cells)));
    // One value is seen, and only a full channel looks full.
    if (c.length > 0) filled = std::max<std::size_t>(filled, 1);
    if (c.length < c.capacity) filled = std::min(filled, cells - 1);
  }
  return '[' + std::string(filled, '#') + std::string(cells - filled, '.') + ']';
}

bool holds_up(const channel_state& c) { return c.length >= c.capacity && !c.blocked.empty(); }

table process_table(const deployment_state& s, const std::vector<const process_state*>& rows, table_width w) {
  const bool wide = w == table_width::wide;
  std::vector<table_column> all{{.title = "PROCESS", .least = 12, .shrinks_to = 10}};
  if (wide) all.push_back({.title = "CLASS", .least = 12, .shrinks_to = 8});
  all.insert(all.end(), {{.title = "STATE", .least = 10},
                         {.title = "CPU", .right = true, .least = 4},
                         {.title = "IN/s", .right = true, .least = 6},
                         {.title = "OUT/s", .right = true, .least = 6},
                         {.title = "RESTARTS", .right = true, .least = 8},
                         {.title = "WAITS FOR", .shrinks_to = 9}});
  if (wide) all.push_back({.title = "AT", .shrinks_to = 6});
  table t(std::move(all));
  for (const process_state* const p : rows) {
    std::vector<std::string> cells{short_name(s, p->name)};
    if (wide) cells.push_back(p->process_class);
    cells.insert(cells.end(), {p->state, p->cpu ? percent_text(*p->cpu) : "-", flow_text(flow_in(s, *p)),
                               flow_text(flow_out(s, *p)), count_text(p->restarts), waits_text(s, *p)});
    if (wide) cells.push_back(p->at);
    t.add(std::move(cells));
  }
  return t;
}

table channel_table(const deployment_state& s, const std::vector<const channel_state*>& rows, table_width w) {
  const bool wide = w == table_width::wide;
  std::vector<table_column> all{{.title = "CHANNEL", .least = 12, .shrinks_to = 10}};
  if (wide) all.push_back({.title = "MESSAGE", .least = 8, .shrinks_to = 8});
  all.insert(all.end(), {{.title = "FILL"},
                         {.title = "LENGTH", .right = true, .least = 7},
                         {.title = "IN/s", .right = true, .least = 5},
                         {.title = "OUT/s", .right = true, .least = 5},
                         {.title = "HIGH", .right = true, .least = 4},
                         {.title = "DROPPED", .right = true, .least = 7},
                         {.title = "WAIT", .right = true, .least = 5},
                         {.title = "BLOCKED", .shrinks_to = 7}});
  if (wide) all.push_back({.title = "AT", .shrinks_to = 6});
  table t(std::move(all));
  for (const channel_state* const c : rows) {
    std::string name = short_name(s, c->name);
    if (!c->reader.empty()) name += '@' + short_name(s, c->reader);
    std::vector<std::string> cells{std::move(name)};
    if (wide) cells.push_back(c->message);
    std::string blocked = short_names(s, c->blocked);
    if (!blocked.empty() && c->full_for >= 0.95) blocked.insert(0, elapsed_text(c->full_for) + ' ');
    cells.insert(cells.end(),
                 {fill_bar(*c, wide ? 20 : 6), count_text(c->length) + '/' + count_text(c->capacity),
                  rate_text(c->rate_in), rate_text(c->rate_out), count_text(c->high_water),
                  count_text(c->dropped), c->wait ? elapsed_text(*c->wait) : "-", std::move(blocked)});
    if (wide) cells.push_back(c->at);
    t.add(std::move(cells));
  }
  return t;
}

std::string summary_text(const deployment_state& s) {
  std::string text = s.name + "  " + s.phase + ' ' + elapsed_text(s.uptime);
  text += s.healthy ? "  healthy" : "  NOT HEALTHY";
  if (s.cpu) text += "  cpu " + percent_text(*s.cpu);
  if (s.rss) text += "  memory " + bytes_text(*s.rss);
  text += "  pid " + std::to_string(s.pid);
  if (s.delay_p99) text += "  delay " + elapsed_text(*s.delay_p99);
  if (s.fenced > 0) text += "  fenced " + count_text(s.fenced);
  if (s.frozen > 0) text += "  frozen " + count_text(s.frozen);
  return text;
}

std::string state_text(const deployment_state& s) {
  std::vector<const process_state*> processes;
  std::vector<const channel_state*> channels;
  for (const process_state& p : s.processes) processes.push_back(&p);
  for (const channel_state& c : s.channels) channels.push_back(&c);
  std::string text = summary_text(s) + '\n';
  if (!s.healthy && !s.why.empty()) text += s.why + '\n';
  for (const std::string& b : s.blame) text += b + '\n';
  return text + '\n' + process_table(s, processes, table_width::wide).text() + '\n' +
         channel_table(s, channels, table_width::wide).text();
}

}  // namespace leat::remote
