// SPDX-License-Identifier: BSL-1.0
//
// Three Gs share one P. One ticks, one never gives the P back, one blocks its thread. The ticks stay on time.
#include <chrono>
#include <cstdio>
#include <thread>

#include <leat/leat.hpp>

using namespace std::chrono_literals;

int main() {
  return leat::run({.procs = 1}, [] {
    // Enters nothing, so only taking its P away helps; it looks at the flag so that the program can end.
    leat::go("hog", [] {
      while (!leat::stop_requested()) {
      }
    });
    auto reader = leat::spawn("reader", [] {
      std::this_thread::sleep_for(700ms);  // a blocking call that nobody declared
      return 42;
    });
    for (int i = 1; i <= 10; ++i) {
      const auto due = leat::now() + 100ms;
      leat::sleep_until(due);
      const auto late = std::chrono::duration<double, std::milli>(leat::now() - due);
      std::printf("tick %2d, %.2f ms late\n", i, late.count());
    }
    std::printf("the reader says %d\n", reader.get());
    const auto s = leat::stats();
    std::printf("%u P, %u threads; a P was retaken %llu times\n", s.procs, s.threads,
                static_cast<unsigned long long>(s.retakes));
  });
}
