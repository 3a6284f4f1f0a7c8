// SPDX-License-Identifier: BSL-1.0
//
// The pages of `top` about one process, about one channel, and about its keys.
#include <algorithm>

#include <leat/remote/state_tables.hpp>
#include <leat/remote/text.hpp>
#include <leat/remote/top_screen.hpp>

namespace leat::remote {
namespace {

void add_fact(screen& out, std::string_view name, const std::string& text, std::size_t width,
              look how = look::plain) {
  constexpr std::size_t indent = 14;
  const std::size_t room = width > indent + 8 ? width - indent : 8;
  bool first = true;
  for (const std::string& line : wrapped(text.empty() ? "-" : text, room, 8)) {
    out.push_back({to_left(first ? name : std::string_view(), indent) + line, how});
    first = false;
  }
}

void add_heading(screen& out, std::string text) {
  out.push_back({});
  out.push_back({std::move(text), look::heading});
}

// A line, and what does not fit below it.
void add_item(screen& out, const std::string& text, std::size_t width) {
  constexpr std::size_t indent = 6;
  bool first = true;
  for (const std::string& line : wrapped(text, width > indent + 8 ? width - indent : 8, 4)) {
    out.push_back({(first ? "  " : "      ") + line});
    first = false;
  }
}

std::string number(std::uint64_t n) { return std::to_string(n); }

// Names with what there is of them, for those that are not 0.
std::string named_counts(std::initializer_list<std::pair<const char*, std::uint64_t>> all) {
  std::string text;
  for (const auto& [name, n] : all)
    if (n > 0) text += (text.empty() ? "" : ", ") + number(n) + ' ' + name;
  return text.empty() ? "none" : text;
}

}  // namespace

screen process_page(const deployment_state& s, const process_state& p, const process_details* details,
                    std::size_t width) {
  screen out;
  out.push_back({p.name + "  " + p.process_class + "  " + p.at, look::heading});
  add_fact(out, "state", p.state + (p.critical ? ", critical" : ""), width);
  const std::string waits = waits_text(s, p);
  if (!waits.empty()) add_fact(out, "waits for", waits, width);
  add_fact(out, "cpu", p.cpu ? percent_text(*p.cpu) + " of one core" : "not known yet", width);
  add_fact(out, "runs", "incarnation " + number(p.incarnation) + ", " + number(p.restarts) + " restarts",
           width);
  add_fact(out, "trouble",
           named_counts({{"failures", p.failures},
                         {"overruns", p.overruns},
                         {"quarantined", p.quarantined},
                         {"redelivered", p.redelivered},
                         {"dead letters", p.dead_letters}}),
           width);
  if (!p.last_failure.empty())
    add_fact(out, "last failure", elapsed_text(p.last_failure_ago) + " ago: " + p.last_failure, width,
             look::bad);
  add_fact(out, "reads", joined(p.in, ", "), width);
  add_fact(out, "writes", joined(p.out, ", "), width);
  if (!details) {
    add_heading(out, "settings, ports and stack trace are asked for ...");
    return out;
  }
  add_heading(out, "SETTINGS");
  std::size_t widest = 0;
  for (const auto& x : details->settings) widest = std::max(widest, columns(x.name));
  for (const auto& x : details->settings)
    add_item(out,
             to_left(x.name, widest) + " = " + x.text + (x.live ? "   (live)" : "") +
                 (x.help.empty() ? "" : "   " + x.help),
             width);
  if (details->settings.empty()) out.push_back({"  none"});
  add_heading(out, "PORTS");
  for (const auto& x : details->ports)
    out.push_back({"  " + to_left(x.direction, 3) + ' ' + x.name + ": " + joined(x.channels, ", ")});
  if (details->ports.empty()) out.push_back({"  none"});
  add_heading(out, "WHERE IT STANDS");
  for (const std::string& frame : details->trace) add_item(out, frame, width);
  if (details->trace.empty()) out.push_back({"  not known: it runs, or has ended"});
  return out;
}

screen channel_page(const deployment_state& s, const channel_state& c, std::size_t width) {
  screen out;
  out.push_back({c.full_name() + "  " + c.message + "  " + c.at, look::heading});
  const std::size_t cells = std::clamp<std::size_t>(width / 2, 6, 60);
  add_fact(out, "filled", fill_bar(c, cells) + ' ' + number(c.length) + '/' + number(c.capacity), width,
           holds_up(c) ? look::bad : look::plain);
  add_fact(out, "high water", number(c.high_water), width);
  add_fact(out, "kind", c.kind + ", when full: " + c.full + (c.copy ? ", each reader gets all" : ""), width);
  add_fact(out, "rates",
           rate_text(c.rate_in) + "/s in, " + rate_text(c.rate_out) + "/s out, " + rate_text(c.rate_dropped) +
               "/s dropped",
           width);
  add_fact(out, "wait",
           c.wait ? elapsed_text(*c.wait) + " from in to out, at this rate" : "not known: nothing comes out",
           width);
  if (c.full_for > 0) add_fact(out, "full for", elapsed_text(c.full_for), width, look::bad);
  if (!c.blocked.empty()) add_fact(out, "blocked", joined(c.blocked, ", "), width, look::bad);
  add_heading(out, "SINCE IT STARTED");
  out.push_back({"  sent " + number(c.sent) + ", received " + number(c.received)});
  out.push_back(
      {"  not delivered: " +
       named_counts(
           {{"dropped", c.dropped}, {"refused", c.refused}, {"lost", c.lost}, {"rejected", c.rejected}})});
  if (c.injected > 0) out.push_back({"  injected " + number(c.injected)});
  add_heading(out, "WHO");
  add_fact(out, "  writers", joined(c.writers, ", "), width);
  add_fact(out, "  readers", joined(c.readers, ", "), width);
  for (const channel_state& other : s.channels)
    if (other.name == c.name && other.full_name() != c.full_name())
      out.push_back({"  " + to_left(other.reader.empty() ? "the whole" : '@' + other.reader, 30) + ' ' +
                     fill_bar(other, 10) + ' ' + number(other.length) + '/' + number(other.capacity)});
  return out;
}

screen help_page() {
  screen out;
  out.push_back({"leat top: what a running deployment does", look::heading});
  for (const char* const line : {
           "",
           "  up, down, j, k      select a row; page up, page down, home, end",
           "  tab                 from processes to channels and back",
           "  enter               all about the selected one; esc goes back",
           "  s                   sort by the next column; S the other way round",
           "  /                   show only names with these letters; esc shows all again",
           "  p or space          stand still; again: go on",
           "  q or Ctrl-C         leave",
           "",
           "  IN/s, OUT/s         values a second; with * the channel has others too",
           "  WAITS FOR           what a process waits for, where, and for how long",
           "  FILL, LENGTH        how full a channel is now; HIGH: the most ever",
           "  WAIT                how long a value stays in it: length over rate",
           "  BLOCKED             who waits to send, and for how long it has been full",
           "  > !                 the selected row; who holds others up",
           "",
           "  raw@log             the share of the reader log, where each reader gets all",
       })
    out.push_back({line});
  return out;
}

}  // namespace leat::remote
