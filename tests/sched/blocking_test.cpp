// SPDX-License-Identifier: BSL-1.0
#include <future>
#include <memory>
#include <stdexcept>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

TEST_CASE("blocking gives back the result, or what was thrown") {
  sweep_clean([] {
    CHECK(blocking([] { return 4; }) == 4);
    blocking([] {});
    CHECK(*blocking([] { return std::make_unique<int>(5); }) == 5);
    CHECK_THROWS_WITH_AS(blocking([]() -> int { throw std::runtime_error("no"); }), "no", std::runtime_error);
    CHECK_THROWS_AS(blocking([] { throw 3; }), int);
  });
}

TEST_CASE("the call runs on a large stack, whatever the G's own") {
  run_clean(with_procs(1), [] {
    const auto touch = [] {
      volatile char deep[1024 * 1024];
      for (std::size_t i = 0; i < sizeof deep; i += 1024) deep[i] = 1;
      return deep[0] + deep[sizeof deep - 1024];
    };
    CHECK(spawn({.stack = 16 * 1024}, [&] { return blocking(touch); }).get() == 2);
  });
}

TEST_CASE("at one P the others run while a call blocks") {
  run_clean(with_procs(1), [] {
    std::promise<void> done;
    auto future = done.get_future();
    std::atomic<int> rounds{0};
    auto other = spawn([&] {
      for (int i = 0; i < 10; ++i) {
        ++rounds;
        (void)sleep_for(100us);
      }
      done.set_value();
    });
    CHECK(blocking([&] { return future.wait_for(patience); }) == std::future_status::ready);
    CHECK(rounds == 10);
    other.get();
  });
}

TEST_CASE("many calls block at the same time, at one P") {
  run_clean(with_procs(1), [] {
    constexpr int n = 30;
    std::atomic<int> inside{0};
    std::atomic<bool> all{false};
    std::vector<task<bool>> calls;
    for (int i = 0; i < n; ++i) {
      calls.push_back(spawn([&] {
        return blocking([&] {
          if (++inside == n) all = true;
          return eventually([&] { return all.load(); });
        });
      }));
    }
    for (auto& c : calls) CHECK(c.get());
  });
}

TEST_CASE("beyond max_threads calls wait for one another, with a warning, and all come through") {
  for (const unsigned limit : {1u, 2u, 4u}) {
    CAPTURE(limit);
    log_catcher log;
    const std::string warning = "max_threads = " + std::to_string(limit);
    runtime_options o = with_procs(1);
    o.max_threads = limit;
    run_clean(o, [&] {
      std::atomic<int> ended{0}, warned{0};
      for (int i = 0; i < 20; ++i) {
        go([&] {
          // Nobody leaves before the limit has been met.
          warned += blocking([&] { return eventually([&] { return log.said(warning); }); });
          ++ended;
        });
      }
      CHECK(eventually([&] { return ended == 20; }));
      CHECK(warned == 20);
      CHECK(stats().threads <= limit);
    });
  }
}

TEST_CASE("inside the call there is no current G, and Leat's calls block the thread") {
  sweep_clean([] {
    const std::uint64_t me = self().id;
    CHECK(me != 0);
    blocking([&] {
      CHECK(self().id == 0);
      const auto begin = now();
      CHECK(sleep_for(1ms) == sleep_result::elapsed);
      CHECK(now() - begin >= 1ms);
      yield();
      checkpoint();
      CHECK(spawn([] { return 8; }).get() == 8);
      CHECK(blocking([] { return 9; }) == 9);
    });
    CHECK(self().id == me);
  });
}

TEST_CASE("calls one after another keep exceptions in flight, locals and the stack intact") {
  sweep_clean([] {
    std::vector<task<int>> all;
    for (int i = 0; i < 20; ++i) {
      all.push_back(spawn([i] {
        int sum = 0;
        for (int k = 0; k < 20; ++k) {
          try {
            throw std::runtime_error(std::to_string(i));
          } catch (const std::exception& e) {
            sum += blocking([&] {
              try {
                throw k;
              } catch (int n) {
                return n;
              }
            });
            const auto now = std::current_exception();
            try {
              std::rethrow_exception(now);
            } catch (const std::exception& again) {
              sum += again.what() == std::to_string(i) && e.what() == std::to_string(i) ? 0 : 1000;
            }
          }
        }
        return sum;
      }));
    }
    for (auto& t : all) CHECK(t.get() == 190);
  });
}

TEST_CASE("on a thread that runs no G the function is just called") {
  CHECK(blocking([] { return thread_id(); }) == thread_id());
  CHECK_THROWS_AS(blocking([] { throw 1; }), int);
}
