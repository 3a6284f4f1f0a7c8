// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/condition_variable.hpp>

#include <condition_variable>
#include <deque>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include <leat/csp/mutex.hpp>
#include <leat/csp/wait_group.hpp>

#include "../sched/fixture.hpp"
#include "csp/start_waiting.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

constexpr int rounds = fiber::under_tsan ? 1'000 : 10'000;

const auto start_waiting = [](auto f, const spawn_options& o = {}) {
  return csp::test::start_waiting(f, o, sched::wait_reason::condition);
};

struct gate {
  mutex m;
  condition_variable changed;
  bool open = false;
};

}  // namespace

TEST_CASE("a notified G finds the condition and holds the mutex") {
  sweep_clean([] {
    gate g;
    auto t = start_waiting([&] {
      std::unique_lock hold(g.m);
      CHECK(g.changed.wait(hold, [&] { return g.open; }));
      CHECK(hold.owns_lock());
      CHECK_FALSE(g.m.try_lock());
    });
    {
      std::scoped_lock hold(g.m);
      g.open = true;
    }
    g.changed.notify_one();
    (void)t.join();
  });
}

TEST_CASE("notify_one wakes one, in the order in which they came; notify_all wakes all") {
  sweep_clean([] {
    gate g;
    std::vector<int> order;
    std::vector<task<void>> all;
    for (int i = 0; i < 6; ++i)
      all.push_back(start_waiting([&g, &order, i] {
        std::unique_lock hold(g.m);
        g.changed.wait(hold);
        order.push_back(i);
      }));
    for (std::size_t i = 0; i < 3; ++i) {
      g.changed.notify_one();
      (void)all[i].join();
      std::scoped_lock hold(g.m);
      CHECK(order.size() == i + 1);
      CHECK(order.back() == static_cast<int>(i));
    }
    g.changed.notify_all();
    for (auto& t : all) (void)t.join();
    CHECK(order.size() == 6);
    g.changed.notify_one();
    g.changed.notify_all();
  });
}

TEST_CASE("a wait ends in time, with the mutex held") {
  sweep_clean([] {
    gate g;
    std::unique_lock hold(g.m);
    CHECK(g.changed.wait_for(hold, 100us) == std::cv_status::timeout);
    CHECK(g.changed.wait_until(hold, now() - 1s) == std::cv_status::timeout);
    CHECK_FALSE(g.changed.wait_for(hold, 100us, [] { return false; }));
    CHECK(g.changed.wait_for(hold, 100us, [] { return true; }));
    CHECK(hold.owns_lock());
    hold.unlock();
    CHECK_THROWS_AS(g.changed.wait(hold), std::system_error);
  });
}

TEST_CASE("a stop ends a wait like a spurious wake-up, with the mutex held") {
  sweep_clean([] {
    gate g;
    bool held = false, result = true, timed = true;
    auto plain = start_waiting([&] {
      std::unique_lock hold(g.m);
      g.changed.wait(hold);
      held = hold.owns_lock() && stop_requested();
    });
    auto with_condition = start_waiting([&] {
      std::unique_lock hold(g.m);
      result = g.changed.wait(hold, [&] { return g.open; });
    });
    auto with_time = start_waiting([&] {
      std::unique_lock hold(g.m);
      timed = g.changed.wait_for(hold, 1h, [&] { return g.open; });
    });
    for (auto* t : {&plain, &with_condition, &with_time}) {
      t->request_stop();
      (void)t->join();
    }
    CHECK(held);
    CHECK_FALSE(result);
    CHECK_FALSE(timed);
  });
}

TEST_CASE("an insisted stop comes out of a loop of waits, with the mutex held while it unwinds") {
  sweep_clean([] {
    gate g;
    stop_source stop;
    std::atomic<int> turns{0};
    bool threw = false, held = false;
    auto t = start_waiting(
        [&] {
          std::unique_lock hold(g.m);
          try {
            while (!g.open) {
              g.changed.wait(hold);
              ++turns;
            }
          } catch (const stopped&) {
            threw = true;
            held = hold.owns_lock();
          }
        },
        {.stop = stop});
    stop.request_stop();
    CHECK(eventually([&] { return turns > 3; }));  // others run while it goes round
    stop.insist();
    (void)t.join();
    CHECK(threw);
    CHECK(held);
  });
}

TEST_CASE("a queue of mutex and condition variables loses nothing, with Gs and threads on both sides") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    run_clean(with_procs(procs), [] {
      mutex m;
      condition_variable not_empty, not_full;
      std::deque<int> queue;
      constexpr int each = rounds / 10;
      long sum = 0;
      const auto send = [&] {
        for (int i = 1; i <= each; ++i) {
          std::unique_lock hold(m);
          if (!not_full.wait(hold, [&] { return queue.size() < 4; })) return;
          queue.push_back(i);
          not_empty.notify_one();
        }
      };
      const auto receive = [&] {
        for (int i = 1; i <= each; ++i) {
          std::unique_lock hold(m);
          if (!not_empty.wait(hold, [&] { return !queue.empty(); })) return;
          sum += queue.front();
          queue.pop_front();
          not_full.notify_one();
        }
      };
      const keep_alive threads_come;
      std::thread a(send), b(receive);
      wait_group all(4);
      for (int i = 0; i < 2; ++i) {
        go([&] {
          send();
          all.done();
        });
        go([&] {
          receive();
          all.done();
        });
      }
      CHECK(all.wait() == wait_status::done);
      blocking([&] {
        a.join();
        b.join();
      });
      CHECK(queue.empty());
      CHECK(sum == 3L * each * (each + 1) / 2);
    });
  }
}

TEST_CASE("a notification is not lost on one who times out or stops at the same moment") {
  sweep_clean([] {
    for (int n = 0; n < rounds / 50; ++n) {
      mutex m;
      condition_variable c;
      int tokens = 0, taken = 0;
      stop_source stop;
      std::vector<task<void>> all;
      // Whoever leaves for another reason has not swallowed the token: the patient one gets it then.
      const auto take = [&](std::unique_lock<mutex>& hold) {
        if (tokens > 0 && hold.owns_lock()) {
          --tokens;
          ++taken;
        }
      };
      all.push_back(spawn([&] {
        std::unique_lock hold(m);
        (void)c.wait_for(hold, std::chrono::microseconds(n % 20), [&] { return tokens > 0; });
        take(hold);
      }));
      all.push_back(spawn({.stop = stop}, [&] {
        std::unique_lock hold(m);
        (void)c.wait(hold, [&] { return tokens > 0; });
        take(hold);
      }));
      all.push_back(spawn([&] {
        std::unique_lock hold(m);
        if (c.wait(hold, [&] { return tokens > 0 || taken > 0; })) take(hold);
      }));
      auto stopper = spawn([&] { stop.request_stop(); });
      if (n % 2 == 0) yield();
      {
        std::scoped_lock hold(m);
        tokens = 1;
        c.notify_one();
      }
      (void)stopper.join();
      CHECK(eventually([&] {
        std::scoped_lock hold(m);
        return taken == 1;
      }));
      c.notify_all();
      for (auto& t : all) (void)t.join();
    }
  });
}
