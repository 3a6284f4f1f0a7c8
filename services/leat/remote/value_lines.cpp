// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/value_lines.hpp>

#include <leat/remote/json.hpp>

namespace leat::remote {

bool value_lines::add(std::string_view line) {
  if (text_.empty() && line.find_first_not_of(" \t\r") == std::string_view::npos) return false;
  if (!text_.empty()) text_ += '\n';
  text_ += line;
  for (const char c : line) {
    if (escaped_) {
      escaped_ = false;
    } else if (in_text_) {
      escaped_ = c == '\\';
      in_text_ = c != '"';
    } else if (c == '"') {
      in_text_ = true;
    } else if (c == '{' || c == '[') {
      ++depth_;
    } else if (c == '}' || c == ']') {
      broken_ = broken_ || depth_ == 0;
      if (depth_ > 0) --depth_;
    }
  }
  // A text has no line end in it.
  return depth_ == 0 || in_text_ || broken_ || text_.size() > json_size;
}

void value_lines::clear() {
  text_.clear();
  depth_ = 0;
  in_text_ = escaped_ = broken_ = false;
}

}  // namespace leat::remote
