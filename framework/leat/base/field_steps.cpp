// SPDX-License-Identifier: BSL-1.0
#include <leat/base/field_steps.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

namespace leat {
namespace {

bool is_plain(std::string_view name) noexcept {
  return !name.empty() && name.find_first_of(".[]\"") == std::string_view::npos;
}

class path_parser {
 public:
  path_parser(std::string_view text, field_steps& to) : text_(text), to_(to) {}

  field_path_error parse() {
    if (text_.empty()) return {"a path is empty", 0};
    for (bool first = true; fault_.why.empty() && at_ < text_.size(); first = false) {
      if (to_.size() == most_field_steps) {
        fail("more than " + std::to_string(most_field_steps) + " steps");
      } else if (text_[at_] == '[') {
        bracket(first);
      } else if (first) {
        name();
      } else if (text_[at_] == '.') {
        ++at_;
        name();
      } else {
        fail("expected '.' or '['");
      }
    }
    if (!fault_.why.empty()) to_.clear();
    return fault_;
  }

 private:
  void fail(std::string why) { fault_ = {std::move(why), at_}; }

  void name() {
    const std::size_t end = std::min(text_.find_first_of(".[]\"", at_), text_.size());
    if (end == at_) return fail("the name of a field is missing");
    to_.push_back({std::string(text_.substr(at_, end - at_))});
    at_ = end;
  }

  void bracket(bool first) {
    ++at_;
    if (at_ < text_.size() && text_[at_] == '"') {
      quoted();
    } else {
      field_step s{.is_index = true};
      const char* const begin = text_.data() + at_;
      const auto [end, error] = std::from_chars(begin, text_.data() + text_.size(), s.index);
      if (end == begin) return fail("expected a number, or a name in quotes");
      if (error != std::errc{} || s.index > largest_field_index)
        return fail("an index above " + std::to_string(largest_field_index));
      if (first) return fail("a path begins with the name of a field");
      at_ += static_cast<std::size_t>(end - begin);
      to_.push_back(std::move(s));
    }
    if (!fault_.why.empty()) return;
    if (at_ == text_.size() || text_[at_] != ']') return fail("expected ']'");
    ++at_;
  }

  void quoted() {
    std::string out;
    for (++at_; at_ < text_.size(); ++at_) {
      char c = text_[at_];
      if (c == '"') {
        ++at_;
        return to_.push_back({std::move(out)});
      }
      if (c == '\\') {
        if (++at_ == text_.size()) break;
        c = text_[at_];
        if (c != '"' && c != '\\') return fail("expected \\\" or \\\\");
      }
      out += c;
    }
    fail("a name without its closing quote");
  }

  const std::string_view text_;
  field_steps& to_;
  std::size_t at_ = 0;
  field_path_error fault_;
};

}  // namespace

field_path_error parse_field_path(std::string_view text, field_steps& to) {
  to.clear();
  return path_parser(text, to).parse();
}

void append_field_name(std::string& to, std::string_view name) {
  if (is_plain(name)) {
    if (!to.empty()) to += '.';
    to += name;
    return;
  }
  to += "[\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') to += '\\';
    to += c;
  }
  to += "\"]";
}

void append_field_index(std::string& to, std::size_t index) { to += '[' + std::to_string(index) + ']'; }

std::string field_pattern(std::string_view path) {
  field_steps steps;
  if (!parse_field_path(path, steps).why.empty()) return std::string(path);
  std::string out;
  for (const field_step& s : steps) {
    if (s.is_index)
      out += "[]";
    else
      append_field_name(out, s.name);
  }
  return out;
}

std::string field_path_text(const field_steps& steps) {
  std::string out;
  for (const field_step& s : steps) {
    if (s.is_index)
      append_field_index(out, s.index);
    else
      append_field_name(out, s.name);
  }
  return out;
}

}  // namespace leat
