// SPDX-License-Identifier: BSL-1.0
#include <leat/net/allowed_hosts.hpp>

#include <arpa/inet.h>
#include <netinet/in.h>
#include <unistd.h>
#include <algorithm>
#include <array>

namespace leat::net::http {
namespace {

std::string text_of(const in_addr& a) {
  char text[INET_ADDRSTRLEN] = {};
  (void)::inet_ntop(AF_INET, &a, text, sizeof text);
  return text;
}

// One that only wraps an address of IPv4 is that address.
std::string text_of(const in6_addr& a) {
  if (IN6_IS_ADDR_V4MAPPED(&a)) {
    in_addr four{};
    std::copy_n(a.s6_addr + 12, 4, reinterpret_cast<unsigned char*>(&four));
    return text_of(four);
  }
  char text[INET6_ADDRSTRLEN] = {};
  (void)::inet_ntop(AF_INET6, &a, text, sizeof text);
  return text;
}

std::string text_of(const address& a) {
  if (a.family() == AF_INET) return text_of(reinterpret_cast<const sockaddr_in*>(a.data())->sin_addr);
  return text_of(reinterpret_cast<const sockaddr_in6*>(a.data())->sin6_addr);
}

// "[::1]:80" -> "::1", "Pump.Local.:80" -> "pump.local": one form for each address and name.
std::string normal_form(std::string_view host) {
  if (host.starts_with('[')) {
    host = host.substr(1, host.find(']') - 1);
  } else if (std::count(host.begin(), host.end(), ':') == 1) {
    host = host.substr(0, host.find(':'));
  }
  std::string name(host.substr(0, host.find('%')));  // the interface of a link-local address
  for (char& c : name)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  if (name.ends_with('.')) name.pop_back();
  in_addr four{};
  in6_addr six{};
  if (::inet_pton(AF_INET, name.c_str(), &four) == 1) return text_of(four);
  return ::inet_pton(AF_INET6, name.c_str(), &six) == 1 ? text_of(six) : name;
}

bool is_loopback(const std::string& plain_host) {
  in_addr four{};
  if (::inet_pton(AF_INET, plain_host.c_str(), &four) == 1) return (ntohl(four.s_addr) >> 24) == 127;
  return plain_host == "::1" || plain_host == "localhost" || plain_host.ends_with(".localhost");
}

}  // namespace

allowed_hosts::allowed_hosts(const std::vector<std::string>& further) {
  for (const std::string& h : further) {
    any_ = any_ || h == "*";
    names_.push_back(normal_form(h));
  }
  std::array<char, 256> own{};
  if (::gethostname(own.data(), own.size() - 1) != 0 || own[0] == '\0') return;
  const std::string name = normal_form(own.data()), first = name.substr(0, name.find('.'));
  for (const std::string& n : {name, first, first + ".local"}) names_.push_back(n);
}

bool allowed_hosts::allows(std::string_view host, const address& local) const {
  if (any_ || host.empty() || (local.family() != AF_INET && local.family() != AF_INET6)) return true;
  const std::string name = normal_form(host);
  return is_loopback(name) || name == text_of(local) ||
         std::find(names_.begin(), names_.end(), name) != names_.end();
}

}  // namespace leat::net::http
