// SPDX-License-Identifier: BSL-1.0
#include <leat/net/http_client.hpp>

#include <algorithm>
#include <cstdint>
#include <stdexcept>
#include <system_error>

#include <leat/net/dial.hpp>

namespace leat::net::http {
namespace {

[[noreturn]] void no_http(const char* what) {
  throw std::system_error(std::make_error_code(std::errc::protocol_error),
                          std::string("leat::net: the response ") + what);
}

bool is_visible(std::string_view s) noexcept {
  return std::all_of(s.begin(), s.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

}  // namespace

std::optional<url> url::parse(std::string_view text, std::string* why) {
  const auto wrong = [&](const char* what) -> std::optional<url> {
    if (why) *why = what;
    return {};
  };
  const bool secure = text.starts_with("https://");
  if (!secure && !text.starts_with("http://"))
    return wrong("expected http://host:port/path or https://host:port/path");
  text.remove_prefix(secure ? 8 : 7);
  if (!is_visible(text)) return wrong("a blank or a character that an address cannot have");
  text = text.substr(0, text.find('#'));
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  url u{std::string(text.substr(0, end)), std::string(text.substr(end)), secure};
  if (u.host.empty() || u.host.front() == ':') return wrong("there is no host");
  if (u.host.find('@') != std::string::npos) return wrong("a name or password in an address is not used");
  const std::size_t colon = u.host.rfind(':'), bracket = u.host.rfind(']');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket))
    u.host += secure ? ":443" : ":80";
  if (u.path.empty() || u.path.front() != '/') u.path.insert(0, "/");
  return u;
}

int client::post(std::string_view type, std::string_view body) {
  if (to_.secure && !o_.secure) throw std::invalid_argument("leat::net: https without options::secure");
  std::string request = "POST " + to_.path + " HTTP/1.1\r\nHost: " + to_.host + "\r\nContent-Type: ";
  request.append(type).append("\r\nContent-Length: ").append(std::to_string(body.size()));
  request.append("\r\n").append(o_.fields).append("\r\n").append(body);
  try {
    if (peer_.is_open()) {
      try {
        return exchange(request, o_.to_answer);
      } catch (const std::system_error& e) {
        if (e.code() == std::errc::timed_out || e.code() == std::errc::protocol_error) throw;
      }
    }
    const deadline until = o_.to_connect;
    peer_ = dial(to_.host, until);
    if (to_.secure) o_.secure(peer_, to_.host, until);
    peer_.line_limit(o_.head);
    return exchange(request, o_.to_answer);
  } catch (...) {
    peer_ = {};  // given up: with TLS a close would say that this was all
    throw;
  }
}

int client::exchange(const std::string& request, deadline until) {
  peer_.write(request, until);
  response_head r{.status = 100};
  // Responses that only announce another one.
  for (int i = 0; r.status < 200; ++i) {
    if (i == 8) no_http("only announces others");
    r = read_head(until);
  }
  bool keeps = false;
  try {
    keeps = drop_body(r, until);
  } catch (const std::system_error&) {
    // The response is known; only the connection is lost.
  }
  if (!keeps) close();
  return r.status;
}

response_head client::read_head(deadline until) {
  std::string head;
  try {
    if (!peer_.read_until(head, "\r\n\r\n", until)) {
      if (head.empty()) throw end_of_stream(1);
      no_http("ended within its head");
    }
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::message_size) no_http("has no end of its head");
    throw;
  }
  const char* why = "";
  const std::optional<response_head> r = parse_response(head, why);
  if (!r) no_http(why);
  return *r;
}

bool client::drop_body(const response_head& r, deadline until) {
  if (!r.keep_alive || r.body_size > o_.body) return false;
  std::uint64_t left = r.body_size;
  char part[4096];
  while (left > 0) {
    const std::size_t n = peer_.read_some({part, std::min<std::uint64_t>(left, sizeof part)}, until);
    if (n == 0) return false;
    left -= n;
  }
  return peer_.buffered() == 0;
}

}  // namespace leat::net::http
