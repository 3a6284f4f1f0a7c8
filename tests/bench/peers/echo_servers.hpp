// SPDX-License-Identifier: BSL-1.0
#pragma once

// What servers of tcp_echo are compared with: a bare epoll loop, and a listening socket for those who want
// one.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>
#include <cstddef>
#include <cstdint>
#include <stdexcept>
#include <vector>

namespace leat::bench {

inline int listening_socket(std::uint16_t& port) {
  const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
  sockaddr_in at{};
  at.sin_family = AF_INET;
  at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof at;
  if (fd < 0 || ::bind(fd, reinterpret_cast<const sockaddr*>(&at), size) != 0 || ::listen(fd, 1024) != 0 ||
      ::getsockname(fd, reinterpret_cast<sockaddr*>(&at), &size) != 0)
    throw std::runtime_error("no socket to listen on");
  port = ntohs(at.sin_port);
  return fd;
}

inline void add_to(int set, int fd) {
  epoll_event e{};
  e.events = EPOLLIN;
  e.data.fd = fd;
  ::epoll_ctl(set, EPOLL_CTL_ADD, fd, &e);
}

// The least a server can do: a level-triggered epoll set. The one that has the listener (the others: -1)
// deals connections out to `sets` in turn, and ends with the last of its own.
inline void serve_epoll(int listener, const std::vector<int>& sets, std::size_t own) {
  const int set = sets[own];
  if (listener >= 0) add_to(set, listener);
  epoll_event events[128];
  char data[4096];
  std::size_t next = own;
  for (int live = 0, seen = 0; listener < 0 || seen == 0 || live > 0;) {
    const int n = ::epoll_wait(set, events, 128, -1);
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        for (int peer = 0;
             (peer = ::accept4(listener, nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC)) >= 0;) {
          const int on = 1;
          ::setsockopt(peer, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
          if (next == own) ++live, ++seen;
          add_to(sets[next], peer);
          next = (next + 1) % sets.size();
        }
        continue;
      }
      const ssize_t k = ::read(fd, data, sizeof data);
      if (k > 0 && ::write(fd, data, static_cast<std::size_t>(k)) == k) continue;
      ::close(fd);
      --live;
    }
  }
}

}  // namespace leat::bench
