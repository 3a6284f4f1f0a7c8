// SPDX-License-Identifier: BSL-1.0
//
// What a stop does to the G that is asked, wherever it is. Stops that race with waits: stop_race_test.cpp.
#include <thread>
#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

TEST_CASE("stop_requested and checkpoint tell a computing G that it was asked") {
  sweep_clean([] {
    std::atomic<bool> runs{false};
    auto polls = spawn([&] {
      runs = true;
      while (!stop_requested()) yield();
      return 1;
    });
    auto checks = spawn([&] {
      for (;;) {
        checkpoint();
        yield();
      }
    });
    CHECK(eventually([&] { return runs.load(); }));
    polls.request_stop();
    CHECK(polls.get() == 1);
    checks.request_stop();
    CHECK_THROWS_AS(checks.get(), stopped);
    CHECK_FALSE(stop_requested());
    checkpoint();
  });
  CHECK_FALSE(stop_requested());
  checkpoint();
}

TEST_CASE("a task that is asked before it ever ran still runs, and its waits end at once") {
  run_clean(undisturbed(1), [] {
    std::atomic<bool> began{false};
    auto t = spawn([&] {
      began = true;
      return sleep_for(1h);
    });
    t.request_stop();  // one P, and we have it: it has not run
    CHECK_FALSE(began);
    CHECK(t.get() == sleep_result::stopped);
    CHECK(began);  // it is asked, not killed
  });
}

TEST_CASE("a stop source stops all its Gs, those spawned later too, and no others") {
  sweep_clean([] {
    stop_source source, copy = source;
    CHECK_FALSE(source.stop_requested());
    std::atomic<int> stopped_count{0}, started{0};
    const auto waits = [&] {
      ++started;
      if (sleep_for(1h) == sleep_result::stopped) ++stopped_count;
    };
    for (int i = 0; i < 20; ++i) go({.stop = source}, waits);
    auto other = spawn([&] { return sleep_for(5ms); });
    CHECK(eventually([&] { return started == 20; }));
    copy.request_stop();
    CHECK(source.stop_requested());
    go({.stop = source}, waits);
    CHECK(eventually([&] { return stopped_count == 21; }));
    CHECK(other.get() == sleep_result::elapsed);
  });
}

TEST_CASE("insisting makes the next entry into the runtime throw") {
  sweep_clean([] {
    stop_source source;
    auto t = spawn({.stop = source}, [] {
      for (;;) (void)sleep_for(1ms);
    });
    yield();
    source.request_stop();
    yield();
    source.insist();
    CHECK_THROWS_AS(t.get(), stopped);
  });
}

TEST_CASE("the Gs of a control block and stack used before start without the stop of the former") {
  run_clean(with_procs(1), [] {
    for (int i = 0; i < 50; ++i) {
      {
        auto t = spawn([] { (void)sleep_for(1h); });
        yield();
      }
      CHECK_FALSE(spawn([] { return stop_requested(); }).get());
    }
  });
}

TEST_CASE("a stop finds a G at every stage of its life") {
  run_clean(with_procs(1), [] {
    SUBCASE("while it is queued again after a yield") {
      std::atomic<int> turns{0};
      auto t = spawn([&] {
        for (; !stop_requested(); ++turns) yield();
      });
      while (turns < 3) yield();
      t.request_stop();
      t.get();
      CHECK(turns >= 3);
    }
    SUBCASE("while it sleeps") {
      std::atomic<bool> sleeps{false};
      auto t = spawn([&] {
        sleeps = true;
        return sleep_for(1h);
      });
      while (!sleeps) yield();
      t.request_stop();
      CHECK(t.get() == sleep_result::stopped);
    }
    SUBCASE("while it joins, and then it can still wait for the end by get") {
      auto t = spawn([] {
        std::atomic<bool> go_on{false};
        auto worker = spawn([&] {
          while (!go_on) (void)sleep_for(100us);
          return 3;
        });
        const bool stopped = worker.join() == join_result::stopped;
        go_on = true;
        return std::pair(stopped, worker.get());
      });
      (void)sleep_for(5ms);
      t.request_stop();
      const auto [stopped, value] = t.get();
      CHECK(stopped);
      CHECK(value == 3);
    }
    SUBCASE("while it is in a declared blocking call, which goes on, and the next wait is stopped") {
      std::atomic<bool> inside{false}, go_on{false};
      auto t = spawn([&] {
        blocking([&] {
          inside = true;
          while (!go_on.load()) std::this_thread::sleep_for(100us);
        });
        return sleep_for(1h);
      });
      while (!inside.load()) (void)sleep_for(100us);
      t.request_stop();
      (void)sleep_for(5ms);
      CHECK_FALSE(t.done());
      go_on = true;
      CHECK(t.get() == sleep_result::stopped);
    }
    SUBCASE("while it runs without its P") {
      std::atomic<bool> go_on{false};
      auto t = spawn([&] {
        while (!go_on.load()) {
        }
        return sleep_for(1h);
      });
      while (stats().without_p == 0) (void)sleep_for(1ms);
      t.request_stop();
      go_on = true;
      CHECK(t.get() == sleep_result::stopped);
    }
    SUBCASE("after its end, without effect") {
      auto t = spawn([] { return 4; });
      (void)t.join();
      t.request_stop();
      CHECK(t.get() == 4);
      // The next G from the pool does not inherit it.
      for (int i = 0; i < 100; ++i) CHECK_FALSE(spawn([] { return stop_requested(); }).get());
    }
    SUBCASE("once more, without effect") {
      auto t = spawn([] { return sleep_for(1h); });
      yield();
      for (int i = 0; i < 5; ++i) t.request_stop();
      CHECK(t.get() == sleep_result::stopped);
    }
    SUBCASE("by the destructor of its task") {
      int ended = 0;
      {
        auto t = spawn([&] {
          (void)sleep_for(1h);
          ++ended;
        });
      }
      CHECK(ended == 1);
    }
  });
}

TEST_CASE("destructors may call into the runtime while a G that was insisted on unwinds") {
  sweep_clean([] {
    static std::atomic<int> cleaned{0};
    struct cleans_up {
      ~cleans_up() {
        (void)sleep_for(1ms);
        yield();
        ++cleaned;
      }
    };
    const int before = cleaned;
    stop_source source;
    auto t = spawn({.stop = source}, [] {
      const cleans_up last;
      for (;;) (void)sleep_for(1h);
    });
    source.request_stop();
    source.insist();
    CHECK_THROWS_AS(t.get(), stopped);
    CHECK(cleaned == before + 1);
  });
}

TEST_CASE("a G that was insisted on is thrown out of its next wait") {
  run_clean(with_procs(1), [] {
    stop_source source;
    std::atomic<int> refused{0};
    std::atomic<bool> unwound{false};
    auto t = spawn({.stop = source}, [&] {
      struct mark {
        std::atomic<bool>& b;
        ~mark() { b = true; }
      } at_end{unwound};
      for (;; ++refused) (void)sleep_for(1h);
    });
    yield();
    source.request_stop();
    CHECK(eventually([&] { return refused > 0; }));  // asked alone does not throw
    source.insist();
    CHECK_THROWS_AS(t.get(), stopped);
    CHECK(unwound);
  });
}
