// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/task_group.hpp>

#include <unistd.h>
#include <memory>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "../sched/fixture.hpp"
#include "csp/start_waiting.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

constexpr int rounds = fiber::under_tsan ? 100 : 1'000;

void until_stopped() {
  while (!stop_requested()) (void)sleep_for(1h);
}

}  // namespace

TEST_CASE("wait returns when all members have ended, and their closures are gone") {
  sweep_clean([] {
    task_group group;
    auto alive = std::make_shared<int>(0);
    std::atomic<int> ran{0};
    for (int i = 0; i < 50; ++i)
      group.go([alive, &ran] {
        if (ran % 2 == 0) yield();
        ++ran;
      });
    CHECK(group.wait() == wait_status::done);
    CHECK(ran == 50);
    CHECK(alive.use_count() == 1);
    CHECK(group.size() == 0);
  });
}

TEST_CASE("members have the names and options they are started with") {
  sweep_clean([] {
    task_group group;
    std::atomic<bool> a{false}, b{false};
    group.go("reader", [&] { a = self().name == "reader"; });
    group.go(spawn_options{.name = "writer", .stack = 128 * 1024}, [&] { b = self().name == "writer"; });
    CHECK(group.wait() == wait_status::done);
    CHECK(a);
    CHECK(b);
    CHECK_THROWS_AS(group.go(spawn_options{.stop = stop_source()}, [] {}), std::invalid_argument);
    CHECK_THROWS(group.go(spawn_options{.stack = 1}, [] {}));
    CHECK(group.size() == 0);
  });
}

TEST_CASE("the destructor stops and joins what it started") {
  sweep_clean([] {
    std::atomic<int> ended{0};
    {
      task_group group;
      for (int i = 0; i < 10; ++i)
        group.go([&] {
          until_stopped();
          ++ended;
        });
      CHECK(group.size() == 10);
    }
    CHECK(ended == 10);
  });
}

TEST_CASE("the destructor joins also when its owner has been asked to stop, or insisted on") {
  for (const bool insisted : {false, true}) {
    sweep_clean([insisted] {
      stop_source stop;
      std::atomic<bool> inside{false}, ended{false}, joined{false};
      auto owner = spawn({.stop = stop}, [&] {
        {
          task_group group;
          group.go([&] {
            until_stopped();
            for (int i = 0; i < 20; ++i) yield();
            ended = true;
          });
          inside = true;
          CHECK(eventually_without_entering([&] { return stop_requested(); }));
        }
        joined = ended.load();
      });
      CHECK(eventually([&] { return inside.load(); }));
      if (insisted) {
        stop.insist();
      } else {
        stop.request_stop();
      }
      (void)owner.join();
      CHECK(joined);
    });
  }
}

TEST_CASE("a member that goes on past the grace is insisted on by the destructor") {
  auto o = with_procs(2);
  o.grace = 5ms;
  run_clean(o, [] {
    bool ended = false;
    {
      task_group group;
      group.go([&] {
        struct at_end {
          bool& flag;
          ~at_end() { flag = true; }
        } mark{ended};
        for (;;) (void)sleep_for(1ms);
      });
    }
    CHECK(ended);
  });
}

TEST_CASE("wait throws what the first member that failed threw, and the others are asked to stop") {
  sweep_clean([] {
    log_catcher log;
    task_group group;
    std::atomic<int> stopped_ones{0};
    for (int i = 0; i < 5; ++i)
      group.go([&] {
        until_stopped();
        ++stopped_ones;
      });
    group.go([&] { throw std::runtime_error("the pump is dry"); });
    CHECK_THROWS_WITH_AS(group.wait(), "the pump is dry", std::runtime_error);
    CHECK(stopped_ones == 5);
    CHECK(log.text() == "");
  });
}

TEST_CASE("all who wait for a group learn of its failure, and who comes later does not") {
  sweep_clean([] {
    task_group group;
    std::atomic<bool> fails{false};
    group.go([&] {
      while (!fails) (void)sleep_for(100us);
      throw std::runtime_error("broken");
    });
    std::atomic<int> told{0};
    std::vector<task<void>> waiting;
    for (int i = 0; i < 3; ++i)
      waiting.push_back(csp::test::start_waiting(
          [&] {
            try {
              (void)group.wait();
            } catch (const std::runtime_error&) {
              ++told;
            }
          },
          {}, sched::wait_reason::join));
    fails = true;
    for (auto& t : waiting) t.join();
    CHECK(told == 3);
    CHECK(group.wait() == wait_status::done);
    // The next round is another.
    group.go([] {});
    CHECK(group.wait() == wait_status::done);
  });
}

TEST_CASE("a later failure is logged, not thrown") {
  sweep_clean([] {
    log_catcher log;
    task_group group;
    group.go([] {
      until_stopped();
      throw std::runtime_error("second");
    });
    group.go([] { throw std::runtime_error("first"); });
    CHECK_THROWS_WITH_AS(group.wait(), "first", std::runtime_error);
    CHECK(log.said("second"));
  });
}

TEST_CASE("a failure that nobody waited for is logged by the destructor") {
  sweep_clean([] {
    log_catcher log;
    {
      task_group group;
      group.go([] { throw 42; });
      CHECK(eventually([&] { return group.size() == 0; }));
    }
    CHECK(log.said("nobody waited"));
  });
}

TEST_CASE("leat::stopped out of a member is no failure") {
  sweep_clean([] {
    task_group group;
    group.go([] { throw stopped{}; });
    CHECK(group.wait() == wait_status::done);
  });
}

TEST_CASE("after a failure or a stop, the group can be used again") {
  sweep_clean([] {
    task_group group;
    for (int n = 0; n < 20; ++n) {
      group.go([] { throw std::runtime_error("again"); });
      CHECK_THROWS_AS(group.wait(), std::runtime_error);
      std::atomic<bool> asked{true};
      group.go([&] { asked = stop_requested(); });
      CHECK(group.wait() == wait_status::done);
      CHECK_FALSE(asked);
      group.go(until_stopped);
      group.stop();
      group.go([&] { asked = stop_requested(); });
      CHECK(group.wait() == wait_status::done);
      CHECK(asked);
    }
  });
}

TEST_CASE("members start more members, and wait waits for those too") {
  sweep_clean([] {
    task_group group;
    std::atomic<int> ran{0};
    struct tree {
      task_group& group;
      std::atomic<int>& ran;
      void grow(int depth) const {
        ++ran;
        if (depth == 0) return;
        for (int i = 0; i < 2; ++i) group.go([*this, depth] { grow(depth - 1); });
      }
    };
    group.go([&] { tree{group, ran}.grow(6); });
    CHECK(group.wait() == wait_status::done);
    CHECK(ran == 127);
  });
}

TEST_CASE("a member that waits for its own group is told so") {
  sweep_clean([] {
    task_group group;
    group.go([&] { (void)group.wait(); });
    CHECK_THROWS_AS(group.wait(), std::logic_error);
  });
}

TEST_CASE("a stopped owner's wait returns, and the members go on until the destructor") {
  sweep_clean([] {
    std::atomic<bool> ended{false};
    auto result = wait_status::done;
    bool went_on = false;
    auto owner = spawn([&] {
      task_group group;
      group.go([&] {
        until_stopped();
        ended = true;
      });
      result = group.wait();
      went_on = !ended && group.size() == 1;
    });
    yield();
    owner.request_stop();
    (void)owner.join();
    CHECK(result == wait_status::stopped);
    CHECK(went_on);
    CHECK(ended);
  });
}

TEST_CASE("wait ends in time") {
  sweep_clean([] {
    task_group group;
    group.go(until_stopped);
    CHECK(group.wait_for(200us) == wait_status::timeout);
    group.stop();
    CHECK(group.wait_for(1h) == wait_status::done);
  });
}

TEST_CASE("a group works from a plain thread") {
  sweep_clean([] {
    std::atomic<int> ran{0};
    bool failed = false;
    std::thread outside([&] {
      task_group group;
      for (int i = 0; i < 5; ++i) group.go([&] { ++ran; });
      group.go([] { throw std::runtime_error("x"); });
      try {
        (void)group.wait();
      } catch (const std::runtime_error&) {
        failed = true;
      }
    });
    blocking([&] { outside.join(); });
    CHECK(ran <= 5);
    CHECK(failed);
  });
}

TEST_CASE("failures, stops and ends race, and every member is joined") {
  sweep_clean([] {
    log_catcher quiet;
    for (int n = 0; n < rounds / 10; ++n) {
      std::atomic<int> alive{0};
      bool threw = false;
      {
        task_group group;
        for (int i = 0; i < 6; ++i)
          group.go([&, i] {
            ++alive;
            if (i == n % 6) {
              --alive;
              throw n;
            }
            if (i % 2 == 0) until_stopped();
            --alive;
          });
        if (n % 3 == 0) yield();
        if (n % 4 == 0) group.stop();
        try {
          if (n % 5 != 0) (void)group.wait();
        } catch (int x) {
          threw = x == n;
        }
      }
      CHECK(alive == 0);
      if (n % 5 != 0) CHECK(threw);
    }
  });
}

TEST_CASE("a group whose owner is insisted on joins a member that outlasts its grace") {
  // In its destructor, where nothing may be thrown: else the program ends here.
  auto o = with_procs(2);
  o.grace = std::chrono::milliseconds(200);
  static std::atomic<bool> joined{false};  // should the machine stand still, the owner is left behind
  run(o, [&] {
    go([] {
      {
        task_group group;
        group.go([] { leat::blocking([] { ::usleep(250'000); }); });
        (void)sleep_for(1h);  // ended by the end of main
      }
      joined = true;
    });
    (void)sleep_for(std::chrono::milliseconds(1));
  });
  WARN(joined);
}

TEST_CASE("what a member keeps in a leat::local is gone when wait has returned") {
  sweep_clean([] {
    static std::atomic<int> alive{0};
    struct kept {
      kept() { ++alive; }
      ~kept() {
        yield();
        --alive;
      }
    };
    static leat::local<kept> mine;
    task_group group;
    for (int i = 0; i < 20; ++i) group.go([] { (void)*mine; });
    CHECK(group.wait() == wait_status::done);
    CHECK(alive == 0);
  });
}
