// SPDX-License-Identifier: BSL-1.0
//
// Bytes, in pieces of any size, into lines. Not installed.
#pragma once
#include <cstddef>
#include <string>
#include <string_view>

namespace leat::stock {

// A line ends with '\n' or "\r\n", which are not part of it, or where the bytes end. One that is longer than
// the limit is skipped whole, and told once.
class line_splitter {
 public:
  explicit line_splitter(std::size_t limit) : limit_(limit) {}

  // take: bool line(std::string_view), bool too_long(); false: no more, and what is left of the bytes is
  // lost.
  template <class Taker>
  bool feed(std::string_view bytes, Taker& take) {
    while (!bytes.empty()) {
      const std::size_t end = bytes.find('\n');
      const std::string_view part = bytes.substr(0, end);
      const bool whole = end != std::string_view::npos;
      bytes.remove_prefix(whole ? end + 1 : bytes.size());
      if (skipping_) {
        skipping_ = !whole;
        continue;
      }
      if (is_long(part)) {
        held_.clear();
        skipping_ = !whole;
        if (!take.too_long()) return false;
        continue;
      }
      if (!whole) {
        held_ += part;
      } else if (!give(part, take)) {
        return false;
      }
    }
    return true;
  }
  // The end of the bytes: what is there is a line.
  template <class Taker>
  bool finish(Taker& take) {
    skipping_ = false;
    return held_.empty() || give({}, take);
  }
  // Whether the line that is being taken had a '\r' at its end.
  bool ended_with_return() const noexcept { return returned_; }
  // Whatever comes next is the beginning of a line.
  void reset() noexcept {
    held_.clear();
    skipping_ = false;
  }

 private:
  // One byte more than the limit may be the '\r' before the end.
  bool is_long(std::string_view part) const noexcept {
    const std::size_t n = held_.size() + part.size();
    if (n <= limit_) return false;
    return n > limit_ + 1 || (part.empty() ? held_.back() : part.back()) != '\r';
  }

  template <class Taker>
  bool give(std::string_view part, Taker& take) {
    if (!held_.empty()) {
      held_ += part;
      part = held_;
    }
    returned_ = part.ends_with('\r');
    if (returned_) part.remove_suffix(1);
    const bool more = take.line(part);
    held_.clear();
    return more;
  }

  const std::size_t limit_;
  std::string held_;
  bool skipping_ = false, returned_ = false;
};

}  // namespace leat::stock
