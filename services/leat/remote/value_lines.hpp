// SPDX-License-Identifier: BSL-1.0
//
// Lines that come one by one, put together to JSON values: a value may take several lines, and a line holds at most
// the end of one. Whether a value is whole is seen by its brackets alone; whether it is right, by read_json.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace leat::remote {

class value_lines {
 public:
  // True: text() is a whole value, or what will never become one. A line that is blank between values is passed over.
  bool add(std::string_view line);
  // What has come, with line ends between.
  const std::string& text() const noexcept { return text_; }
  bool empty() const noexcept { return text_.empty(); }
  void clear();

 private:
  std::string text_;
  std::size_t depth_ = 0;
  bool in_text_ = false, escaped_ = false, broken_ = false;
};

}  // namespace leat::remote
