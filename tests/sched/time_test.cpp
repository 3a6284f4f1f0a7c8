// SPDX-License-Identifier: BSL-1.0
#include <algorithm>
#include <mutex>
#include <random>
#include <thread>

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
    // Who is late may be woken by another thread than the P's own, beside it: neighbours change places then. One who
    // overtakes another by two milliseconds is another matter: three of ten would if there were no order at all.
    constexpr int rounds = 20;
    int overtook = 0;
    for (int round = 0; round < rounds; ++round) {
      std::shuffle(numbers.begin(), numbers.end(), random);
      std::vector<int> order;
      // Time for all to go to sleep: under sanitizers it takes some to make 40 Gs.
      const auto begin = now() + (fiber::under_tsan || fiber::under_asan ? 100ms : 20ms);
      for (const int n : numbers) {
        go([&order, begin, n] {
          (void)sleep_until(begin + std::chrono::microseconds(200 * n));
          order.push_back(n);
        });
      }
      REQUIRE(eventually([&] { return order.size() == 40; }));
      for (std::size_t i = 1; i < order.size(); ++i) overtook += order[i] + 10 <= order[i - 1];
    }
    CAPTURE(overtook);
    CHECK(overtook < rounds * 40 / 10);
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
    const auto ended_by_a_stop = [](auto sleep) {
      std::atomic<bool> sleeps{false};
      auto t = spawn([&sleeps, sleep] {
        sleeps = true;
        return sleep();
      });
      keep_alive not_stuck;
      CHECK(eventually([&] { return sleeps.load(); }));
      t.request_stop();
      CHECK(t.get() == sleep_result::stopped);
    };
    ended_by_a_stop([] { return sleep_for(nanoseconds::max()); });
    ended_by_a_stop([] { return sleep_for(1h); });
    // What nanoseconds cannot count does not wrap around into the past.
    ended_by_a_stop([] { return sleep_for(std::chrono::hours::max()); });
    ended_by_a_stop([] { return sleep_for(std::chrono::duration<double>(1e300)); });
    ended_by_a_stop([] { return sleep_for(std::chrono::duration<unsigned long long>::max()); });
    ended_by_a_stop([] { return sleep_until(std::chrono::system_clock::now() + 1h); });
    ended_by_a_stop([] { return sleep_until(std::chrono::system_clock::time_point::max()); });
  });
}

TEST_CASE("a sleep takes durations and moments of any kind") {
  sweep_clean([] {
    const time_point begin = now();
    CHECK(sleep_for(std::chrono::duration<double, std::milli>(0.5)) == sleep_result::elapsed);
    CHECK(now() - begin >= 500us);
    CHECK(sleep_until(std::chrono::system_clock::now() + 500us) == sleep_result::elapsed);
    CHECK(sleep_for(std::chrono::hours::min()) == sleep_result::elapsed);
    CHECK(sleep_until(std::chrono::system_clock::time_point::min()) == sleep_result::elapsed);
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

TEST_CASE("a sleeper wakes although another G computes, on its P or beside it") {
  for (const unsigned procs : {1u, 2u, 3u}) {
    run_clean(with_procs(procs), [] {
      std::atomic<bool> over{false};
      auto computes = spawn([&] {
        while (!over.load(std::memory_order_relaxed)) {
        }
      });
      // Before sysmon looks again, and long after.
      for (const nanoseconds time :
           {nanoseconds(200us), nanoseconds(5ms), nanoseconds(15ms), nanoseconds(25ms), nanoseconds(60ms)})
        for (int i = 0; i < 3; ++i) CHECK(sleep_for(time) == sleep_result::elapsed);
      over = true;
      computes.get();
    });
  }
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
