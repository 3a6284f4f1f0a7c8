// SPDX-License-Identifier: BSL-1.0
#include <sys/epoll.h>
#include <thread>
#include <vector>

#include "../echo_servers.hpp"

extern const char* const peer_name;
const char* const peer_name = "epoll";

void serve(int listener, int threads);
void serve(int listener, int threads) {
  std::vector<int> sets;
  for (int i = 0; i < threads; ++i) sets.push_back(::epoll_create1(EPOLL_CLOEXEC));
  for (std::size_t i = 1; i < sets.size(); ++i)
    std::thread([&sets, i] { leat::bench::serve_epoll(-1, sets, i); }).detach();
  for (;;) leat::bench::serve_epoll(listener, sets, 0);
}
