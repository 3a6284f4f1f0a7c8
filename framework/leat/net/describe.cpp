// SPDX-License-Identifier: BSL-1.0
//
// Addresses for dumps: written into the caller's memory, since a dump may be taken in a signal handler.
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <cstddef>
#include <cstring>

#include <leat/base/format.hpp>
#include <leat/net/address.hpp>
#include <leat/net/poller.hpp>

namespace leat::net {
namespace {

void append_group(text_buffer& t, unsigned group) noexcept {
  constexpr char digits[] = "0123456789abcdef";
  bool begun = false;
  for (int shift = 12; shift >= 0; shift -= 4) {
    const unsigned d = (group >> shift) & 15u;
    begun |= d != 0 || shift == 0;
    if (begun) t.append(digits[d]);
  }
}

// The longest run of zeros, if there are two, as "::".
void append_ipv6(text_buffer& t, const in6_addr& a) noexcept {
  unsigned group[8];
  for (unsigned i = 0; i < 8; ++i)
    group[i] = static_cast<unsigned>(a.s6_addr[2 * i] << 8 | a.s6_addr[2 * i + 1]);
  unsigned best = 8, length = 1;
  for (unsigned i = 0; i < 8; ++i) {
    unsigned n = 0;
    while (i + n < 8 && group[i + n] == 0) ++n;
    if (n > length) {
      best = i;
      length = n;
    }
  }
  for (unsigned i = 0; i < 8; ++i) {
    if (i == best) {
      t.append("::");
      i += length - 1;
      continue;
    }
    if (i > 0 && i != best + length) t.append(':');
    append_group(t, group[i]);
  }
}

void append_address(text_buffer& t, const address& a) noexcept {
  constexpr std::size_t head = offsetof(sockaddr_un, sun_path);
  if (a.size() > 0 && a.family() == AF_INET) {
    unsigned char b[4];
    std::memcpy(b, &reinterpret_cast<const sockaddr_in*>(a.data())->sin_addr, sizeof b);
    t.format("{}.{}.{}.{}:{}", unsigned{b[0]}, unsigned{b[1]}, unsigned{b[2]}, unsigned{b[3]}, a.port());
  } else if (a.size() > 0 && a.family() == AF_INET6) {
    t.append('[');
    append_ipv6(t, reinterpret_cast<const sockaddr_in6*>(a.data())->sin6_addr);
    t.format("]:{}", a.port());
  } else if (a.family() == AF_UNIX && a.size() > head) {
    const char* const path = reinterpret_cast<const sockaddr_un*>(a.data())->sun_path;
    t.append("unix:");
    for (std::size_t i = 0; i < a.size() - head && (path[i] != '\0' || i == 0); ++i)
      t.append(path[i] == '\0' ? '@' : path[i] < ' ' ? '?' : path[i]);
  } else {
    t.append('-');
  }
}

bool has_name(const address& a) noexcept {
  return a.size() > (a.family() == AF_UNIX ? offsetof(sockaddr_un, sun_path) : 0);
}

}  // namespace

void poller::describe(int fd, bool outwards, text_buffer& into) const noexcept {
  const address here = address::local_of(fd), there = address::peer_of(fd);
  if (has_name(here) || has_name(there)) append_address(into, here);
  if (there.size() == 0) return;
  if (!has_name(here) && !has_name(there)) return;
  into.append(outwards ? " -> " : " <- ");
  append_address(into, there);
}

}  // namespace leat::net
