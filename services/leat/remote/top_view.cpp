// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/top_view.hpp>

#include <algorithm>
#include <functional>
#include <limits>

#include <leat/remote/state_tables.hpp>

namespace leat::remote {
namespace {

char small_letter(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }

bool has_part(const std::string& text, const std::string& part) {
  return std::search(text.begin(), text.end(), part.begin(), part.end(),
                     [](char a, char b) { return small_letter(a) == small_letter(b); }) != text.end();
}

double fill_of(const channel_state& c) {
  return c.capacity == 0 ? 0 : static_cast<double>(c.length) / static_cast<double>(c.capacity);
}

// Those with most come first; those with as much stay in the order of the plan.
template <class Row, class Measure>
void most_first(std::vector<const Row*>& rows, Measure measure) {
  std::stable_sort(rows.begin(), rows.end(),
                   [&](const Row* a, const Row* b) { return measure(*a) > measure(*b); });
}
template <class Row, class Name>
void by_name(std::vector<const Row*>& rows, Name name) {
  std::stable_sort(rows.begin(), rows.end(), [&](const Row* a, const Row* b) { return name(*a) < name(*b); });
}

// The name of the row so many after the one that is selected; the first and the last are the ends.
template <class Row, class Name>
std::string moved(const std::vector<const Row*>& rows, const std::string& from, std::ptrdiff_t by,
                  Name name) {
  if (rows.empty()) return from;
  const auto here = std::find_if(rows.begin(), rows.end(), [&](const Row* r) { return name(*r) == from; });
  const std::ptrdiff_t at = here == rows.end() ? 0 : here - rows.begin();
  const auto last = static_cast<std::ptrdiff_t>(rows.size()) - 1;
  return name(*rows[static_cast<std::size_t>(std::clamp<std::ptrdiff_t>(at + by, 0, last))]);
}

std::string process_name(const process_state& p) { return p.name; }
std::string channel_name(const channel_state& c) { return c.full_name(); }

void move_selection(top_view& v, const deployment_state& s, std::ptrdiff_t by) {
  if (v.focus == top_view::part::processes) {
    v.process = moved(chosen_processes(s, v), v.process, by, process_name);
  } else {
    v.channel = moved(chosen_channels(s, v), v.channel, by, channel_name);
  }
}

pressed type(top_view& v, key_press k) {
  switch (k.what) {
    case key::character:
      if (v.filter.size() < 60) v.filter += k.letter;
      return pressed::changed;
    case key::backspace:
      if (!v.filter.empty()) v.filter.pop_back();
      return pressed::changed;
    case key::escape: v.filter.clear(); [[fallthrough]];
    case key::enter: v.typing = false; return pressed::changed;
    default: return pressed::nothing;
  }
}

// Keys of a page about one process or channel, and of the help.
pressed press_page(top_view& v, key_press k, std::size_t page) {
  const auto down = [&](std::size_t n) { v.scrolled += n; };
  const auto up = [&](std::size_t n) { v.scrolled -= std::min(v.scrolled, n); };
  switch (k.what) {
    case key::escape:
    case key::enter:
    case key::left:
    case key::backspace:
      v.shows = top_view::page::overview;
      v.scrolled = 0;
      return pressed::changed;
    case key::up: up(1); return pressed::changed;
    case key::down: down(1); return pressed::changed;
    case key::page_up: up(page); return pressed::changed;
    case key::page_down: down(page); return pressed::changed;
    case key::home: v.scrolled = 0; return pressed::changed;
    case key::character:
      if (k.letter == 'q') return pressed::quit;
      if (k.letter == 'k') up(1);
      if (k.letter == 'j') down(1);
      if (k.letter == 'p' || k.letter == ' ') v.paused = !v.paused;
      if (k.letter == '?' && v.shows == top_view::page::help) v.shows = top_view::page::overview;
      return pressed::changed;
    default: return pressed::nothing;
  }
}

void next_order(top_view& v) {
  if (v.focus == top_view::part::processes) {
    v.processes_by = v.processes_by == process_order::name
                         ? process_order::as_planned
                         : static_cast<process_order>(static_cast<int>(v.processes_by) + 1);
  } else {
    v.channels_by = v.channels_by == channel_order::name
                        ? channel_order::as_planned
                        : static_cast<channel_order>(static_cast<int>(v.channels_by) + 1);
  }
}

void open_selected(top_view& v, const deployment_state& s) {
  v.scrolled = 0;
  if (v.focus == top_view::part::processes) {
    if (const process_state* const p = selected_process(s, v)) {
      v.process = p->name;
      v.shows = top_view::page::process;
    }
  } else if (const channel_state* const c = selected_channel(s, v)) {
    v.channel = c->full_name();
    v.shows = top_view::page::channel;
  }
}

pressed press_letter(top_view& v, const deployment_state& s, char letter) {
  switch (letter) {
    case 'q': return pressed::quit;
    case 's': next_order(v); return pressed::changed;
    case 'S': v.reversed = !v.reversed; return pressed::changed;
    case '/': v.typing = true; return pressed::changed;
    case 'p':
    case ' ': v.paused = !v.paused; return pressed::changed;
    case 'k': move_selection(v, s, -1); return pressed::changed;
    case 'j': move_selection(v, s, 1); return pressed::changed;
    case '?':
    case 'h':
      v.shows = top_view::page::help;
      v.scrolled = 0;
      return pressed::changed;
    default: return pressed::nothing;
  }
}

}  // namespace

const char* name_of(process_order o) {
  switch (o) {
    case process_order::as_planned: return "plan";
    case process_order::cpu: return "cpu";
    case process_order::rate: return "rate";
    case process_order::restarts: return "restarts";
    case process_order::name: return "name";
  }
  return "";
}

const char* name_of(channel_order o) {
  switch (o) {
    case channel_order::as_planned: return "plan";
    case channel_order::fill: return "fill";
    case channel_order::rate: return "rate";
    case channel_order::dropped: return "dropped";
    case channel_order::wait: return "wait";
    case channel_order::name: return "name";
  }
  return "";
}

std::vector<const process_state*> chosen_processes(const deployment_state& s, const top_view& v) {
  std::vector<const process_state*> rows;
  for (const process_state& p : s.processes)
    if (has_part(p.name, v.filter) || has_part(p.process_class, v.filter)) rows.push_back(&p);
  switch (v.processes_by) {
    case process_order::as_planned: break;
    case process_order::cpu:
      most_first(rows, [](const process_state& p) { return p.cpu.value_or(-1); });
      break;
    case process_order::rate:
      most_first(rows, [&](const process_state& p) {
        return std::max(flow_in(s, p).per_second, flow_out(s, p).per_second);
      });
      break;
    case process_order::restarts: most_first(rows, [](const process_state& p) { return p.restarts; }); break;
    case process_order::name: by_name(rows, process_name); break;
  }
  if (v.reversed) std::reverse(rows.begin(), rows.end());
  return rows;
}

std::vector<const channel_state*> chosen_channels(const deployment_state& s, const top_view& v) {
  std::vector<const channel_state*> rows;
  for (const channel_state& c : s.channels)
    if (has_part(c.full_name(), v.filter) || has_part(c.message, v.filter)) rows.push_back(&c);
  switch (v.channels_by) {
    case channel_order::as_planned: break;
    case channel_order::fill: most_first(rows, fill_of); break;
    case channel_order::rate:
      most_first(rows, [](const channel_state& c) { return std::max(c.rate_in, c.rate_out); });
      break;
    case channel_order::dropped:
      most_first(rows, [](const channel_state& c) { return std::pair(c.rate_dropped, c.dropped); });
      break;
    case channel_order::wait:
      // No rate, and something in it: nobody knows how long.
      most_first(rows,
                 [](const channel_state& c) { return c.wait.value_or(std::numeric_limits<double>::max()); });
      break;
    case channel_order::name: by_name(rows, channel_name); break;
  }
  if (v.reversed) std::reverse(rows.begin(), rows.end());
  return rows;
}

const process_state* selected_process(const deployment_state& s, const top_view& v) {
  const std::vector<const process_state*> rows = chosen_processes(s, v);
  for (const process_state* const p : rows)
    if (p->name == v.process) return p;
  return rows.empty() ? nullptr : rows.front();
}

const channel_state* selected_channel(const deployment_state& s, const top_view& v) {
  const std::vector<const channel_state*> rows = chosen_channels(s, v);
  for (const channel_state* const c : rows)
    if (c->full_name() == v.channel) return c;
  return rows.empty() ? nullptr : rows.front();
}

pressed press(top_view& v, const deployment_state& s, key_press k, std::size_t page) {
  if (v.typing) return type(v, k);
  if (v.shows != top_view::page::overview) return press_page(v, k, page);
  const auto far = static_cast<std::ptrdiff_t>(page);
  constexpr std::ptrdiff_t to_the_end = 1'000'000'000;
  switch (k.what) {
    case key::up: move_selection(v, s, -1); return pressed::changed;
    case key::down: move_selection(v, s, 1); return pressed::changed;
    case key::page_up: move_selection(v, s, -far); return pressed::changed;
    case key::page_down: move_selection(v, s, far); return pressed::changed;
    case key::home: move_selection(v, s, -to_the_end); return pressed::changed;
    case key::end: move_selection(v, s, to_the_end); return pressed::changed;
    case key::tab:
      v.focus = v.focus == top_view::part::processes ? top_view::part::channels : top_view::part::processes;
      return pressed::changed;
    case key::enter:
    case key::right: open_selected(v, s); return pressed::changed;
    case key::escape: v.filter.clear(); return pressed::changed;
    case key::character: return press_letter(v, s, k.letter);
    default: return pressed::nothing;
  }
}

}  // namespace leat::remote
