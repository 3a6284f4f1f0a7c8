// SPDX-License-Identifier: BSL-1.0
#include <leat/net/address.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/un.h>
#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstring>
#include <system_error>

namespace leat::net {
namespace {

constexpr std::string_view unix_prefix = "unix:";

bool parse_port(std::string_view text, unsigned short& port) noexcept {
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), port);
  return error == std::errc{} && end == text.data() + text.size() && !text.empty();
}

void say(std::string* why, std::string text) {
  if (why) *why = std::move(text);
}

std::optional<address> parse_unix(std::string_view path, std::string* why) {
  sockaddr_un a{};
  a.sun_family = AF_UNIX;
  if (path.empty()) {
    say(why, "the path after 'unix:' is empty");
    return {};
  }
  // One byte is left for the end of the path; an abstract name has none.
  if (path.size() >= sizeof a.sun_path) {
    say(why, "a unix socket's path has at most " + std::to_string(sizeof a.sun_path - 1) +
                 " bytes, this one has " + std::to_string(path.size()));
    return {};
  }
  std::memcpy(a.sun_path, path.data(), path.size());
  std::size_t size = offsetof(sockaddr_un, sun_path) + path.size() + 1;
  if (path[0] == '@') {
    a.sun_path[0] = '\0';
    --size;
  }
  return address(reinterpret_cast<const sockaddr*>(&a), static_cast<socklen_t>(size));
}

}  // namespace

address::address(const sockaddr* from, socklen_t size) noexcept
    : size_(std::min<socklen_t>(size, capacity())) {
  std::memcpy(&storage_, from, size_);
}

bool split_host_port(std::string_view text, std::string& host, std::string& port) {
  const std::size_t colon = text.rfind(':');
  if (colon == std::string_view::npos) {
    host.clear();
    port = text;
    return !text.empty() &&
           std::all_of(text.begin(), text.end(), [](char c) { return c >= '0' && c <= '9'; });
  }
  std::string_view name = text.substr(0, colon);
  if (name.size() >= 2 && name.front() == '[' && name.back() == ']') {
    name = name.substr(1, name.size() - 2);
  } else if (name.find(':') != std::string_view::npos) {
    return false;  // an IPv6 address needs its brackets, or its last part would pass for a port
  }
  host = name;
  port = text.substr(colon + 1);
  return !host.empty() && !port.empty();
}

std::optional<address> address::parse(std::string_view text, std::string* why) {
  if (text.starts_with(unix_prefix)) return parse_unix(text.substr(unix_prefix.size()), why);
  std::string host, port_text;
  if (!split_host_port(text, host, port_text)) {
    say(why, "expected \"host:port\", \"[ipv6]:port\", \"port\" or \"unix:/path\"");
    return {};
  }
  unsigned short port = 0;
  if (!parse_port(port_text, port)) {
    say(why, "'" + port_text + "' is not a port: 0 to 65535");
    return {};
  }
  sockaddr_in v4{};
  v4.sin_family = AF_INET;
  v4.sin_port = htons(port);
  if (host.empty()) host = "127.0.0.1";
  if (::inet_pton(AF_INET, host.c_str(), &v4.sin_addr) == 1)
    return address(reinterpret_cast<const sockaddr*>(&v4), sizeof v4);
  sockaddr_in6 v6{};
  v6.sin6_family = AF_INET6;
  v6.sin6_port = htons(port);
  if (::inet_pton(AF_INET6, host.c_str(), &v6.sin6_addr) == 1)
    return address(reinterpret_cast<const sockaddr*>(&v6), sizeof v6);
  say(why, "'" + host + "' is not a numeric address");
  return {};
}

unsigned short address::port() const noexcept {
  if (family() == AF_INET) return ntohs(reinterpret_cast<const sockaddr_in*>(&storage_)->sin_port);
  if (family() == AF_INET6) return ntohs(reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_port);
  return 0;
}

std::string address::text() const {
  char host[INET6_ADDRSTRLEN] = {};
  if (size_ > 0 && family() == AF_INET) {
    ::inet_ntop(AF_INET, &reinterpret_cast<const sockaddr_in*>(&storage_)->sin_addr, host, sizeof host);
    return std::string(host) + ":" + std::to_string(port());
  }
  if (size_ > 0 && family() == AF_INET6) {
    ::inet_ntop(AF_INET6, &reinterpret_cast<const sockaddr_in6*>(&storage_)->sin6_addr, host, sizeof host);
    return "[" + std::string(host) + "]:" + std::to_string(port());
  }
  constexpr std::size_t head = offsetof(sockaddr_un, sun_path);
  if (family() == AF_UNIX && size_ > head) {
    const auto& a = *reinterpret_cast<const sockaddr_un*>(&storage_);
    std::string path(a.sun_path, size_ - head);
    if (path[0] == '\0') {
      path[0] = '@';
    } else {
      path.resize(std::strlen(path.c_str()));
    }
    return "unix:" + path;
  }
  return "-";
}

std::string address::origin() const {
  const auto bytes = [](const void* from, std::size_t n) {
    return std::string(static_cast<const char*>(from), n);
  };
  if (family() == AF_INET) return bytes(&reinterpret_cast<const sockaddr_in*>(data())->sin_addr, 4);
  if (family() != AF_INET6) return {};
  const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(data())->sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(&six) ? bytes(six.s6_addr + 12, 4) : bytes(six.s6_addr, 8);
}

address address::local_of(int fd) noexcept {
  address a;
  socklen_t n = capacity();
  if (::getsockname(fd, a.data(), &n) == 0) a.resize(std::min(n, capacity()));
  return a;
}

address address::peer_of(int fd) noexcept {
  address a;
  socklen_t n = capacity();
  if (::getpeername(fd, a.data(), &n) == 0) a.resize(std::min(n, capacity()));
  return a;
}

}  // namespace leat::net
