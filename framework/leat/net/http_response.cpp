// SPDX-License-Identifier: BSL-1.0
#include <leat/net/http_response.hpp>

#include <leat/net/http_syntax.hpp>

namespace leat::net::http {
namespace {

using namespace syntax;

// What the fields say about the body and the connection.
struct account {
  bool malformed = false, closes = false, encoded = false;
  unsigned lengths = 0;
  std::optional<std::uint64_t> length = {};

  void take(std::string_view line) {
    const std::optional<field_line> f = split_field(line);
    if (!f) {
      malformed = true;
    } else if (same(f->name, "connection")) {
      closes = closes || lists(f->value, "close");
    } else if (same(f->name, "transfer-encoding")) {
      encoded = true;
    } else if (same(f->name, "content-length")) {
      ++lengths;
      length = content_length(f->value);
    }
  }
};

// "HTTP/1.1 200 OK"; the reason may be missing, and the blank before it.
int status_of(std::string_view line, const char*& why) noexcept {
  why = "is not HTTP";
  if (line.size() < 12 || line.substr(0, 7) != "HTTP/1." || !is_digit(line[7]) || line[8] != ' ') return 0;
  why = "has no status";
  if (!is_digit(line[9]) || !is_digit(line[10]) || !is_digit(line[11])) return 0;
  if (line.size() > 12 && line[12] != ' ') return 0;
  const int status = (line[9] - '0') * 100 + (line[10] - '0') * 10 + (line[11] - '0');
  return status <= 599 && status >= 100 ? status : 0;
}

}  // namespace

std::optional<response_head> parse_response(std::string_view head, const char*& why) {
  const std::size_t first = head.find("\r\n");
  const std::string_view line = head.substr(0, first);
  response_head r;
  r.status = status_of(line, why);
  if (r.status == 0) return std::nullopt;
  account a;
  a.malformed = first == std::string_view::npos || !head.ends_with("\r\n\r\n") || !is_field_value(line);
  for (std::size_t at = first; !a.malformed && at + 4 < head.size();) {
    const std::size_t begin = at + 2;
    at = head.find("\r\n", begin);
    a.take(head.substr(begin, at - begin));
  }
  const bool bodiless = r.status < 200 || r.status == 204 || r.status == 304;
  const bool new_enough = line[7] != '0';
  if (a.malformed || a.closes || a.encoded || !new_enough) return r;
  if (a.lengths > 1 || (a.lengths == 1 && !a.length)) return r;
  if (bodiless) {
    // No body comes with it, and what says otherwise is not to be trusted. 304 tells what 200 would have.
    r.keep_alive = r.status == 304 || a.length.value_or(0) == 0;
  } else if (a.length) {
    r.keep_alive = true;
    r.body_size = *a.length;
  }
  return r;
}

}  // namespace leat::net::http
