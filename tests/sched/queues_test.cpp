// SPDX-License-Identifier: BSL-1.0
//
// Which G comes next: the ring, run_next and the global queue, and how many Ms may look for one.
#include <thread>
#include "fixture.hpp"

using namespace leat;
using namespace leat::sched;
using namespace leat::sched::test;

TEST_CASE("the global queue is looked at in the 61st round at the latest, however busy the ring is") {
  run_clean(undisturbed(1), [] {
    int rounds = 0;
    bool ran = false;
    const auto busy = [&] {
      for (int i = 0; !ran && i < 1000; ++i) {
        ++rounds;
        yield();
      }
    };
    auto a = spawn(busy);
    auto b = spawn(busy);
    from_outside(1, [&] { ran = true; });
    a.get();
    b.get();
    CHECK(ran);
    CHECK(rounds <= 62);
    CHECK(rounds > 2);
  });
}

TEST_CASE("a pair that lives in run_next does not starve a third G, at one P") {
  runtime_options o = with_procs(1);
  o.slice = 1ms;
  // The pair's slice may end just where the third G is queued: so this asks for one round in which it did
  // not.
  bool pair_went_first = false;
  for (const auto until = now() + patience; !pair_went_first && now() < until;)
    run_clean(o, [&] {
      constexpr std::uint64_t warm = 100;
      std::atomic<bool> over{false};
      signal_to_g ping, pong;
      // Atomic: on a slow machine it counts on without its P, beside the third G.
      std::atomic<std::uint64_t> rounds{0};
      std::uint64_t rounds_before = 0;
      auto a = spawn([&] {
        for (; !over; ++rounds) {
          if (rounds == warm)
            go([&] {
              rounds_before = rounds;
              over = true;
            });
          pong.signal();
          ping.wait();
        }
        pong.signal();
      });
      auto b = spawn([&] {
        while (!over) {
          pong.wait();
          ping.signal();
        }
      });
      a.get();
      b.get();
      // It was queued before the pair's next hand-off, which went first all the same.
      pair_went_first = rounds_before > warm;
    });
  CHECK(pair_went_first);
}

TEST_CASE("a chain of joins that lives in run_next does not starve a third G, at one P") {
  runtime_options o = with_procs(1);
  o.slice = 1ms;
  run_clean(o, [] {
    std::atomic<bool> ran{false};
    go([&] { ran = true; });
    const auto until = now() + patience;
    while (!ran && now() < until) spawn([] {}).get();
    CHECK(ran);
  });
}

TEST_CASE("what a G readies runs before what it has created earlier") {
  run_clean(undisturbed(1), [] {
    std::string order;
    signal_to_g s;
    auto waiter = spawn([&] {
      s.wait();
      order += 'w';
    });
    yield();
    const auto created = spawn([&] { order += 'c'; });
    s.signal();
    CHECK(events_of(event_kind::readied).size() >= 1);
    yield();
    yield();
    CHECK(order == "wc");
  });
}

TEST_CASE("rings of 1, 2, 4 and 256 overflow into the global queue and lose nothing") {
  for (const unsigned capacity : {1u, 2u, 3u, 4u, 256u}) {
    CAPTURE(capacity);
    run_clean(undisturbed(1, capacity), [&] {
      const std::size_t n = 3 * capacity + 5;
      std::vector<int> ran(n, 0);
      for (std::size_t i = 0; i < n; ++i) {
        go([&ran, i] { ++ran[i]; });
        const auto s = stats();
        CHECK(s.local_lengths[0] <= capacity);
        CHECK(s.local_lengths[0] + s.global_length == i + 1);
        if (i + 1 == capacity) CHECK(s.global_length == 0);
        if (i == capacity) CHECK(s.global_length == capacity / 2 + 1);
      }
      CHECK(stats().overflows >= 1);
      CHECK(eventually([&] {
        std::size_t sum = 0;
        for (const int r : ran) sum += static_cast<std::size_t>(r);
        return sum == n;
      }));
      for (const int r : ran) CHECK(r == 1);
    });
  }
}

TEST_CASE("spinning stays within its limit while a thousand Gs are readied from outside") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    for (const unsigned limit : {0u, 1u, procs}) {
      CAPTURE(procs);
      CAPTURE(limit);
      runtime_options o = with_procs(procs);
      o.spinning = limit;
      run_clean(o, [&] {
        constexpr int batch = 100;
        for (int round = 0; round < 10; ++round) {
          std::atomic<int> ran{0};
          signal_to_g signals[batch];
          for (auto& s : signals)
            go([&] {
              s.wait();
              ++ran;
            });
          std::thread outside([&] {
            for (auto& s : signals) s.signal();
            for (int i = 0; i < batch; ++i) go([&] { ++ran; });
          });
          REQUIRE(eventually([&] { return ran == 2 * batch; }));
          blocking([&] { outside.join(); });
        }
        CHECK(stats().most_spinning <= limit);
        CHECK(eventually([] { return stats().spinning == 0; }));
      });
    }
  }
}
