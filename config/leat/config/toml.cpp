// SPDX-License-Identifier: BSL-1.0
//
// The only file that knows toml++.
#include <leat/config/toml.hpp>

#define TOML_EXCEPTIONS 0
#define TOML_ENABLE_FORMATTERS 0
// The outline has refused more already.
#define TOML_MAX_NESTED_VALUES 64
#include <toml++/toml.h>

#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

#include <leat/base/units.hpp>
#include <leat/config/outline.hpp>

namespace leat::config {

namespace {

// Put into the name of a table that is there for the second time, so that the parser takes it as another.
constexpr char mark = '\x02';
constexpr int most_repairs = 100;
constexpr std::size_t most_repaired = std::size_t{64} << 20;  // bytes to parse again

class converter {
 public:
  converter(const source_set& sources, std::uint32_t file, diagnostics& found)
      : sources_(sources), file_(file), found_(found) {}

  value convert(const toml::node& n) const {
    const source_location at = location_of(n.source());
    if (const auto* t = n.as_table()) {
      value::table members;
      members.reserve(t->size());
      for (auto&& [key, node] : *t) {
        std::string name(key.str());
        if (name.find(mark) != std::string::npos) continue;
        members.push_back({std::move(name), location_of(key.source()), convert(node)});
      }
      std::stable_sort(members.begin(), members.end(), [](const value_member& a, const value_member& b) {
        return std::pair(a.key_at.line, a.key_at.column) < std::pair(b.key_at.line, b.key_at.column);
      });
      return value(std::move(members), at);
    }
    if (const auto* a = n.as_array()) {
      value::list elements;
      elements.reserve(a->size());
      for (auto&& node : *a) elements.push_back(convert(node));
      return value(std::move(elements), at);
    }
    if (const auto* v = n.as_string()) return value(v->get(), at);
    if (const auto* v = n.as_integer()) return value(v->get(), at);
    if (const auto* v = n.as_floating_point()) return value(v->get(), at);
    if (const auto* v = n.as_boolean()) return value(v->get(), at);
    found_.error("type", at, "dates and times of day have no use here");
    return value();
  }

  source_location location_of(const toml::source_region& r) const {
    source_location at{file_, r.begin.line, r.begin.column, 1};
    if (r.end.line == r.begin.line && r.end.column > r.begin.column) {
      at.length = r.end.column - r.begin.column;
    } else if (r.end.line > r.begin.line) {
      // Of a value of several lines, what stands in the first.
      std::uint32_t columns = 0;
      const std::string_view line = sources_[file_].line(r.begin.line);
      for (std::size_t i = 0; i < line.size(); i = next_character(line, i).next) ++columns;
      if (columns >= at.column) at.length = columns - at.column + 1;
    }
    return at;
  }

 private:
  const source_set& sources_;
  std::uint32_t file_;
  diagnostics& found_;
};

std::string dotted(std::string_view path) {
  std::string out(path);
  std::replace(out.begin(), out.end(), '\x01', '.');
  return out;
}

// The statement of a name that is there twice, and the first of the same name.
struct twice {
  const outline::statement* first = nullptr;
  const outline::statement* second = nullptr;
};

twice find_twice(const outline& o, std::uint32_t line) {
  const auto second =
      std::find_if(o.statements.begin(), o.statements.end(),
                   [&](const outline::statement& s) { return s.at.line <= line && line <= s.last_line; });
  if (second == o.statements.end()) return {};
  const auto first = std::find_if(o.statements.begin(), second,
                                  [&](const outline::statement& s) { return s.path == second->path; });
  if (first == second) return {};
  return {&*first, &*second};
}

// Makes the text parse on behind a name that is there twice. Lines keep their numbers, and all lines but that
// one their columns. False where that cannot be done.
bool repair(std::string& text, const outline::statement& s, int number) {
  if (!s.header) {
    if (s.last_line != s.at.line) return false;
    text[s.offset] = '#';
    return true;
  }
  if (s.array) return false;
  const std::size_t close = s.offset + s.length - 1;
  text.replace(close, 1, ".\"\\u0002" + std::to_string(number) + "\"]");
  return true;
}

// The parser's words, shortened, with advice on the mistakes that are made most.
std::string explain(std::string_view description, std::string_view line, std::uint32_t column) {
  constexpr std::string_view begin = "Error while parsing ";
  std::string text(description);
  if (description.starts_with(begin)) {
    text = description.substr(begin.size());
    // 250ms without quotes: the parser stops at the m.
    std::size_t first = std::min<std::size_t>(column > 0 ? column - 1 : 0, line.size());
    std::size_t last = first;
    const auto in_word = [&](std::size_t i) {
      const char c = line[i];
      return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '.';
    };
    while (first > 0 && in_word(first - 1)) --first;
    while (last < line.size() && in_word(last)) ++last;
    const std::string word(line.substr(first, last - first));
    if (word.find_first_not_of("0123456789.") != std::string::npos && word[0] >= '0' && word[0] <= '9' &&
        (parse_duration(word) || parse_size(word)))
      text += "; durations and sizes are written as strings: \"" + word + '"';
  }
  return "bad TOML: " + text;
}

// Columns behind them in the same line are too high then.
void escape(std::string& text, const std::vector<std::size_t>& offsets) {
  for (auto at = offsets.rbegin(); at != offsets.rend(); ++at) {
    const utf8_step step = next_character(text, *at);
    char written[16];
    std::snprintf(written, sizeof written, "\\U%08X", static_cast<unsigned>(step.character));
    text.replace(*at, step.next - *at, written);
  }
}

// The parser points beside it.
std::optional<source_location> find_bad_utf8(std::string_view text, std::uint32_t file) {
  source_location at{file, 1, 1, 1};
  for (std::size_t i = 0; i < text.size();) {
    const utf8_step step = next_character(text, i);
    if (step.character == 0xfffd && step.next == i + 1) return at;
    ++at.column;
    if (step.character == '\n') {
      ++at.line;
      at.column = 1;
    }
    i = step.next;
  }
  return std::nullopt;
}

}  // namespace

std::optional<value> parse_toml(const source_set& sources, std::uint32_t file, diagnostics& found) {
  std::string text = sources[file].text();
  const converter convert(sources, file, found);
  if (const std::optional<source_location> bad = find_bad_utf8(text, file)) {
    found.error("toml", *bad, "bad TOML: a byte that is not UTF-8");
    return std::nullopt;
  }
  for (int repairs = 0;; ++repairs) {
    // Again after each repair: the parser, and with it this look, may have ended at what was repaired.
    outline look = outline_of(text, file);
    if (!look.refused && !look.to_escape.empty()) {
      escape(text, look.to_escape);
      look = outline_of(text, file);
    }
    if (look.refused) {
      found.error("toml", look.refused->at, look.refused->text);
      return std::nullopt;
    }
    const toml::parse_result result = toml::parse(std::string_view(text));
    if (result) return convert.convert(result.table());
    const toml::parse_error& error = result.error();
    const std::string_view description = error.description();
    source_location at = convert.location_of(error.source());
    if (at.line == 0) at = {file, 1, 1, 1};
    if (description.find("cannot redefine existing") != std::string_view::npos) {
      const twice t = find_twice(look, at.line);
      if (t.second) {
        diagnostic& f = found.error("duplicate", t.second->at,
                                    (t.second->header ? "table [" : "key '") + dotted(t.second->path) +
                                        (t.second->header ? "] is there twice" : "' is there twice"));
        f.notes.push_back({t.first->at, "first here"});
        if (repairs == most_repairs || static_cast<std::size_t>(repairs) * text.size() > most_repaired ||
            !repair(text, *t.second, repairs))
          return std::nullopt;
        continue;
      }
    }
    if (look.mistake &&
        std::pair(look.mistake->at.line, look.mistake->at.column) <= std::pair(at.line, at.column)) {
      found.error("toml", look.mistake->at, look.mistake->text);
      return std::nullopt;
    }
    found.error("toml", at, explain(description, sources[file].line(at.line), at.column));
    return std::nullopt;
  }
}

}  // namespace leat::config
