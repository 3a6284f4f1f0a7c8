// SPDX-License-Identifier: BSL-1.0
#include <leat/config/render.hpp>

#include <algorithm>
#include <cstdio>

namespace leat::config {

namespace {

constexpr unsigned tab_stop = 8;
// Wider lines are shown from a little before their carets.
constexpr std::size_t widest_line = 200;
constexpr std::size_t shown_before = 60;

struct colours {
  const char *place, *error, *warning, *gutter, *carets, *off;
};
constexpr colours plain = {"", "", "", "", "", ""};
constexpr colours bright = {"\x1b[1m", "\x1b[1;31m", "\x1b[1;35m", "\x1b[2m", "\x1b[1;32m", "\x1b[0m"};

void append_character(std::string& out, std::string_view line, std::size_t at, const utf8_step& step) {
  const char32_t c = step.character;
  // What would move the cursor or colour the terminal is not shown as it is.
  if (c < 0x20 || (c >= 0x7f && c < 0xa0) || c == 0xfffd)
    out += "\xef\xbf\xbd";
  else
    out.append(line.substr(at, step.next - at));
}

// Whether this byte is of the password in "scheme://user:password@host": what is shown may go into a log.
bool is_of_password(std::string_view line, std::size_t byte) noexcept {
  constexpr std::string_view ends = " \t\"'";
  const std::size_t before = line.substr(0, byte).find_last_of(ends);
  const std::size_t scheme = line.find("://", before == line.npos ? 0 : before);
  if (scheme == line.npos || scheme >= byte) return false;
  const std::size_t begin = scheme + 3;
  const std::string_view url = line.substr(begin, line.find_first_of(ends, begin) - begin);
  const std::size_t at = url.rfind('@'), colon = url.find(':');
  return at != url.npos && colon < at && byte > begin + colon && byte < begin + at;
}

struct shown_line {
  std::string text;
  std::string carets;
};

shown_line show(std::string_view line, const source_location& at) {
  shown_line out;
  const std::size_t first = at.column > 0 ? at.column - 1 : 0;
  const std::size_t last = first + std::max<std::uint32_t>(at.length, 1);  // behind it
  std::size_t skipped = 0;
  if (line.size() > widest_line && first > shown_before) skipped = first - shown_before;
  std::size_t width = 0;
  if (skipped > 0) {
    out.text = "...";
    out.carets = "   ";
    width = 3;
  }
  std::size_t number = 0;
  bool cut = false;
  for (std::size_t i = 0; i < line.size(); ++number) {
    const utf8_step step = next_character(line, i);
    if (number >= skipped) {
      const std::size_t columns =
          step.character == '\t' ? tab_stop - width % tab_stop : display_width(step.character);
      if (width + columns > widest_line) {
        cut = true;
        break;
      }
      if (step.character == '\t')
        out.text.append(columns, ' ');
      else if (is_of_password(line, i))
        out.text.append(columns, '*');
      else
        append_character(out.text, line, i, step);
      if (number < last) out.carets.append(columns, number < first ? ' ' : '^');
      width += columns;
    }
    i = step.next;
  }
  if (cut) out.text += "...";
  // What is missing stands behind the end of the line.
  if (number <= first && !cut) {
    out.carets.append(first - number, ' ');
    out.carets += '^';
  }
  return out;
}

void append_lines(std::string& out, const source_set& sources, const source_location& at,
                  std::string_view label, const colours& c) {
  if (!at.known() || at.file >= sources.size()) return;
  const shown_line shown = show(sources[at.file].line(at.line), at);
  char number[16];
  std::snprintf(number, sizeof number, "%5u", at.line);
  out.append(c.gutter).append(number).append(" |").append(c.off);
  if (!shown.text.empty()) out.append(" ").append(shown.text);
  out += '\n';
  out.append(c.gutter).append(std::char_traits<char>::length(number), ' ').append(" | ").append(c.off);
  out.append(c.carets).append(shown.carets);
  if (!label.empty()) out.append(" ").append(label);
  out.append(c.off).append("\n");
}

std::string where(const source_set& sources, const source_location& at) {
  std::string out = at.file < sources.size() ? sources[at.file].name() : "leat";
  if (at.known()) out += ':' + std::to_string(at.line) + ':' + std::to_string(at.column);
  return out;
}

// The text of a diagnostic may hold what a file says.
std::string printable(std::string_view text) {
  std::string out;
  for (std::size_t i = 0; i < text.size();) {
    const utf8_step step = next_character(text, i);
    append_character(out, text, i, step);
    i = step.next;
  }
  return out;
}

void append_location_json(std::string& out, const source_set& sources, const source_location& at) {
  out += "\"file\":" + (at.file < sources.size() ? json_quoted(sources[at.file].name()) : "null");
  out += ",\"line\":" + std::to_string(at.line) + ",\"column\":" + std::to_string(at.column) +
         ",\"length\":" + std::to_string(at.length);
}

void append_json(std::string& out, const diagnostic& f, const source_set& sources) {
  out += f.severity == severity::error     ? "{\"severity\":\"error\""
         : f.severity == severity::warning ? "{\"severity\":\"warning\""
                                           : "{\"severity\":\"note\"";
  out += ",\"rule\":" + json_quoted(f.rule) + ',';
  append_location_json(out, sources, f.at);
  out += ",\"message\":" + json_quoted(f.text);
  if (!f.label.empty()) out += ",\"label\":" + json_quoted(f.label);
  if (!f.suggestion.empty()) out += ",\"suggestion\":" + json_quoted(f.suggestion);
  if (!f.notes.empty()) {
    out += ",\"notes\":[";
    for (const diagnostic_note& n : f.notes) {
      if (&n != f.notes.data()) out += ',';
      out += '{';
      append_location_json(out, sources, n.at);
      out += ",\"message\":" + json_quoted(n.text) + '}';
    }
    out += ']';
  }
  out += '}';
}

}  // namespace

namespace {

std::string render_all(const std::vector<diagnostic>& all, const source_set& sources, bool colour) {
  const colours& c = colour ? bright : plain;
  std::string out;
  for (const diagnostic& f : all) {
    out.append(c.place).append(printable(where(sources, f.at))).append(":").append(c.off);
    switch (f.severity) {
      case severity::error: out.append(c.error).append(" error:"); break;
      case severity::warning: out.append(c.warning).append(" warning:"); break;
      case severity::remark: out.append(c.carets).append(" note:"); break;
    }
    out.append(c.off);
    out.append(" ").append(printable(f.text)).append("\n");
    append_lines(out, sources, f.at, printable(f.label), c);
    std::uint32_t file = f.at.file;
    for (const diagnostic_note& n : f.notes) {
      if (n.at.file != file || !n.at.known())
        out.append("      in ")
            .append(c.place)
            .append(printable(where(sources, n.at)))
            .append(c.off)
            .append(":\n");
      file = n.at.file;
      append_lines(out, sources, n.at, printable(n.text), c);
    }
  }
  return out;
}

}  // namespace

std::string render(const diagnostics& found, const source_set& sources, bool colour) {
  return render_all(found.all(), sources, colour);
}

std::string render_remarks(const diagnostics& found, const source_set& sources, bool colour) {
  return render_all(found.remarks(), sources, colour);
}

std::string render_json(const diagnostics& found, const source_set& sources, bool with_remarks) {
  std::string out = "{\"errors\":[";
  severity group = severity::error;
  bool first = true;
  const auto begin_warnings = [&] {
    out += "],\"warnings\":[";
    group = severity::warning;
    first = true;
  };
  for (const severity wanted : {severity::error, severity::warning}) {
    if (wanted != group) begin_warnings();
    for (const diagnostic& f : found.all()) {
      if (f.severity != wanted) continue;
      if (!first) out += ',';
      first = false;
      append_json(out, f, sources);
    }
  }
  out += ']';
  if (with_remarks) {
    out += ",\"remarks\":[";
    for (const diagnostic& f : found.remarks()) {
      if (&f != found.remarks().data()) out += ',';
      append_json(out, f, sources);
    }
    out += ']';
  }
  return out += '}';
}

std::string summary(const diagnostics& found) {
  const auto count = [](std::size_t n, const char* what) {
    return (n == 0 ? "no" : std::to_string(n)) + ' ' + what + (n == 1 ? "" : "s");
  };
  std::string out = count(found.errors(), "error");
  if (found.warnings() > 0) out += ", " + count(found.warnings(), "warning");
  return out;
}

std::string json_quoted(std::string_view text) {
  std::string out(1, '"');
  for (std::size_t i = 0; i < text.size();) {
    const utf8_step step = next_character(text, i);
    const char32_t c = step.character;
    if (c == '"' || c == '\\') {
      out += '\\';
      out += static_cast<char>(c);
    } else if (c < 0x20 || c == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\u%04x", static_cast<unsigned>(c));
      out += escaped;
    } else if (c == 0xfffd) {
      out += "\xef\xbf\xbd";
    } else {
      out.append(text.substr(i, step.next - i));
    }
    i = step.next;
  }
  return out += '"';
}

}  // namespace leat::config
