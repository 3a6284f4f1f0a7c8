// SPDX-License-Identifier: BSL-1.0
#include "request.hpp"

#include <algorithm>
#include <charconv>

namespace hello {
namespace {

constexpr const char* bad_request = "400 Bad Request";

bool is_alphanumeric(char c) noexcept {
  return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z');
}
bool is_token(std::string_view s) noexcept {
  constexpr std::string_view others = "!#$%&'*+-.^_`|~";
  return !s.empty() && std::all_of(s.begin(), s.end(), [&](char c) {
    return is_alphanumeric(c) || others.find(c) != std::string_view::npos;
  });
}
bool is_visible(std::string_view s) noexcept {
  return !s.empty() && std::all_of(s.begin(), s.end(), [](char c) { return c > ' ' && c < 0x7f; });
}
bool is_field_value(std::string_view s) noexcept {
  return std::all_of(s.begin(), s.end(),
                     [](char c) { return c == '\t' || (static_cast<unsigned char>(c) >= ' ' && c != 0x7f); });
}

constexpr char lower(char c) noexcept { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; }
bool same(std::string_view a, std::string_view in_lower_case) noexcept {
  return std::equal(a.begin(), a.end(), in_lower_case.begin(), in_lower_case.end(),
                    [](char x, char y) { return lower(x) == y; });
}

std::string_view trimmed(std::string_view s) noexcept {
  const std::size_t from = s.find_first_not_of(" \t");
  if (from == std::string_view::npos) return {};
  return s.substr(from, s.find_last_not_of(" \t") - from + 1);
}

// Is the word in a list with commas?
bool lists(std::string_view list, std::string_view word) noexcept {
  for (;;) {
    const std::size_t comma = list.find(',');
    if (same(trimmed(list.substr(0, comma)), word)) return true;
    if (comma == std::string_view::npos) return false;
    list.remove_prefix(comma + 1);
  }
}

bool is_target(std::string_view s) noexcept {
  return is_visible(s) && (s[0] == '/' || s == "*" || same(s.substr(0, 7), "http://"));
}

}  // namespace

std::string_view request::path() const noexcept {
  std::string_view p = target;
  if (p[0] != '/' && p != "*") {
    const std::size_t slash = p.find('/', 7);
    p = slash == std::string_view::npos ? "/" : p.substr(slash);
  }
  return p.substr(0, p.find('?'));
}

progress request_parser::refuse(const char* status) noexcept {
  status_ = status;
  return progress::refused;
}

progress request_parser::parse(std::string_view text) {
  // Where we are is kept, so that a head that comes byte by byte is not read again and again. Views are not:
  // the text may have moved.
  for (;;) {
    const std::size_t end = text.find('\n', seen_);
    if (end == std::string_view::npos) {
      seen_ = text.size();
      return progress::incomplete;
    }
    seen_ = end + 1;
    if (end == line_begin_ || text[end - 1] != '\r') return refuse(bad_request);
    const bool empty = end - 1 == line_begin_;
    if (empty && first_line_done_) break;
    // Empty lines before a request are left over from a careless client's last body.
    if (!empty) first_line_done_ = true;
    line_begin_ = seen_;
  }
  const std::string_view head = text.substr(0, seen_);
  bool first = true;
  for (std::size_t at = 0; at < head.size();) {
    const std::size_t end = head.find('\r', at);
    const std::string_view line = head.substr(at, end - at);
    if (head[end + 1] != '\n') return refuse(bad_request);
    at = end + 2;
    if (line.empty()) continue;
    if (!(first ? take_request_line(line) : take_line(line))) return progress::refused;
    first = false;
  }
  if (!finish()) return progress::refused;
  request_.head_size = head.size();
  return progress::complete;
}

bool request_parser::take_request_line(std::string_view line) {
  const std::size_t a = line.find(' '), b = line.rfind(' ');
  if (a == std::string_view::npos || a == b) return refuse(bad_request), false;
  request_.method = line.substr(0, a);
  request_.target = line.substr(a + 1, b - a - 1);
  const std::string_view version = line.substr(b + 1);
  if (!is_token(request_.method) || !is_target(request_.target)) return refuse(bad_request), false;
  const auto digit = [](char c) { return c >= '0' && c <= '9'; };
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/" || !digit(version[5]) || version[6] != '.' ||
      !digit(version[7]))
    return refuse(bad_request), false;
  if (version[5] != '1') return refuse("505 HTTP Version Not Supported"), false;
  request_.minor_version = version[7] - '0';
  return true;
}

bool request_parser::take_line(std::string_view line) {
  const std::size_t colon = line.find(':');
  // A blank before the colon, or a line that begins with one, is read in different ways by different servers.
  if (colon == std::string_view::npos || !is_token(line.substr(0, colon))) return refuse(bad_request), false;
  const std::string_view value = trimmed(line.substr(colon + 1));
  if (!is_field_value(value)) return refuse(bad_request), false;
  return take_field(line.substr(0, colon), value);
}

bool request_parser::take_field(std::string_view name, std::string_view value) {
  if (same(name, "host")) {
    ++hosts_;
  } else if (same(name, "connection")) {
    if (lists(value, "close")) request_.keep_alive = false;
    if (lists(value, "keep-alive")) asked_to_keep_ = true;
  } else if (same(name, "transfer-encoding")) {
    encoded_ = true;
  } else if (same(name, "expect")) {
    if (same(value, "100-continue")) request_.expects_continue = true;
  } else if (same(name, "content-length")) {
    const char* const end = value.data() + value.size();
    const auto [at, error] = std::from_chars(value.data(), end, request_.body_size);
    if (++lengths_ > 1 || value.empty() || at != end || error != std::errc{})
      return refuse(bad_request), false;
  }
  return true;
}

bool request_parser::finish() {
  if (request_.minor_version == 0 && !asked_to_keep_) request_.keep_alive = false;
  if (hosts_ > 1 || (hosts_ == 0 && request_.minor_version > 0)) return refuse(bad_request), false;
  if (encoded_ && lengths_ > 0) return refuse(bad_request), false;
  if (encoded_) return refuse("501 Not Implemented"), false;
  return true;
}

}  // namespace hello
