// SPDX-License-Identifier: BSL-1.0
#include <mutex>
#include <random>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

TEST_CASE("a sleep never ends before its deadline") {
  sweep_clean([] {
    std::atomic<int> early{0}, ended{0};
    for (int i = 0; i < 50; ++i) {
      go([&, i] {
        const auto until = now() + std::chrono::microseconds(i * 37);
        if (sleep_until(until) != sleep_result::elapsed || now() < until) ++early;
        const auto begin = now();
        if (sleep_for(std::chrono::microseconds(i * 11)) != sleep_result::elapsed ||
            now() < begin + std::chrono::microseconds(i * 11))
          ++early;
        ++ended;
      });
    }
    CHECK(eventually([&] { return ended == 50; }));
    CHECK(early == 0);
  });
}

TEST_CASE("at one P sleepers wake in the order of their deadlines") {
  run_clean(with_procs(1), [] {
    std::vector<int> numbers;
    for (int i = 0; i < 40; ++i) numbers.push_back(i);
    std::mt19937 random(3);
    // Whoever is late may be woken by another thread than the P's own, which breaks the order: so this
    // asks for one round in which the machine kept up.
    bool sorted = false;
    for (int attempt = 0; attempt < 50 && !sorted; ++attempt) {
      std::shuffle(numbers.begin(), numbers.end(), random);
      std::vector<int> order;
      const auto begin = now() + std::chrono::milliseconds(5 + attempt);
      for (const int n : numbers) {
        go([&order, begin, n] {
          (void)sleep_until(begin + std::chrono::microseconds(200 * n));
          order.push_back(n);
        });
      }
      REQUIRE(eventually([&] { return order.size() == 40; }));
      sorted = std::is_sorted(order.begin(), order.end());
    }
    CHECK(sorted);
  });
}

TEST_CASE("a sleep into the past, of nothing, or negative lets the others run and returns") {
  sweep_clean([] {
    CHECK(sleep_for(nanoseconds::zero()) == sleep_result::elapsed);
    CHECK(sleep_for(-1h) == sleep_result::elapsed);
    CHECK(sleep_for(nanoseconds::min()) == sleep_result::elapsed);
    CHECK(sleep_until(time_point::min()) == sleep_result::elapsed);
    CHECK(sleep_until(now() - 1s) == sleep_result::elapsed);
  });
}

TEST_CASE("a sleep without end is ended by a stop") {
  sweep_clean([] {
    for (const auto d : {nanoseconds::max(), nanoseconds(1h)}) {
      std::atomic<bool> sleeps{false};
      auto t = spawn([&sleeps, d] {
        sleeps = true;
        return sleep_for(d);
      });
      keep_alive not_stuck;
      CHECK(eventually([&] { return sleeps.load(); }));
      t.request_stop();
      CHECK(t.get() == sleep_result::stopped);
    }
  });
}

TEST_CASE("an earlier timer wakes an idle runtime that waits for a later one") {
  run_clean(with_procs(2), [] {
    auto late = spawn([] { (void)sleep_for(30s); });
    CHECK(eventually([] { return stats().idle_procs >= 1; }));
    const auto begin = now();
    (void)sleep_for(5ms);
    CHECK(now() - begin < patience);
    std::thread outside([] { go([] { (void)sleep_for(1ms); }); });
    outside.join();
    CHECK(eventually([] { return stats().live == 2; }));
  });
}

TEST_CASE("a sleeper wakes although the G on its P computes") {
  runtime_options o = with_procs(1);
  o.slice = 1ms;
  run_clean(o, [] {
    std::atomic<bool> woke{false};
    auto sleeper = spawn([&] {
      (void)sleep_for(5ms);
      woke = true;
    });
    yield();
    CHECK(eventually_without_entering([&] { return woke.load(); }));
  });
}

TEST_CASE("yield lets every other runnable G run first, at one P") {
  run_clean(undisturbed(1), [] {
    std::string order;
    for (const char c : {'a', 'b', 'c'})
      go([&order, c] {
        order += c;
        yield();
        order += c;
      });
    yield();
    CHECK(order == "abc");
    yield();
    CHECK(order == "abcabc");
  });
}

TEST_CASE("yield with nobody else around just returns") {
  sweep_clean([] {
    for (int i = 0; i < 1000; ++i) yield();
  });
}

TEST_CASE("many sleepers all wake") {
  sweep_clean([] {
    std::atomic<int> woke{0};
    std::mt19937 random(1);
    constexpr int n = fiber::under_tsan ? 200 : 1000;
    for (int i = 0; i < n; ++i) {
      const auto d = std::chrono::microseconds(random() % 20'000);
      go([&woke, d] {
        (void)sleep_for(d);
        ++woke;
      });
    }
    CHECK(eventually([&] { return woke == n; }));
  });
}

TEST_CASE("on a thread that runs no G it is the thread that sleeps") {
  const auto begin = now();
  CHECK(sleep_for(2ms) == sleep_result::elapsed);
  CHECK(now() - begin >= 2ms);
  CHECK(sleep_until(begin) == sleep_result::elapsed);
  CHECK(sleep_for(nanoseconds::min()) == sleep_result::elapsed);
  yield();
}
