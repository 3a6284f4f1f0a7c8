// SPDX-License-Identifier: BSL-1.0
#pragma once

// The load for tcp_echo: connections that each send 64 bytes and wait for them to come back, from one thread.
// The same for Leat and all peers; std and the system only.

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace leat::bench {

struct echo_result {
  double requests_per_second = 0;  // 0: it could not connect
  double p50_us = 0, p99_us = 0;
};

inline std::int64_t echo_now_ns() {
  timespec t{};
  ::clock_gettime(CLOCK_MONOTONIC, &t);
  return static_cast<std::int64_t>(t.tv_sec) * 1'000'000'000 + t.tv_nsec;
}

inline void pin_to(int cpu) {
  cpu_set_t set;
  CPU_ZERO(&set);
  CPU_SET(static_cast<unsigned>(cpu), &set);
  (void)::sched_setaffinity(0, sizeof set, &set);
}

// As many more descriptors as the system allows this process.
inline bool allow_descriptors(rlim_t wanted) {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return false;
  if (limit.rlim_cur >= wanted) return true;
  limit.rlim_cur = std::min(wanted, limit.rlim_max);
  return limit.rlim_cur == wanted && ::setrlimit(RLIMIT_NOFILE, &limit) == 0;
}

// With `idle` further connections that are opened first and stay silent.
inline echo_result run_echo_client(std::uint16_t port, int connections, int milliseconds, int idle = 0) {
  constexpr std::size_t size = 64;
  struct peer {
    int fd;
    std::size_t got = 0;  // of the answer under way
    std::int64_t sent_at = 0;
  };
  sockaddr_in to{};
  to.sin_family = AF_INET;
  to.sin_port = htons(port);
  to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  std::vector<peer> peers;
  const int set = ::epoll_create1(0);
  char message[size] = {};
  const auto dial = [&] {
    const int fd = ::socket(AF_INET, SOCK_STREAM, 0);
    int tries = 0;
    // The server may not listen yet.
    while (::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to) != 0) {
      if (++tries > 2000) return -1;
      ::usleep(1000);
    }
    const int on = 1;
    ::setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
    return fd;
  };
  for (int i = 0; i < idle; ++i)
    if (dial() < 0) return {};
  for (int i = 0; i < connections; ++i) {
    peers.push_back({dial()});
    if (peers.back().fd < 0) return {};
  }
  for (std::size_t i = 0; i < peers.size(); ++i) {
    epoll_event e{};
    e.events = EPOLLIN;
    e.data.u64 = i;
    ::epoll_ctl(set, EPOLL_CTL_ADD, peers[i].fd, &e);
    peers[i].sent_at = echo_now_ns();
    if (::write(peers[i].fd, message, size) != static_cast<ssize_t>(size)) return {};
  }
  // The first tenth warms up.
  const std::int64_t length = static_cast<std::int64_t>(milliseconds) * 1'000'000;
  const std::int64_t begin = echo_now_ns() + length / 10, end = begin + length;
  std::vector<std::int32_t> latencies;
  latencies.reserve(1 << 20);
  epoll_event events[64];
  std::int64_t now = echo_now_ns();
  while (now < end) {
    const int n = ::epoll_wait(set, events, 64, 100);
    if (n == 0) now = echo_now_ns();
    for (int i = 0; i < n; ++i) {
      peer& p = peers[static_cast<std::size_t>(events[i].data.u64)];
      char back[size];
      const ssize_t k = ::read(p.fd, back, size - p.got);
      if (k <= 0) return {};
      p.got += static_cast<std::size_t>(k);
      if (p.got < size) continue;
      p.got = 0;
      now = echo_now_ns();
      if (now >= begin) latencies.push_back(static_cast<std::int32_t>(now - p.sent_at));
      p.sent_at = now;
      if (::write(p.fd, message, size) != static_cast<ssize_t>(size)) return {};
    }
  }
  for (const peer& p : peers) ::close(p.fd);
  ::close(set);
  if (latencies.empty()) return {};
  std::sort(latencies.begin(), latencies.end());
  const auto at = [&](double share) {
    return latencies[static_cast<std::size_t>(share * static_cast<double>(latencies.size() - 1))] / 1e3;
  };
  return {static_cast<double>(latencies.size()) / (static_cast<double>(length) / 1e9), at(0.5), at(0.99)};
}

}  // namespace leat::bench
