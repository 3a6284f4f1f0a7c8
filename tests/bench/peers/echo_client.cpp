// SPDX-License-Identifier: BSL-1.0
//
// leat-echo-client PORT MILLISECONDS CPU: prints requests per second, p50 and p99 in us. CPU -1: not pinned.
#include "echo_client.hpp"

#include <cstdio>
#include <cstdlib>

int main(int argc, char** argv) {
  if (argc != 4) return 2;
  if (const int cpu = std::atoi(argv[3]); cpu >= 0) leat::bench::pin_to(cpu);
  const auto r =
      leat::bench::run_echo_client(static_cast<std::uint16_t>(std::atoi(argv[1])), 64, std::atoi(argv[2]));
  std::printf("%.1f %.2f %.2f\n", r.requests_per_second, r.p50_us, r.p99_us);
  return r.requests_per_second > 0 ? 0 : 1;
}
