// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/semaphore.hpp>

#include <csignal>
#include <memory>
#include <thread>
#include <vector>

#include <leat/csp/wait_group.hpp>

#include "../sched/fixture.hpp"
#include "csp/start_waiting.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::csp::test::start_waiting;

namespace {
constexpr int rounds = fiber::under_tsan ? 1'000 : 10'000;
}  // namespace

TEST_CASE("as many get in as there are permits") {
  semaphore s(2);
  CHECK(s.acquire() == acquire_status::acquired);
  CHECK(s.try_acquire());
  CHECK_FALSE(s.try_acquire());
  CHECK(s.available() == 0);
  CHECK(s.acquire_for(100us) == acquire_status::timeout);
  s.release(2);
  CHECK(s.available() == 2);
  CHECK_THROWS_AS(semaphore{semaphore::max() + std::size_t{1}}, std::length_error);
}

TEST_CASE("never more than the permits are inside") {
  sweep_clean([] {
    semaphore s(3);
    std::atomic<int> inside{0}, most{0};
    wait_group all(8);
    for (int i = 0; i < 8; ++i)
      go([&, i] {
        for (int n = 0; n < rounds / 20; ++n) {
          CHECK(s.acquire() == acquire_status::acquired);
          const int now_inside = ++inside;
          if (now_inside > 3) ++most;
          if ((n + i) % 4 == 0) yield();
          --inside;
          s.release();
        }
        all.done();
      });
    CHECK(all.wait() == wait_status::done);
    CHECK(most == 0);
    CHECK(s.available() == 3);
  });
}

TEST_CASE("permits go to those who wait in the order in which they came") {
  sweep_clean([] {
    semaphore s(0);
    std::vector<int> order;
    std::vector<task<void>> waiting;
    for (int i = 0; i < 5; ++i)
      waiting.push_back(start_waiting([&s, &order, i] {
        CHECK(s.acquire() == acquire_status::acquired);
        order.push_back(i);
      }));
    for (std::size_t i = 0; i < 5; ++i) {
      s.release();
      CHECK_FALSE(s.try_acquire());
      (void)waiting[i].join();
    }
    CHECK(order == std::vector{0, 1, 2, 3, 4});
  });
}

TEST_CASE("a release of many wakes as many, and keeps the rest") {
  sweep_clean([] {
    semaphore s(0);
    std::atomic<int> got{0};
    std::vector<task<void>> waiting;
    for (int i = 0; i < 3; ++i)
      waiting.push_back(start_waiting([&] {
        CHECK((got % 2 == 0 ? s.acquire() : s.acquire_for(1h)) == acquire_status::acquired);
        ++got;
      }));
    s.release(5);
    for (auto& t : waiting) (void)t.join();
    CHECK(got == 3);
    CHECK(s.available() == 2);
  });
}

TEST_CASE("a stop ends an acquire, and an insisted one is thrown out of it") {
  sweep_clean([] {
    semaphore s(0);
    auto result = acquire_status::acquired;
    auto t = start_waiting([&] { result = s.acquire(); });
    t.request_stop();
    (void)t.join();
    CHECK(result == acquire_status::stopped);
    stop_source stop;
    bool threw = false;
    auto u = start_waiting(
        [&] {
          try {
            (void)s.acquire();
          } catch (const stopped&) {
            threw = true;
          }
        },
        {.stop = stop});
    stop.insist();
    (void)u.join();
    CHECK(threw);
    s.release();
    CHECK(s.available() == 1);
  });
}

TEST_CASE("Gs and plain threads pass permits to each other") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    run_clean(with_procs(procs), [] {
      const keep_alive thread_releases;
      semaphore there(0), back(0);
      std::thread outside([&] {
        for (int n = 0; n < rounds / 20; ++n) {
          CHECK(there.acquire() == acquire_status::acquired);
          back.release();
        }
      });
      for (int n = 0; n < rounds / 20; ++n) {
        there.release();
        if (back.acquire() != acquire_status::acquired) FAIL("not acquired");
      }
      blocking([&] { outside.join(); });
    });
  }
}

TEST_CASE("no permit is lost when timeouts, stops and releases race") {
  sweep_clean([] {
    semaphore s(2);
    stop_source stop;
    std::vector<task<void>> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(spawn({.stop = i % 2 ? std::optional(stop) : std::nullopt}, [&, i] {
        for (int n = 0; n < rounds / 20; ++n) {
          const acquire_status a = i < 4 ? s.acquire_for(std::chrono::microseconds(n % 5)) : s.acquire();
          if (a == acquire_status::acquired) {
            if (n % 3 == 0) yield();
            s.release();
          } else {
            yield();
          }
        }
      }));
    for (int i = 0; i < 10; ++i) yield();
    stop.request_stop();
    for (auto& t : all) (void)t.join();
    CHECK(s.available() == 2);
  });
}

TEST_CASE("the one who acquired may destroy the semaphore at once") {
  sweep_clean([] {
    for (int n = 0; n < rounds / 20; ++n) {
      auto s = std::make_unique<semaphore>(0);
      // More than one: what nobody waits for is added before the one who waits can know of it.
      go([p = s.get(), permits = 1 + static_cast<std::size_t>(n) % 4] { p->release(permits); });
      if (n % 3 == 0) yield();
      CHECK((n % 2 ? s->acquire() : s->acquire_for(1h)) == acquire_status::acquired);
      s.reset();
    }
  });
}

LEAT_CHILD(release_too_much) {
  semaphore s(semaphore::max());
  s.release();
}

TEST_CASE("more permits than a semaphore can hold abort, and say so") {
  const auto r = test::run_self("release_too_much");
  CHECK(r.died_by(SIGABRT));
  CHECK(r.said("more permits than it can hold"));
}

TEST_CASE("several permits are had together or not at all, in the order in which they were asked for") {
  sweep_clean([] {
    semaphore s(2);
    CHECK_FALSE(s.try_acquire_many(3));
    CHECK(s.acquire_many(2) == acquire_status::acquired);
    CHECK(s.available() == 0);
    std::vector<int> order;
    auto three = start_waiting([&] {
      CHECK(s.acquire_many(3) == acquire_status::acquired);
      order.push_back(3);
    });
    auto one = start_waiting([&] {
      CHECK(s.acquire() == acquire_status::acquired);
      order.push_back(1);
    });
    s.release(2);
    // Enough for the second, but not for the first, and nobody else gets in between.
    CHECK_FALSE(s.try_acquire());
    CHECK(s.available() == 2);
    s.release();
    three.join();
    s.release();
    one.join();
    CHECK(order == std::vector<int>{3, 1});
    CHECK(s.available() == 0);
    CHECK_THROWS_AS((void)s.acquire_many(semaphore::max() + std::size_t{1}), std::length_error);
  });
}

TEST_CASE("one who gives up waiting for many permits lets those behind it have theirs") {
  sweep_clean([] {
    semaphore s(1);
    auto many = start_waiting([&] { CHECK(s.acquire_many(5) == acquire_status::stopped); });
    auto one = start_waiting([&] { CHECK(s.acquire() == acquire_status::acquired); });
    many.request_stop();
    many.join();
    one.join();
    // Nobody waits any more: a quick release and acquire do.
    s.release();
    CHECK(s.try_acquire());
    CHECK(s.acquire_many(2, 100us) == acquire_status::timeout);
    s.release(2);
    CHECK(s.try_acquire_many(2));
  });
}

TEST_CASE("permits taken in lots of several sizes are never more than there are, and all are given back") {
  sweep_clean([] {
    semaphore s(5);
    std::atomic<int> inside{0}, wrong{0};
    wait_group all(6);
    for (int i = 0; i < 6; ++i)
      go([&, i] {
        const auto n = static_cast<std::size_t>(1 + i % 4);
        for (int k = 0; k < rounds / 50; ++k) {
          const acquire_status got = k % 7 == 0 ? s.acquire_many(n, 20us) : s.acquire_many(n);
          if (got != acquire_status::acquired) continue;
          if ((inside += static_cast<int>(n)) > 5) ++wrong;
          if (k % 3 == 0) yield();
          inside -= static_cast<int>(n);
          s.release(n);
        }
        all.done();
      });
    CHECK(all.wait() == wait_status::done);
    CHECK(wrong == 0);
    CHECK(s.available() == 5);
    CHECK(s.try_acquire_many(5));
  });
}
