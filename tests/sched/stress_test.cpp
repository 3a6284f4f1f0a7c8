// SPDX-License-Identifier: BSL-1.0
//
// Random work on a real runtime. LEAT_SEED repeats the choices of a run (not the interleaving),
// LEAT_STRESS_OPS sets how many operations there are in all.
#include <algorithm>
#include <atomic>
#include <cstdlib>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <leat/leat.hpp>

#include "hang_guard.hpp"

using namespace leat::sched::test;
using namespace std::chrono_literals;
using leat::nanoseconds;

namespace {

std::uint64_t total_operations() {
  if (const char* given = std::getenv("LEAT_STRESS_OPS")) return std::strtoull(given, nullptr, 0);
  if (leat::fiber::under_tsan) return 60'000;
  return slow_build > 1 ? 200'000 : 1'000'000;
}

// GCC's ThreadSanitizer holds fewer than 500 fibers at a time on AArch64.
constexpr std::int64_t most_live = leat::fiber::under_tsan ? 300 : 3000;

// One life of a runtime full of Gs that do random things until the budget of operations is spent.
class riot {
 public:
  riot(unsigned procs, std::uint64_t operations, std::uint64_t seed)
      : procs_(procs),
        seed_(seed),
        budget_(static_cast<std::int64_t>(operations)),
        runs_(operations + 4096),
        steps_(std::make_unique<std::atomic<std::uint32_t>[]>(runs_)) {}

  void run(const leat::runtime_options& options) {
    leat::run(options, [&] {
      guard_.emplace("stress", seed_, 5s * slow_build, work_is_queued);
      hang_guard no_end("stress, nothing at all", seed_, 10s * slow_build);
      whole_ = &no_end;
      std::vector<leat::task<void>> roots;
      for (std::uint64_t i = 0; i < 16; ++i)
        roots.push_back(leat::spawn("root", [this, i] {
          random_numbers random(seed_ * 31 + i);
          while (take_from_budget()) step(random, 0);
        }));
      std::vector<std::thread> outside;
      for (std::uint64_t i = 0; i < 2; ++i)
        outside.emplace_back([this, i] { spawn_from_outside(seed_ * 37 + i); });
      leat::blocking([&] {
        for (auto& t : outside) t.join();
      });
      for (auto& t : roots) t.get();
      while (live_.load() > 0) (void)leat::sleep_for(100us);
      whole_ = nullptr;
      guard_.reset();
      check();
    });
  }

 private:
  bool take_from_budget() { return budget_.fetch_sub(1, std::memory_order_relaxed) > 0; }

  void progress() {
    guard_->progress();
    whole_->progress();
  }

  // A G with a number: it must begin once and pass each of its steps once.
  template <class Spawn>
  void new_g(random_numbers& random, int depth, Spawn spawn) {
    const std::uint64_t number = numbers_.fetch_add(1, std::memory_order_relaxed);
    if (number >= runs_) return;
    const auto planned = static_cast<std::uint32_t>(1 + random.below(4));
    planned_.fetch_add(planned, std::memory_order_relaxed);
    live_.fetch_add(1, std::memory_order_relaxed);
    spawn([this, number, planned, depth, seed = random.next()] {
      random_numbers mine(seed);
      if (steps_[number].load(std::memory_order_relaxed) != 0) wrong_.fetch_add(1, std::memory_order_relaxed);
      for (std::uint32_t i = 0; i < planned; ++i) {
        if (take_from_budget()) step(mine, depth);
        const std::uint32_t before = steps_[number].fetch_add(1, std::memory_order_relaxed);
        if (before != i) wrong_.fetch_add(1, std::memory_order_relaxed);
      }
      live_.fetch_sub(1, std::memory_order_relaxed);
    });
  }

  void step(random_numbers& random, int depth) {
    progress();
    const std::uint64_t what = random.below(10'000);
    const bool room = depth < 4 && live_.load(std::memory_order_relaxed) < most_live;
    if (what < 3000) {
      if (room) new_g(random, depth + 1, [](auto body) { leat::go(std::move(body)); });
    } else if (what < 4500) {
      if (!room) return;
      new_g(random, depth + 1, [&](auto body) {
        auto t = leat::spawn(std::move(body));
        if (random.one_in(3)) spin_for(nanoseconds(random.below(3'000)));
        if (t.join() == leat::join_result::ended && !t.done()) wrong_.fetch_add(1);
      });
    } else if (what < 7000) {
      leat::yield();
    } else if (what < 8500) {
      const std::int64_t due = leat::now_ns() + static_cast<std::int64_t>(random.below(200'000));
      if (leat::sleep_until(leat::time_point(nanoseconds(due))) != leat::sleep_result::elapsed ||
          leat::now_ns() < due)
        wrong_.fetch_add(1);
    } else if (what < 9300) {
      const auto pause = random.one_in(20) ? random.below(1000) : random.below(30);
      const int got = leat::blocking([pause] {
        if (pause > 0) ::usleep(static_cast<useconds_t>(pause));
        return 11;
      });
      if (got != 11) wrong_.fetch_add(1);
    } else if (what < 9900) {
      stop_a_sleeper(random);
    } else if (what < 9990) {
      spin_for(nanoseconds(random.below(100'000)));
    } else if (what < 9996) {
      spin_for(1ms + nanoseconds(random.below(14'000'000)));  // a hog: it may lose its P
    } else {
      leat::set_procs(static_cast<unsigned>(1 + random.below(procs_)));
    }
  }

  void stop_a_sleeper(random_numbers& random) {
    if (live_.load(std::memory_order_relaxed) >= most_live) return;
    live_.fetch_add(1, std::memory_order_relaxed);
    auto t = leat::spawn([] { return leat::sleep_for(1h); });
    if (random.one_in(2)) leat::yield();
    if (random.one_in(8)) spin_for(nanoseconds(random.below(10'000)));
    t.request_stop();
    if (t.get() != leat::sleep_result::stopped) wrong_.fetch_add(1);
    live_.fetch_sub(1, std::memory_order_relaxed);
  }

  // Plain threads submit to the global queue, and wait for some of what they submit.
  void spawn_from_outside(std::uint64_t seed) {
    random_numbers random(seed);
    while (take_from_budget()) {
      progress();
      if (live_.load(std::memory_order_relaxed) < most_live) {
        new_g(random, 2, [&](auto body) {
          if (random.one_in(2)) {
            leat::go(std::move(body));
          } else {
            leat::spawn(std::move(body)).get();
          }
        });
      }
      if (random.one_in(3)) spin_for(nanoseconds(random.below(60'000)));
      if (random.one_in(200)) ::usleep(static_cast<useconds_t>(random.below(2000)));
      if (random.one_in(1000)) leat::set_procs(static_cast<unsigned>(1 + random.below(procs_)));
    }
  }

  void check() {
    std::uint64_t passed = 0;
    const std::uint64_t made = std::min<std::uint64_t>(numbers_.load(), runs_);
    std::uint64_t never = 0;
    for (std::uint64_t i = 0; i < made; ++i) {
      passed += steps_[i].load();
      never += steps_[i].load() == 0;
    }
    CHECK(never == 0);
    CHECK(wrong_.load() == 0);
    CHECK(passed == planned_.load());
    CHECK(all_have_their_p_again());
    CHECK(only_main_is_alive());
    const leat::runtime_stats s = leat::stats();
    CHECK(s.spawned == s.finished + 1);
    CHECK(s.global_length == 0);
    MESSAGE("procs " << procs_ << ": " << made << " Gs, " << s.switches << " switches, " << s.steals
                     << " steals, " << s.retakes << " retakes, " << s.threads << " threads");
  }

  const unsigned procs_;
  const std::uint64_t seed_;
  std::atomic<std::int64_t> budget_;
  const std::uint64_t runs_;
  const std::unique_ptr<std::atomic<std::uint32_t>[]> steps_;
  std::atomic<std::uint64_t> numbers_{0}, planned_{0}, wrong_{0};
  std::atomic<std::int64_t> live_{0};
  std::optional<hang_guard> guard_;
  hang_guard* whole_ = nullptr;
};

leat::runtime_options options_for(unsigned procs, unsigned run_queue = 256,
                                  std::optional<unsigned> spinning = {}) {
  leat::runtime_options o;
  o.procs = procs;
  o.run_queue = run_queue;
  o.spinning = spinning;
  return o;
}

}  // namespace

TEST_CASE(
    "a million random operations run every G exactly as often as they should, and leave no work asleep" *
    doctest::timeout(240)) {
  const std::uint64_t seed = seed_for("stress");
  for (const unsigned procs : {1u, 2u, 4u, 8u}) {
    CAPTURE(procs);
    riot(procs, total_operations() / 4, seed + procs).run(options_for(procs));
  }
}

TEST_CASE("the same with rings of one and of two, and without spinning" * doctest::timeout(240)) {
  const std::uint64_t seed = seed_for("stress with small rings");
  for (const unsigned procs : {2u, 4u}) {
    for (const unsigned ring : {1u, 2u}) {
      CAPTURE(procs);
      CAPTURE(ring);
      riot(procs, total_operations() / 20, seed + procs + ring).run(options_for(procs, ring, 0));
    }
  }
}
