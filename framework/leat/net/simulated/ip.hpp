// SPDX-License-Identifier: BSL-1.0
//
// Questions about addresses. Not installed.
#pragma once
#include <netinet/in.h>
#include <string>
#include <string_view>

#include <leat/net/address.hpp>

namespace leat::net::simulated {

// Without the port; of an IPv4 address that stands in an IPv6 one, itself.
inline std::string ip_of(const address& a) {
  const auto bytes = [](const void* from, std::size_t n) {
    return std::string(static_cast<const char*>(from), n);
  };
  if (a.family() == AF_INET) return bytes(&reinterpret_cast<const sockaddr_in*>(a.data())->sin_addr, 4);
  if (a.family() != AF_INET6) return {};
  const in6_addr& six = reinterpret_cast<const sockaddr_in6*>(a.data())->sin6_addr;
  return IN6_IS_ADDR_V4MAPPED(&six) ? bytes(six.s6_addr + 12, 4) : bytes(six.s6_addr, 16);
}

inline bool is_loopback(const address& a) {
  const std::string ip = ip_of(a);
  return ip.size() == 4 ? ip[0] == 127 : !ip.empty() && ip == std::string(15, '\0') + '\1';
}

// 0.0.0.0 or ::
inline bool is_any(const address& a) {
  const std::string ip = ip_of(a);
  return !ip.empty() && ip.find_first_not_of('\0') == std::string::npos;
}

inline address with_port(address a, unsigned short port) {
  if (a.family() == AF_INET) reinterpret_cast<sockaddr_in*>(a.data())->sin_port = htons(port);
  if (a.family() == AF_INET6) reinterpret_cast<sockaddr_in6*>(a.data())->sin6_port = htons(port);
  return a;
}

// Does what is bound to `bound` get what goes to `to`?
inline bool takes(const address& bound, const address& to) {
  if (bound.family() == AF_UNIX || to.family() == AF_UNIX) return bound.text() == to.text();
  if (bound.port() != to.port()) return false;
  // :: takes both families.
  if (is_any(bound)) return bound.family() == AF_INET6 || ip_of(to).size() == 4;
  // Who dials 0.0.0.0 means this host.
  return ip_of(bound) == ip_of(to) || (is_any(to) && is_loopback(bound));
}

}  // namespace leat::net::simulated
