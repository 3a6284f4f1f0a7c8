// SPDX-License-Identifier: BSL-1.0
#include <leat/net/http_client.hpp>

#include <algorithm>
#include <charconv>
#include <cstdint>
#include <system_error>

#include <leat/net/dial.hpp>

namespace leat::net::http {
namespace {

[[noreturn]] void no_http(const char* what) {
  throw std::system_error(std::make_error_code(std::errc::protocol_error),
                          std::string("leat::net: the answer ") + what);
}

bool is_visible(std::string_view s) noexcept {
  return std::all_of(s.begin(), s.end(), [](char c) { return c > ' ' && c < 0x7f; });
}

std::string lower(std::string_view s) {
  std::string text(s);
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return text;
}

// Of a head in lower case. Empty: it has no such field.
std::string_view field_of(std::string_view head, std::string_view name) noexcept {
  for (std::size_t at = head.find("\r\n"); at != std::string_view::npos; at = head.find("\r\n", at + 2)) {
    std::string_view line = head.substr(at + 2);
    line = line.substr(0, line.find("\r\n"));
    if (!line.starts_with(name) || line.size() <= name.size() || line[name.size()] != ':') continue;
    line.remove_prefix(name.size() + 1);
    const std::size_t from = line.find_first_not_of(" \t");
    return from == std::string_view::npos ? std::string_view()
                                          : line.substr(from, line.find_last_not_of(" \t") - from + 1);
  }
  return {};
}

}  // namespace

std::optional<url> url::parse(std::string_view text, std::string* why) {
  const auto wrong = [&](const char* what) -> std::optional<url> {
    if (why) *why = what;
    return {};
  };
  if (text.starts_with("https://")) return wrong("https is not spoken here, only http");
  if (!text.starts_with("http://")) return wrong("expected http://host:port/path");
  text.remove_prefix(7);
  if (!is_visible(text)) return wrong("a blank or a sign that is no part of an address");
  text = text.substr(0, text.find('#'));
  const std::size_t end = std::min(text.find_first_of("/?"), text.size());
  url u{std::string(text.substr(0, end)), std::string(text.substr(end))};
  if (u.host.empty() || u.host.front() == ':') return wrong("there is no host");
  if (u.host.find('@') != std::string::npos) return wrong("a name or password in an address is not used");
  const std::size_t colon = u.host.rfind(':'), bracket = u.host.rfind(']');
  if (colon == std::string::npos || (bracket != std::string::npos && colon < bracket)) u.host += ":80";
  if (u.path.empty() || u.path.front() != '/') u.path.insert(0, "/");
  return u;
}

int client::post(std::string_view type, std::string_view body) {
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
    peer_ = dial(to_.host, o_.to_connect);
    peer_.line_limit(o_.head);
    return exchange(request, o_.to_answer);
  } catch (...) {
    close();
    throw;
  }
}

int client::exchange(const std::string& request, deadline until) {
  peer_.write(request, until);
  std::string head;
  int status = 100;
  // Answers that only announce another one.
  for (int i = 0; status < 200; ++i) {
    if (i == 8) no_http("only announces others");
    status = read_head(head, until);
  }
  bool keeps = false;
  try {
    keeps = drop_body(head, status, until);
  } catch (const std::system_error&) {
    // The answer is known; only the connection is lost.
  }
  if (!keeps) close();
  return status;
}

int client::read_head(std::string& head, deadline until) {
  try {
    if (!peer_.read_until(head, "\r\n\r\n", until)) {
      if (head.empty()) throw end_of_stream(1);
      no_http("ended within its head");
    }
  } catch (const std::system_error& e) {
    if (e.code() == std::errc::message_size) no_http("has no end of its head");
    throw;
  }
  head = lower(head);
  int status = 0;
  if (head.size() < 13 || !head.starts_with("http/1.") || head[8] != ' ') no_http("is no HTTP");
  const auto [end, error] = std::from_chars(head.data() + 9, head.data() + 12, status);
  if (error != std::errc{} || end != head.data() + 12 || status < 100 || status > 599)
    no_http("has no status");
  return status;
}

bool client::drop_body(std::string_view head, int status, deadline until) {
  const bool old = head[7] == '0';
  if (old || field_of(head, "connection").find("close") != std::string_view::npos) return false;
  if (!field_of(head, "transfer-encoding").empty()) return false;
  if (status == 204 || status == 304) return true;
  const std::string_view length = field_of(head, "content-length");
  std::uint64_t left = 0;
  const auto [end, error] = std::from_chars(length.data(), length.data() + length.size(), left);
  if (length.empty() || error != std::errc{} || end != length.data() + length.size()) return false;
  if (left > o_.body) return false;
  char part[4096];
  while (left > 0) {
    const std::size_t n = peer_.read_some({part, std::min<std::uint64_t>(left, sizeof part)}, until);
    if (n == 0) return false;
    left -= n;
  }
  return peer_.buffered() == 0;
}

}  // namespace leat::net::http
