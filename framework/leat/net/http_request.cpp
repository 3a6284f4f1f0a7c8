// SPDX-License-Identifier: BSL-1.0
#include <leat/net/http_request.hpp>

#include <algorithm>
#include <charconv>

namespace leat::net::http {
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

// %41 is A, + a blank.
std::optional<std::string> decoded(std::string_view s) {
  std::string text;
  for (std::size_t i = 0; i < s.size(); ++i) {
    if (s[i] != '%') {
      text += s[i] == '+' ? ' ' : s[i];
      continue;
    }
    unsigned code = 0;
    if (i + 2 >= s.size()) return {};
    const auto [end, error] = std::from_chars(s.data() + i + 1, s.data() + i + 3, code, 16);
    if (error != std::errc{} || end != s.data() + i + 3) return {};
    text += static_cast<char>(code);
    i += 2;
  }
  return text;
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

std::string_view request::query() const noexcept {
  const std::size_t at = target.find('?');
  return at == std::string_view::npos ? std::string_view() : target.substr(at + 1);
}

std::string_view request::field(std::string_view name) const noexcept {
  for (std::string_view rest = fields; !rest.empty();) {
    const std::size_t end = rest.find("\r\n"), colon = rest.find(':');
    if (same(rest.substr(0, colon), name)) return trimmed(rest.substr(colon + 1, end - colon - 1));
    rest.remove_prefix(end + 2);
  }
  return {};
}

std::optional<std::string> query_value(std::string_view query, std::string_view name) {
  while (!query.empty()) {
    const std::size_t end = std::min(query.find('&'), query.size());
    const std::string_view part = query.substr(0, end);
    query.remove_prefix(std::min(end + 1, query.size()));
    const std::size_t equals = part.find('=');
    if (equals != std::string_view::npos && part.substr(0, equals) == name)
      return decoded(part.substr(equals + 1));
  }
  return {};
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
    if (first) request_.fields = head.substr(at, head.size() - at - 2);
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

}  // namespace leat::net::http
