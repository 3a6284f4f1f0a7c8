// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/top_screen.hpp>

#include <algorithm>

#include <leat/remote/state_tables.hpp>
#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

constexpr std::size_t wide_from = 120;  // columns
constexpr std::size_t both_from = 10;   // lines

table_width width_kind(screen_size size) {
  return size.width >= wide_from ? table_width::wide : table_width::narrow;
}

look look_of(const process_state& p, bool culprit) {
  if (culprit || p.state == "failed" || p.state == "quarantined") return look::bad;
  if (p.state == "restarting" || p.state == "blocking") return look::warning;
  if (p.state == "ended") return look::faint;
  return p.state == "computing" ? look::good : look::plain;
}

look look_of(const channel_state& c) {
  if (holds_up(c)) return look::bad;
  if (c.rate_dropped > 0 || (c.capacity > 1 && c.length * 5 >= c.capacity * 4)) return look::warning;
  return look::plain;
}

bool is_culprit(const deployment_state& s, const process_state& p) {
  return std::any_of(s.culprits.begin(), s.culprits.end(),
                     [&](const std::string& c) { return c == p.name || c == p.process; });
}

// The rows around the selected one, a page of them.
struct page_of_rows {
  std::size_t first, last;
};
page_of_rows page_with(std::size_t selected, std::size_t all, std::size_t room) {
  if (room == 0) return {0, 0};
  const std::size_t first = selected / room * room;
  return {first, std::min(all, first + room)};
}

std::string page_note(const page_of_rows& p, std::size_t all) {
  if (p.first == 0 && p.last == all) return {};
  return "  " + std::to_string(p.first + 1) + '-' + std::to_string(p.last) + '/' + std::to_string(all);
}

template <class Row, class Look, class Mark>
void draw_rows(screen& out, const table& t, const std::vector<const Row*>& rows, std::size_t selected,
               bool focus, std::size_t room, std::size_t width, Look look_for, Mark mark) {
  const std::vector<std::size_t> widths = t.widths(width > 2 ? width - 2 : 1);
  const page_of_rows page = page_with(selected, rows.size(), room);
  const std::string note = page_note(page, rows.size());
  const std::size_t left = width - std::min(width, note.size());
  out.push_back({cut("  " + t.heading(widths), left) + note, look::heading});
  for (std::size_t i = page.first; i < page.last; ++i) {
    const bool here = focus && i == selected;
    const std::string marks{here ? '>' : ' ', mark(*rows[i])};
    out.push_back({marks + t.row(i, widths), here ? look::selected : look_for(*rows[i])});
  }
}

template <class Row>
std::size_t index_of(const std::vector<const Row*>& rows, const Row* row) {
  const auto at = std::find(rows.begin(), rows.end(), row);
  return at == rows.end() ? 0 : static_cast<std::size_t>(at - rows.begin());
}

void draw_head(screen& out, const deployment_state& s, const top_view& v, screen_size size) {
  std::string first = summary_text(s);
  if (v.paused) first += "  PAUSED";
  out.push_back({first, s.healthy ? look::heading : look::bad});
  if (!v.notice.empty()) out.push_back({v.notice, look::bad});
  const std::size_t each = size.height >= 20 ? 3 : size.height >= both_from ? 2 : 1;
  if (!s.healthy && !s.why.empty())
    for (std::string& line : wrapped(s.why, size.width, each)) out.push_back({std::move(line), look::bad});
  constexpr std::size_t most = 2;
  for (std::size_t i = 0; i < std::min(s.blame.size(), most); ++i)
    for (std::string& line : wrapped(s.blame[i], size.width, each))
      out.push_back({std::move(line), look::bad});
  if (s.blame.size() > most)
    out.push_back({"and " + std::to_string(s.blame.size() - most) + " more that hold others up", look::bad});
}

std::string foot_text(const top_view& v) {
  if (v.typing) return "filter: " + v.filter + "_   enter keeps it, esc clears it";
  const bool processes = v.focus == top_view::part::processes;
  std::string text =
      std::string("q quit  s sort: ") + (processes ? name_of(v.processes_by) : name_of(v.channels_by));
  if (v.reversed) text += " reversed";
  text += v.filter.empty() ? "  / filter" : "  / filter: " + v.filter + " (esc clears)";
  text += std::string("  p ") + (v.paused ? "go on" : "pause") + "  tab " +
          (processes ? "channels" : "processes");
  return text + "  enter more  ? help";
}

void draw_overview(screen& out, const deployment_state& s, const top_view& v, screen_size size) {
  const std::vector<const process_state*> processes = chosen_processes(s, v);
  const std::vector<const channel_state*> channels = chosen_channels(s, v);
  const bool on_processes = v.focus == top_view::part::processes;
  // What is left after the head, two headings and the foot.
  const std::size_t fixed = out.size() + (size.height < both_from ? 2 : 3);
  const std::size_t room = size.height > fixed ? size.height - fixed : 0;
  std::size_t of_processes = 0;
  if (size.height < both_from) {
    of_processes = on_processes ? room : 0;
  } else if (processes.size() + channels.size() <= room) {
    of_processes = processes.size();
  } else {
    const std::size_t left_by_channels = room - std::min(room, channels.size());
    of_processes = std::min(processes.size(), std::max(room / 2, left_by_channels));
  }
  if (size.height >= both_from || on_processes)
    draw_rows(
        out, process_table(s, processes, width_kind(size)), processes,
        index_of(processes, selected_process(s, v)), on_processes, of_processes, size.width,
        [&](const process_state& p) { return look_of(p, is_culprit(s, p)); },
        [&](const process_state& p) { return is_culprit(s, p) ? '!' : ' '; });
  if (size.height >= both_from || !on_processes)
    draw_rows(
        out, channel_table(s, channels, width_kind(size)), channels,
        index_of(channels, selected_channel(s, v)), !on_processes, room - of_processes, size.width,
        [](const channel_state& c) { return look_of(c); },
        [](const channel_state& c) { return holds_up(c) ? '!' : ' '; });
}

void draw_page(screen& out, screen page, const top_view& v, screen_size size) {
  const std::size_t room = size.height > out.size() + 1 ? size.height - out.size() - 1 : 0;
  const std::size_t most = page.size() > room ? page.size() - room : 0;
  const std::size_t first = std::min(v.scrolled, most);
  for (std::size_t i = first; i < std::min(page.size(), first + room); ++i) out.push_back(std::move(page[i]));
}

}  // namespace

screen draw_top(const deployment_state& s, const process_details* details, const top_view& v,
                screen_size size) {
  screen out;
  std::string foot = "esc back  up, down scroll  p pause  q quit";
  switch (v.shows) {
    case top_view::page::overview:
      draw_head(out, s, v, size);
      draw_overview(out, s, v, size);
      foot = foot_text(v);
      break;
    case top_view::page::help: draw_page(out, help_page(), v, size); break;
    case top_view::page::process:
    case top_view::page::channel: {
      if (!v.notice.empty()) out.push_back({v.notice, look::bad});
      screen page;
      const bool process = v.shows == top_view::page::process;
      const process_state* const p = process ? selected_process(s, v) : nullptr;
      const channel_state* const c = process ? nullptr : selected_channel(s, v);
      if (p && p->name == v.process) {
        page = process_page(s, *p, details && details->name == p->name ? details : nullptr, size.width);
      } else if (c && c->full_name() == v.channel) {
        page = channel_page(s, *c, size.width);
      } else {
        page.push_back({(process ? v.process : v.channel) + " is gone", look::bad});
      }
      draw_page(out, std::move(page), v, size);
    }
  }
  // Exactly as many lines as there are; the foot is the last.
  out.resize(size.height > 0 ? size.height - 1 : 0);
  if (size.height > 0) out.push_back({foot, look::faint});
  for (screen_line& line : out) line.text = cut(line.text, size.width);
  return out;
}

}  // namespace leat::remote
