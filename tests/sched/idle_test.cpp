// SPDX-License-Identifier: BSL-1.0
#include <sys/resource.h>
#include <algorithm>
#include <atomic>
#include <cstdio>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <leat/fiber/annotate.hpp>
#include <leat/leat.hpp>

#include "hang_guard.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"

using namespace leat::sched::test;
using namespace std::chrono_literals;

namespace {

// GCC's ThreadSanitizer holds fewer than 500 fibers at a time on AArch64, and its own thread adds to what is
// measured.
constexpr std::size_t sleepers = leat::fiber::under_tsan ? 300 : 1000;
constexpr double allowed_share = slow_build > 1 ? 0.02 : 0.001;

// Of one core, this whole process: sysmon, the poller, everything.
double cpu_seconds() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  const auto seconds = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return seconds(u.ru_utime) + seconds(u.ru_stime);
}

long switches() {
  rusage u{};
  ::getrusage(RUSAGE_SELF, &u);
  return u.ru_nvcsw + u.ru_nivcsw;
}

// Of the quietest of some windows: on a loaded machine the same few instructions cost more here and there,
// and sysmon goes to sleep later. Who looks all the time does so in each of them.
double share_while(leat::nanoseconds window) {
  double least = 1;
  for (int i = 0; i < 5; ++i) {
    const double before = cpu_seconds();
    const std::int64_t begin = leat::now_ns();
    (void)leat::sleep_for(window);
    least = std::min(least, (cpu_seconds() - before) / (1e-9 * static_cast<double>(leat::now_ns() - begin)));
  }
  std::printf("CPU use %.4f %%\n", 100 * least);
  return least;
}

void park_many(std::vector<leat::task<void>>& into) {
  for (std::size_t i = 0; i < sleepers; ++i)
    into.push_back(leat::spawn("parked", [] {
      while (leat::sleep_for(1h) != leat::sleep_result::stopped) {
      }
    }));
  while (leat::stats().parks < sleepers) (void)leat::sleep_for(1ms);
  // sysmon has seen that it is calm.
  (void)leat::sleep_for(100ms);
}

}  // namespace

TEST_CASE("a runtime with a thousand parked Gs uses no CPU" * leat::test::soak) {
  leat::run({.procs = 2}, [] {
    std::vector<leat::task<void>> parked;
    park_many(parked);
    CHECK(leat::stats().live == sleepers + 1);
    CHECK(
        leat::test::at_most("share of a core with a thousand parked Gs", share_while(1s), "", allowed_share));
    // The M that found this G awake has called another to look in its place; that one finds nothing and
    // stops.
    const std::int64_t limit = leat::now_ns() + 10'000'000'000;
    leat::runtime_stats s = leat::stats();
    while (s.spinning > 0 && leat::now_ns() < limit) s = leat::stats();
    CHECK(s.spinning == 0);
    CHECK(s.global_length == 0);
    for (auto& t : parked) t.request_stop();
    for (auto& t : parked) t.get();
    CHECK(leat::stats().live == 1);
  });
}

TEST_CASE("a G that ticks ten times a second among parked ones stays cheap and on time" * leat::test::soak) {
  leat::run({.procs = 2}, [] {
    std::vector<leat::task<void>> parked;
    park_many(parked);
    int ticks = 0;
    std::int64_t worst = 0;
    auto ticker = leat::spawn("ticker", [&] {
      std::int64_t due = leat::now_ns();
      do {
        due += 100'000'000;
        if (leat::sleep_until(leat::time_point(leat::nanoseconds(due))) == leat::sleep_result::stopped)
          return;
        worst = std::max(worst, leat::now_ns() - due);
        ++ticks;
      } while (!leat::stop_requested());
    });
    CHECK(leat::test::at_most("share of a core with ten ticks a second", share_while(600ms), "",
                              3 * allowed_share));
    ticker.request_stop();
    ticker.get();
    CHECK(ticks >= 5);
    CHECK(leat::test::at_most("how late a tick comes, worst", leat::nanoseconds(worst), 1s * slow_build));
    for (auto& t : parked) t.request_stop();
  });
}

TEST_CASE("sysmon looks once after each tick of a program that is idle in between" * leat::test::soak) {
  leat::run({.procs = 2}, [] {
    (void)leat::sleep_for(100ms);
    constexpr long ticks = 10;
    long least = 1'000'000;
    for (int window = 0; window < 5; ++window) {
      const long before = switches();
      for (long i = 0; i < ticks; ++i) (void)leat::sleep_for(100ms);
      least = std::min(least, switches() - before);
    }
    // The M that wakes, sysmon after it, and perhaps a second M that takes over the poller.
    CHECK(leat::test::at_most("switches of threads in a second with ten ticks", static_cast<double>(least),
                              "", static_cast<double>((leat::fiber::under_tsan ? 20 : 3) * ticks + 5)));
  });
}

TEST_CASE("a sysmon that sleeps deeply wakes for a hog that no timer announces") {
  leat::run({.procs = 1}, [] {
    std::atomic<bool> enough{false}, begun{false}, in_time{false};
    auto parked = leat::spawn("parked", [] { (void)leat::sleep_for(1h); });
    std::thread outside([&] {
      // Not to be right: so that sysmon has gone to sleep deeply. Only whoever takes the P can wake it.
      std::this_thread::sleep_for(200ms);
      leat::go("hog", [&] {
        begun = true;
        for (const std::int64_t limit = leat::now_ns() + 90'000'000'000; leat::now_ns() < limit && !enough;) {
        }
        in_time = enough.load();
        parked.request_stop();
      });
      while (!begun) std::this_thread::yield();
      leat::go("other", [&] { enough = true; });  // runs only if sysmon takes the P from the hog
    });
    (void)parked.join();
    outside.join();
    CHECK(in_time);
    CHECK(leat::stats().retakes >= 1);
  });
}

TEST_CASE("a sysmon that sleeps deeply wakes for the first hog") {
  leat::run({.procs = 1}, [] {
    (void)leat::sleep_for(500ms);  // all Ps are idle: sysmon sleeps until some ms after this
    std::atomic<bool> enough{false};
    auto hog = leat::spawn("hog", [&] {
      for (const std::int64_t limit = leat::now_ns() + 90'000'000'000; leat::now_ns() < limit;)
        if (enough) return true;
      return false;
    });
    (void)leat::sleep_for(20ms);  // comes back only if sysmon takes the P from the hog
    enough = true;
    CHECK(leat::stats().retakes >= 1);
    CHECK(hog.get());
  });
}
