// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/mutex.hpp>

#include <csignal>
#include <mutex>
#include <stop_token>
#include <thread>
#include <vector>

#include <leat/csp/wait_group.hpp>

#include "../sched/fixture.hpp"
#include "csp/start_waiting.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

constexpr int rounds = fiber::under_tsan ? 2'000 : 20'000;

const auto start_waiting = [](auto f, const spawn_options& o = {}) {
  return csp::test::start_waiting(f, o, sched::wait_reason::mutex);
};

}  // namespace

TEST_CASE("a mutex satisfies what the standard's locks ask for") {
  static_assert(!std::is_copy_constructible_v<mutex>);
  run_clean(with_procs(1), [] {
    mutex a, b;
    {
      std::scoped_lock both(a, b);
      CHECK_FALSE(a.try_lock());
      CHECK_FALSE(b.try_lock_for(1ms));
    }
    std::unique_lock<mutex> timed(a, 1s);
    CHECK(timed.owns_lock());
    std::unique_lock<mutex> late(a, std::chrono::system_clock::now() + 1ms);
    CHECK_FALSE(late.owns_lock());
    std::lock_guard hold(b);
    CHECK_FALSE(b.try_lock_until(now()));
    CHECK_FALSE(b.try_lock_until(now() - 1h));
  });
}

TEST_CASE("only one G at a time is inside, whatever the number of Ps") {
  sweep_clean([] {
    mutex m;
    wait_group all;
    long count = 0;
    bool inside = false;
    for (int i = 0; i < 8; ++i) {
      all.add();
      go([&] {
        for (int n = 0; n < rounds; ++n) {
          std::scoped_lock hold(m);
          if (std::exchange(inside, true)) FAIL("two inside");
          ++count;
          inside = false;
        }
        all.done();
      });
    }
    CHECK(all.wait() == wait_status::done);
    CHECK(count == 8L * rounds);
  });
}

TEST_CASE("a holder may park, sleep and yield inside") {
  sweep_clean([] {
    mutex m;
    wait_group all(6);
    int count = 0;
    for (int i = 0; i < 6; ++i) {
      go([&, i] {
        for (int n = 0; n < 200; ++n) {
          std::scoped_lock hold(m);
          const int before = count;
          if (n % 50 == 0) (void)sleep_for(10us);
          if ((n + i) % 3 == 0) yield();
          count = before + 1;
        }
        all.done();
      });
    }
    CHECK(all.wait() == wait_status::done);
    CHECK(count == 1200);
  });
}

TEST_CASE("Gs and plain threads exclude each other") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    run_clean(with_procs(procs), [] {
      mutex m;
      long count = 0;
      const auto work = [&] {
        for (int n = 0; n < rounds / 4; ++n) {
          std::scoped_lock hold(m);
          ++count;
        }
      };
      const keep_alive threads_hold_it;
      std::vector<std::thread> threads;
      for (int i = 0; i < 3; ++i) threads.emplace_back(work);
      wait_group all(3);
      for (int i = 0; i < 3; ++i)
        go([&] {
          work();
          all.done();
        });
      CHECK(all.wait() == wait_status::done);
      blocking([&] {
        for (auto& t : threads) t.join();
      });
      CHECK(count == 6L * (rounds / 4));
    });
  }
}

TEST_CASE("a mutex works among plain threads without a runtime") {
  mutex m;
  long count = 0;
  {
    std::vector<std::jthread> threads;
    for (int i = 0; i < 4; ++i)
      threads.emplace_back([&] {
        for (int n = 0; n < rounds / 4; ++n) {
          std::scoped_lock hold(m);
          ++count;
          if (n % 64 == 0) std::this_thread::yield();
        }
      });
  }
  CHECK(count == rounds / 4 * 4L);
}

TEST_CASE("a G whose P was retaken still holds its mutex") {
  auto o = with_procs(1);
  o.slice = 1ms;
  run_clean(o, [] {
    mutex m;
    std::atomic<bool> held{false}, asked{false}, got{false};
    auto hog = spawn([&] {
      std::scoped_lock hold(m);
      held = true;
      CHECK(eventually_without_entering([&] { return asked.load(); }));
      CHECK_FALSE(got);
    });
    CHECK(eventually([&] { return held.load(); }));
    auto other = spawn([&] {
      asked = true;
      std::scoped_lock hold(m);
      got = true;
    });
    (void)other.join();
    CHECK(got);
  });
}

TEST_CASE("a try_lock that is too late leaves nobody in the queue") {
  sweep_clean([] {
    mutex m;
    m.lock();
    for (int i = 0; i < 5; ++i) {
      bool got = true;
      spawn([&] { got = m.try_lock_for(100us); }).get();
      CHECK_FALSE(got);
    }
    m.unlock();
    CHECK(std::unique_lock(m, std::try_to_lock).owns_lock());
  });
}

TEST_CASE("a try_lock with time gets the mutex when it is released in time") {
  sweep_clean([] {
    mutex m;
    m.lock();
    bool got = false;
    auto t = start_waiting([&] {
      const std::unique_lock hold(m, 1h);
      got = hold.owns_lock();
    });
    m.unlock();
    (void)t.join();
    CHECK(got);
  });
}

TEST_CASE("the beginning and the end of time of any clock are deadlines") {
  using wall = std::chrono::system_clock;
  using years = std::chrono::duration<std::int64_t, std::ratio<31'556'952>>;
  sweep_clean([] {
    mutex m;
    m.lock();
    spawn([&] {
      CHECK_FALSE(m.try_lock_until(time_point::min()));
      CHECK_FALSE(m.try_lock_until(wall::time_point::min()));
      CHECK_FALSE(m.try_lock_until(std::chrono::time_point<wall, years>::min()));
    }).get();
    int got = 0;
    auto t = start_waiting([&] {
      const std::unique_lock hold(m, wall::time_point::max());
      got += hold.owns_lock();
    });
    auto u = start_waiting([&] {
      const std::unique_lock hold(m, std::chrono::time_point<wall, years>::max());
      got += hold.owns_lock();
    });
    m.unlock();
    (void)t.join();
    (void)u.join();
    CHECK(got == 2);
  });
}

TEST_CASE("a stop does not end lock, and ends try_lock_for") {
  sweep_clean([] {
    mutex m;
    m.lock();
    bool locked = false, asked = false;
    auto firm = start_waiting([&] {
      m.lock();
      locked = true;
      asked = stop_requested();
      m.unlock();
    });
    firm.request_stop();
    bool got = true;
    auto soft = start_waiting([&] { got = m.try_lock_for(1h); });
    soft.request_stop();
    (void)soft.join();
    CHECK_FALSE(got);
    CHECK_FALSE(locked);
    m.unlock();
    (void)firm.join();
    CHECK(locked);
    CHECK(asked);
  });
}

TEST_CASE("an insisted stop is thrown out of try_lock_for, never out of lock") {
  sweep_clean([] {
    mutex m;
    m.lock();
    stop_source stop;
    bool threw = false, locked = false;
    auto soft = start_waiting(
        [&] {
          try {
            (void)m.try_lock_for(1h);
          } catch (const stopped&) {
            threw = true;
          }
        },
        {.stop = stop});
    auto firm = start_waiting(
        [&] {
          std::scoped_lock hold(m);
          locked = true;
        },
        {.stop = stop});
    stop.insist();
    (void)soft.join();
    CHECK(threw);
    m.unlock();
    (void)firm.join();
    CHECK(locked);
  });
}

TEST_CASE("one who has lost its patience gets the mutex, however fast others take it again") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    auto o = with_procs(procs);
    o.slice = 1ms;
    run_clean(o, [] {
      mutex m;
      std::atomic<bool> over{false};
      std::atomic<std::uint64_t> taken{0};
      std::vector<task<void>> greedy;
      for (int i = 0; i < 2; ++i)
        greedy.push_back(spawn([&] {
          while (!over) {
            std::scoped_lock hold(m);
            ++taken;
          }
        }));
      CHECK(eventually([&] { return taken > 100; }));
      // The mutex is never free for longer than an unlock takes; nothing but the handing over lets these in.
      for (int i = 0; i < 20; ++i) spawn([&] { std::scoped_lock hold(m); }).get();
      over = true;
      for (auto& t : greedy) (void)t.join();
    });
  }
}

TEST_CASE("no wake-up is lost when timeouts, stops and unlocks race") {
  sweep_clean([] {
    mutex m;
    stop_source stop;
    std::atomic<long> got{0};
    long count = 0;
    std::vector<task<void>> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(spawn({.stop = i % 4 == 3 ? std::optional(stop) : std::nullopt}, [&, i] {
        for (int n = 0; n < rounds / 20; ++n) {
          std::unique_lock hold(m, std::defer_lock);
          if (i % 2 == 0) {
            hold.lock();
          } else if (!hold.try_lock_for(std::chrono::microseconds(n % 7))) {
            yield();
            continue;
          }
          ++count;
          ++got;
          if (n % 5 == 0) yield();
        }
      }));
    yield();
    stop.request_stop();
    for (auto& t : all) (void)t.join();
    CHECK(count == got);
    CHECK(count >= 4L * (rounds / 20));
    CHECK(std::unique_lock(m, std::try_to_lock).owns_lock());
  });
}

TEST_CASE("the one who unlocks last may destroy the mutex at once") {
  sweep_clean([] {
    struct shared {
      mutex m;
      int users = 3;
    };
    for (int n = 0; n < rounds / 40; ++n) {
      auto* const s = new shared;
      wait_group all(3);
      for (int i = 0; i < 3; ++i)
        go([&all, s] {
          s->m.lock();
          const bool last = --s->users == 0;
          s->m.unlock();
          if (last) delete s;
          all.done();
        });
      (void)all.wait();
    }
  });
}

TEST_CASE("many mutexes in use at once do not disturb each other") {
  // More than there are buckets, so that some share one.
  sweep_clean([] {
    constexpr std::size_t n = 300;
    struct cell {
      mutex m;
      int count = 0;
    };
    std::vector<cell> cells(n);
    wait_group all(20);
    for (std::size_t i = 0; i < 20; ++i)
      go([&, i] {
        for (std::size_t k = 0; k < 10 * n; ++k) {
          cell& c = cells[(k * (i % 3 + 1)) % n];
          std::scoped_lock hold(c.m);
          ++c.count;
          if (k % 16 == 0) yield();
        }
        all.done();
      });
    (void)all.wait();
    int sum = 0;
    for (const cell& c : cells) sum += c.count;
    CHECK(sum == 20 * 10 * static_cast<int>(n));
  });
}

LEAT_CHILD(lock_twice) {
  (void)run([] {
    mutex m;
    std::scoped_lock hold(m);
    std::scoped_lock again(m);
  });
}
LEAT_CHILD(unlock_of_another) {
  (void)run([] {
    mutex m;
    std::unique_lock hold(m);
    spawn([&] { std::unique_lock(m, std::adopt_lock).unlock(); }).get();
  });
}

TEST_CASE("debug builds report a mutex that is locked twice, or unlocked by another") {
  if (!detail::lock_order_checked) return;
  const auto twice = test::run_self("lock_twice");
  CHECK(twice.died_by(SIGABRT));
  CHECK(twice.said("a mutex was locked by the one who holds it"));
  const auto another = test::run_self("unlock_of_another");
  CHECK(another.died_by(SIGABRT));
  CHECK(another.said("a mutex was unlocked by one who does not hold it"));
}

LEAT_CHILD(unlock_of_a_free_mutex) {
  (void)run([] {
    mutex m;
    m.lock();
    m.unlock();
    std::unique_lock(m, std::adopt_lock).unlock();
  });
}

TEST_CASE("the unlock of a mutex that nobody holds ends the program with a sentence") {
  const auto r = test::run_self("unlock_of_a_free_mutex");
  CHECK(r.died_by(SIGABRT));
  CHECK(r.said("a mutex was unlocked that nobody had locked"));
}
