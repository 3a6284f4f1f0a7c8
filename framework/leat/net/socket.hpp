// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <cerrno>
#include <system_error>

namespace leat::net {

// Non-blocking, closed on exec. Throws std::system_error.
inline int make_socket(int family, int type) {
  const int fd = ::socket(family, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "leat::net: socket");
  return fd;
}

// Requests and answers go out at once. Fails on what is not TCP, which does no harm.
inline void no_delay(int fd) noexcept {
  const int on = 1;
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

}  // namespace leat::net
