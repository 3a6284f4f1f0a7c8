// SPDX-License-Identifier: BSL-1.0
#include <leat/net/http_request.hpp>

#include <algorithm>
#include <charconv>
#include <system_error>

#include <leat/net/http_syntax.hpp>

namespace leat::net::http {
namespace {

constexpr const char* bad_request = "400 Bad Request";

using namespace syntax;

// What RFC 3986 has in a host and its port; not whether there is such a host.
bool is_host(std::string_view s) noexcept {
  constexpr std::string_view others = "-._~!$&'()*+,;=%[]:";
  return std::all_of(s.begin(), s.end(),
                     [&](char c) { return is_alphanumeric(c) || others.find(c) != std::string_view::npos; });
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

// "http://host/path": where the host ends.
constexpr std::size_t scheme = 7;
std::size_t end_of_host(std::string_view target) noexcept {
  return std::min(target.find_first_of("/?", scheme), target.size());
}

// A star is for OPTIONS alone; what follows a '#' is never sent.
bool is_target(std::string_view s, std::string_view method) noexcept {
  if (!is_visible(s) || s.find('#') != std::string_view::npos) return false;
  if (s[0] == '/') return true;
  if (s == "*") return method == "OPTIONS";
  if (!same(s.substr(0, scheme), "http://")) return false;
  const std::string_view host = s.substr(scheme, end_of_host(s) - scheme);
  return !host.empty() && is_host(host);
}

}  // namespace

std::string_view request::path() const noexcept {
  std::string_view p = target;
  if (p[0] != '/' && p != "*") {
    p.remove_prefix(end_of_host(p));
    if (!p.starts_with('/')) return "/";
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
  if (!is_token(request_.method) || !is_target(request_.target, request_.method))
    return refuse(bad_request), false;
  if (version.size() != 8 || version.substr(0, 5) != "HTTP/" || !is_digit(version[5]) || version[6] != '.' ||
      !is_digit(version[7]))
    return refuse(bad_request), false;
  if (version[5] != '1') return refuse("505 HTTP Version Not Supported"), false;
  request_.minor_version = version[7] - '0';
  return true;
}

bool request_parser::take_line(std::string_view line) {
  const std::optional<field_line> f = split_field(line);
  if (!f) return refuse(bad_request), false;
  return take_field(f->name, f->value);
}

bool request_parser::take_field(std::string_view name, std::string_view value) {
  if (same(name, "host")) {
    if (++hosts_ > 1 || !is_host(value)) return refuse(bad_request), false;
  } else if (same(name, "connection")) {
    if (lists(value, "close")) request_.keep_alive = false;
    if (lists(value, "keep-alive")) asked_to_keep_ = true;
  } else if (same(name, "transfer-encoding")) {
    encoded_ = true;
  } else if (same(name, "expect")) {
    if (same(value, "100-continue")) request_.expects_continue = true;
  } else if (same(name, "content-length")) {
    const std::optional<std::uint64_t> length = content_length(value);
    if (++lengths_ > 1 || !length) return refuse(bad_request), false;
    request_.body_size = *length;
  }
  return true;
}

bool request_parser::finish() {
  if (request_.minor_version == 0 && !asked_to_keep_) request_.keep_alive = false;
  if (hosts_ == 0 && request_.minor_version > 0) return refuse(bad_request), false;
  if (encoded_ && lengths_ > 0) return refuse(bad_request), false;
  if (encoded_) return refuse("501 Not Implemented"), false;
  return true;
}

}  // namespace leat::net::http
