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

// A peer that has lost its power, or its cable, is noticed within about two minutes: by probes when nothing
// is said, and by what is not acknowledged otherwise. Those who listen hand it on to what they accept.
inline void notice_dead_peer(int fd) noexcept {
  constexpr int on = 1, idle_s = 60, between_s = 10, probes = 6, unacknowledged_ms = 120'000;
  (void)::setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &between_s, sizeof between_s);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &probes, sizeof probes);
  (void)::setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &unacknowledged_ms, sizeof unacknowledged_ms);
}

}  // namespace leat::net
