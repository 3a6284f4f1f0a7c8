// SPDX-License-Identifier: BSL-1.0
//
// Tells a peer that speaks HTTP from one that sends lines. A page in a browser can make it post to any port
// of this machine, and what it posts would be taken for lines of a device. So the first line is kept back as
// long as it may be that of a request, "POST /x HTTP/1.1"; a line of text that only begins like one is let
// through. Not installed.
#pragma once
#include <array>
#include <string>
#include <string_view>
#include <utility>

namespace leat::stock {

class http_guard {
 public:
  // What may be read of all that came so far; good until the next call.
  std::string_view pass(std::string_view bytes) {
    if (decided_) {
      std::string().swap(first_);  // an assignment would keep its memory
      return bytes;
    }
    first_ += bytes;
    const std::size_t end = first_.find('\n');
    if (may_be_method(first_) && end == std::string::npos && first_.size() <= longest) return {};
    decided_ = true;
    refuses_ = may_be_method(first_) && is_request(std::string_view(first_).substr(0, end));
    return refuses_ ? std::string_view() : first_;
  }
  // At the end: what was kept back and is no request.
  std::string_view rest() noexcept {
    return std::exchange(decided_, true) || is_request(first_) ? std::string_view() : first_;
  }
  bool refuses() const noexcept { return refuses_; }

 private:
  static constexpr std::size_t longest = 8192;

  static bool may_be_method(std::string_view text) noexcept {
    constexpr std::array<std::string_view, 10> methods{"GET ",     "HEAD ",    "POST ",  "PUT ",   "DELETE ",
                                                       "OPTIONS ", "CONNECT ", "TRACE ", "PATCH ", "PRI "};
    for (const std::string_view m : methods)
      if (text.substr(0, m.size()) == m.substr(0, text.size())) return true;
    return false;
  }
  static bool is_request(std::string_view line) noexcept {
    if (line.ends_with('\r')) line.remove_suffix(1);
    const std::size_t at = line.rfind(" HTTP/");
    return at != std::string_view::npos ? line.size() - at <= 9 : line.size() > longest;
  }

  std::string first_;
  bool decided_ = false, refuses_ = false;
};

}  // namespace leat::stock
