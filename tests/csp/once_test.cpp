// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/once.hpp>

#include <csignal>
#include <stdexcept>
#include <thread>
#include <vector>

#include <leat/csp/wait_group.hpp>

#include "../sched/fixture.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {
constexpr int rounds = fiber::under_tsan ? 100 : 1'000;
}

TEST_CASE("a function runs once, and all who asked see what it did") {
  sweep_clean([] {
    for (int n = 0; n < rounds / 5; ++n) {
      once o;
      int ran = 0;
      wait_group all(6);
      for (int i = 0; i < 6; ++i)
        go([&] {
          o.call(
              [&](int by) {
                if (n % 2 == 0) yield();
                ran += by;
              },
              1);
          if (ran != 1) FAIL("returned before the function had");
          all.done();
        });
      CHECK(all.wait() == wait_status::done);
      CHECK(o.has_run());
    }
  });
}

TEST_CASE("an exception comes out of its own call, and lets the next one try") {
  sweep_clean([] {
    for (int n = 0; n < rounds / 10; ++n) {
      once o;
      std::atomic<int> tries{0}, failures{0}, returned{0};
      wait_group all(5);
      for (int i = 0; i < 5; ++i)
        go([&] {
          try {
            o.call([&] {
              const int mine = ++tries;
              yield();
              if (mine <= 3) throw std::runtime_error("not yet");
            });
            ++returned;
          } catch (const std::runtime_error&) {
            ++failures;
          }
          all.done();
        });
      CHECK(all.wait() == wait_status::done);
      CHECK(tries == 4);
      CHECK(failures == 3);
      CHECK(returned == 2);
    }
  });
}

TEST_CASE("leat::stopped out of the function leaves it to the next") {
  sweep_clean([] {
    once o;
    CHECK_THROWS_AS(o.call([] { throw stopped{}; }), stopped);
    CHECK_FALSE(o.has_run());
    int ran = 0;
    o.call([&] { ++ran; });
    o.call([&] { ++ran; });
    CHECK(ran == 1);
  });
}

TEST_CASE("a stop does not let a call return before the function has run") {
  sweep_clean([] {
    once o;
    signal_to_g go_on;
    std::atomic<bool> running{false}, ran{false}, waits{false};
    auto first = spawn([&] {
      o.call([&] {
        running = true;
        go_on.wait();
        ran = true;
      });
    });
    CHECK(eventually([&] { return running.load(); }));
    bool saw = false;
    auto second = spawn([&] {
      waits = true;
      o.call([] {});
      saw = ran;
    });
    CHECK(eventually([&] { return waits.load(); }));
    second.request_stop();
    yield();
    go_on.signal();
    (void)second.join();
    (void)first.join();
    CHECK(saw);
  });
}

TEST_CASE("plain threads and Gs call the same once") {
  sweep_clean([] {
    for (int n = 0; n < rounds / 50; ++n) {
      once o;
      std::atomic<int> ran{0};
      const keep_alive thread_may_run_it;
      std::thread outside([&] { o.call([&] { ++ran; }); });
      o.call([&] {
        yield();
        ++ran;
      });
      blocking([&] { outside.join(); });
      CHECK(ran == 1);
    }
  });
}

LEAT_CHILD(once_in_itself) {
  once o;
  o.call([&] { o.call([] {}); });
}

TEST_CASE("debug builds report a once that is called by its own function") {
  if (!detail::lock_order_checked) return;
  const auto r = test::run_self("once_in_itself");
  CHECK(r.died_by(SIGABRT));
  CHECK(r.said("the function of a once calls the same once"));
}
