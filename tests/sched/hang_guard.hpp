// SPDX-License-Identifier: BSL-1.0
// A plain thread beside the runtime under test. It watches a count of progress, and when the count stands
// still for too long it prints all Gs and aborts: a lost wake-up is shown while it is there to be looked at.
#pragma once
#include <unistd.h>
#include <atomic>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <thread>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/fiber/annotate.hpp>
#include <leat/leat.hpp>

namespace leat::sched::test {

// Sanitizers and other work on the machine stretch time, they do not stop it.
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
inline constexpr int slow_build = 5;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
inline constexpr int slow_build = 5;
#else
inline constexpr int slow_build = 1;
#endif
#else
inline constexpr int slow_build = 1;
#endif

inline bool work_is_queued() {
  const runtime_stats s = stats();
  std::size_t n = s.global_length;
  for (const std::size_t local : s.local_lengths) n += local;
  return n > 0;
}

// The count also holds, for moments, timers that sysmon is firing, and the caller itself if it lost its P:
// wait for it.
inline bool all_have_their_p_again() {
  for (const std::int64_t until = now_ns() + 90'000'000'000; now_ns() < until;) {
    if (stats().without_p == 0) return true;
    (void)sleep_for(std::chrono::microseconds(100));
  }
  return false;
}

// Gs that have done their work count as alive until they have left their threads.
inline bool only_main_is_alive() {
  for (const std::int64_t until = now_ns() + 90'000'000'000; now_ns() < until;) {
    if (stats().live == 1) return true;
    (void)sleep_for(std::chrono::microseconds(100));
  }
  return false;
}

// Made and destroyed on a G or a plain thread while the runtime runs: it asks for stats.
class hang_guard {
 public:
  // `matters` is asked on the guard's thread: standing still is a fault only while it says so.
  hang_guard(
      const char* what, std::uint64_t seed, nanoseconds limit = std::chrono::seconds(5) * slow_build,
      std::function<bool()> matters = [] { return true; })
      : what_(what), seed_(seed), limit_(limit), matters_(std::move(matters)), watch_([this] { watch(); }) {}
  ~hang_guard() {
    over_.store(true, std::memory_order_release);
    watch_.join();
  }
  hang_guard(const hang_guard&) = delete;
  hang_guard& operator=(const hang_guard&) = delete;

  // Release and acquire: who has seen all of it may destroy the guard.
  void progress(std::uint64_t n = 1) noexcept { done_.fetch_add(n, std::memory_order_release); }
  std::uint64_t done() const noexcept { return done_.load(std::memory_order_acquire); }

 private:
  void watch() {
    std::uint64_t seen = done();
    std::int64_t since = now_ns(), looked = since;
    while (!over_.load(std::memory_order_acquire)) {
      ::usleep(5000);
      const std::int64_t now = now_ns();
      // A machine that did not run this thread either did not run the others.
      if (now - looked > 200'000'000) since += now - looked;
      looked = now;
      if (done() != seen || !matters_()) {
        seen = done();
        since = now;
      } else if (now - since > limit_.count()) {
        std::fprintf(stderr, "%s: no progress for %lld ms after %llu steps (LEAT_SEED=%llu)\n", what_,
                     static_cast<long long>((now - since) / 1'000'000), static_cast<unsigned long long>(seen),
                     static_cast<unsigned long long>(seed_));
        std::fflush(stderr);
        leat::dump(STDERR_FILENO);
        std::abort();
      }
    }
  }

  const char* const what_;
  const std::uint64_t seed_;
  const nanoseconds limit_;
  const std::function<bool()> matters_;
  std::atomic<std::uint64_t> done_{0};
  std::atomic<bool> over_{false};
  std::thread watch_;  // last: it uses the others
};

// Rounds of a test that hopes for the worst interleaving. Each costs a time slice or two on a busy machine:
// then fewer must do.
class rounds_of {
 public:
  explicit rounds_of(int most, int least = 100) : most_(most), least_(least) {}
  bool more() noexcept {
    if (done_ == most_ || (done_ >= least_ && now_ns() > until_)) return false;
    ++done_;
    return true;
  }
  int done() const noexcept { return done_; }

 private:
  const int most_, least_;
  const std::int64_t until_ = now_ns() + (slow_build > 1 ? 1'500'000'000 : 4'000'000'000);
  int done_ = 0;
};

// splitmix64: small, seeded, and the same everywhere.
class random_numbers {
 public:
  explicit random_numbers(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() noexcept {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint64_t below(std::uint64_t n) noexcept { return next() % n; }
  bool one_in(std::uint64_t n) noexcept { return below(n) == 0; }

 private:
  std::uint64_t state_;
};

// LEAT_SEED repeats a run; otherwise each run has its own. Printed, so that a failure can be repeated.
inline std::uint64_t seed_for(const char* what) {
  const char* const given = std::getenv("LEAT_SEED");
  const std::uint64_t seed =
      given ? std::strtoull(given, nullptr, 0) : static_cast<std::uint64_t>(now_ns()) % 1'000'000'000;
  std::printf("%s: LEAT_SEED=%llu\n", what, static_cast<unsigned long long>(seed));
  std::fflush(stdout);
  return seed;
}

inline void spin_for(nanoseconds d) noexcept {
  for (const std::int64_t until = now_ns() + d.count(); now_ns() < until;) {
  }
}

}  // namespace leat::sched::test
