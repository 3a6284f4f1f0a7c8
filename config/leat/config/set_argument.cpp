// SPDX-License-Identifier: BSL-1.0
#include <leat/config/set_argument.hpp>

#include <algorithm>
#include <optional>
#include <string_view>
#include <utility>

#include <leat/config/overrides.hpp>
#include <leat/config/toml.hpp>

namespace leat::config {

namespace {

constexpr std::string_view forms =
    "; write SERVICE.process.NAME.KEY=VALUE, SERVICE.channel.NAME.KEY=VALUE, SERVICE.service.KEY=VALUE or "
    "runtime.KEY=VALUE";

std::uint32_t characters_of(std::string_view text) {
  std::uint32_t characters = 0;
  for (std::size_t i = 0; i < text.size(); i = next_character(text, i).next) ++characters;
  return characters;
}

struct path_part {
  std::string name;
  source_location at;
};

class set_reader {
 public:
  set_reader(const std::string& text, std::uint32_t file, diagnostics& found)
      : text_(text), file_(file), found_(found) {}

  // {a = {b = VALUE}} of a.b=VALUE.
  std::optional<value> run() {
    if (text_.find_first_of("\n\r") != std::string::npos) return error(0, 0, "a value to set has one line");
    if (!path()) return std::nullopt;
    std::optional<value> v = read_value();
    if (!v) return std::nullopt;
    value out = std::move(*v);
    for (auto part = parts_.rbegin(); part != parts_.rend(); ++part) {
      value::table one;
      one.push_back(value_member{part->name, part->at, std::move(out)});
      out = value(std::move(one), part->at);
    }
    return out;
  }

 private:
  source_location location(std::size_t from, std::size_t to) const {
    return {file_, 1, characters_of(std::string_view(text_).substr(0, from)) + 1,
            std::max(1u, characters_of(std::string_view(text_).substr(from, to - from)))};
  }

  std::nullopt_t error(std::size_t from, std::size_t to, const std::string& what) {
    found_.error("set", location(from, to), what);
    return std::nullopt;
  }

  bool path() {
    std::size_t i = 0;
    for (;;) {
      const std::size_t from = i;
      const char quote = i < text_.size() && (text_[i] == '"' || text_[i] == '\'') ? text_[i] : '\0';
      std::string name;
      if (quote) {
        const std::size_t close = text_.find(quote, i + 1);
        if (close == std::string::npos) return error(from, text_.size(), "this quote is not closed"), false;
        name = text_.substr(i + 1, close - i - 1);
        i = close + 1;
      } else {
        i = std::min(text_.find_first_of(".=", i), text_.size());
        name = text_.substr(from, i - from);
      }
      if (name.empty()) return error(from, i, "a name is missing here" + std::string(forms)), false;
      parts_.push_back({std::move(name), location(from, i)});
      if (i < text_.size() && text_[i] == '=') break;
      if (i >= text_.size())
        return error(0, text_.size(), "'=' and a value are missing" + std::string(forms)), false;
      if (text_[i] != '.') return error(i, i + 1, "'.' or '=' is missing here"), false;
      ++i;
    }
    equals_ = i;
    return long_enough();
  }

  bool long_enough() {
    const std::string& first = parts_[0].name;
    std::size_t least = 2;
    if (first != "runtime" && first != "supervisor" && first != "control") {
      const std::string second = parts_.size() > 1 ? parts_[1].name : "";
      least = second == "service" ? 3 : 4;
    }
    if (parts_.size() >= least) return true;
    error(0, equals_, "'" + text_.substr(0, equals_) + "' names no key" + std::string(forms));
    return false;
  }

  std::optional<value> read_value() {
    const std::string rest = text_.substr(equals_ + 1);
    const source_location at = location(equals_ + 1, text_.size());
    const std::size_t begin = rest.find_first_not_of(' ');
    if (begin == std::string::npos) return value(std::string(), at);
    // The path is blanked, so that columns are those of the argument.
    source_set alone;
    alone.add("", "x" + std::string(characters_of(std::string_view(text_).substr(0, equals_)) - 1, ' ') +
                      "=" + rest);
    diagnostics wrong;
    std::optional<value> tree = parse_toml(alone, 0, wrong);
    const value* got = tree && wrong.errors() == 0 ? tree->find("x") : nullptr;
    if (got) return *got;
    // What begins as TOML was meant as that.
    if (std::string_view("\"'[{").find(rest[begin]) == std::string_view::npos) return value(rest, at);
    for (const diagnostic& f : wrong.all()) {
      source_location there = f.at;
      there.file = file_;
      found_.error("set", there, f.text);
    }
    return std::nullopt;
  }

  const std::string& text_;
  std::uint32_t file_;
  diagnostics& found_;
  std::vector<path_part> parts_;
  std::size_t equals_ = 0;
};

}  // namespace

set_values read_sets(const std::vector<std::string>& arguments, const environment_fn& environment,
                     source_set& sources, diagnostics& found) {
  set_values out;
  for (const std::string& text : arguments) {
    const std::uint32_t file = sources.add_argument("--set", text);
    // The sources take a mark at its beginning away.
    std::optional<value> tree = set_reader(sources[file].text(), file, found).run();
    if (!tree) continue;
    const value placed = expand(*tree, {environment, nullptr, file}, found);
    const value_member& first = placed.get<value::table>().front();
    value* into = first.key == "runtime"      ? &out.runtime
                  : first.key == "supervisor" ? &out.supervisor
                  : first.key == "control"    ? &out.control
                                              : nullptr;
    if (into)
      overlay(*into, first.value);
    else
      overlay(out.overrides, placed);
  }
  return out;
}

}  // namespace leat::config
