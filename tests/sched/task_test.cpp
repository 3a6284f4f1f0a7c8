// SPDX-License-Identifier: BSL-1.0
//
// The handle of a spawned G: its result, its end, and who waits for it.
#include <stdexcept>
#include <thread>

#include "fixture.hpp"

using namespace leat;
using namespace leat::sched::test;

TEST_CASE("a task gives back its result, or what it threw") {
  sweep_clean([] {
    CHECK(spawn([] { return 42; }).get() == 42);
    CHECK(spawn([] { return std::string(1000, 'x'); }).get() == std::string(1000, 'x'));
    spawn([] {}).get();
    CHECK_THROWS_WITH_AS(spawn([]() -> int { throw std::runtime_error("lost"); }).get(), "lost",
                         std::runtime_error);
    CHECK_THROWS_AS(spawn([] { throw 5; }).get(), int);
    CHECK_THROWS_AS(spawn([] { throw stopped{}; }).get(), stopped);
  });
}

TEST_CASE("a task can be moved and its result fetched from the new handle") {
  sweep_clean([] {
    auto a = spawn([] { return 6; });
    auto b = std::move(a);
    CHECK_FALSE(a.valid());  // NOLINT: the moved-from state is what is tested
    CHECK(b.valid());
    CHECK(b.get() == 6);
    CHECK_FALSE(b.valid());
    task<int> c;
    c = spawn([] { return 7; });
    CHECK(c.get() == 7);
    std::vector<task<int>> all;
    for (int i = 0; i < 20; ++i) all.push_back(spawn([i] { return i; }));
    int sum = 0;
    for (auto& t : all) sum += t.get();
    CHECK(sum == 190);
  });
}

TEST_CASE("assigning to a task stops and joins the one it held") {
  sweep_clean([] {
    std::atomic<bool> first_ended{false};
    auto t = spawn([&] {
      (void)sleep_for(1h);
      first_ended = true;
      return 1;
    });
    t = spawn([] { return 2; });
    CHECK(first_ended);
    CHECK(t.get() == 2);
  });
}

TEST_CASE("an empty task refuses join and get and says that it is empty") {
  task<int> t;
  CHECK_FALSE(t.valid());
  CHECK_FALSE(t.done());
  t.request_stop();
  CHECK_THROWS_AS(t.join(), std::logic_error);
  CHECK_THROWS_AS(t.get(), std::logic_error);
  run_clean(with_procs(1), [] {
    auto used = spawn([] { return 1; });
    CHECK(used.get() == 1);
    CHECK_THROWS_AS(used.get(), std::logic_error);
  });
}

TEST_CASE("the destructor of a task asks it to stop and waits for its end") {
  sweep_clean([] {
    std::atomic<bool> ended{false};
    sleep_result how = sleep_result::elapsed;
    {
      auto t = spawn([&] {
        how = sleep_for(1h);
        ended = true;
      });
    }
    CHECK(ended);
    CHECK(how == sleep_result::stopped);
  });
}

TEST_CASE("join returns when the task has ended, any number of times, and leaves the result") {
  sweep_clean([] {
    auto t = spawn([] {
      (void)sleep_for(1ms);
      return 3;
    });
    CHECK(t.join() == join_result::ended);
    CHECK(t.done());
    CHECK(t.join() == join_result::ended);
    CHECK(t.get() == 3);
  });
}

TEST_CASE("a joiner that is asked to stop comes back, and the task goes on") {
  sweep_clean([] {
    std::atomic<bool> over{false};
    auto slow = spawn([&] {
      while (!over) (void)sleep_for(100us);
      return 4;
    });
    auto joiner = spawn([&] { return slow.join(); });
    yield();
    joiner.request_stop();
    CHECK(joiner.get() == join_result::stopped);
    CHECK_FALSE(slow.done());
    over = true;
    CHECK(slow.get() == 4);
  });
}

TEST_CASE("get waits past a stop of the caller") {
  sweep_clean([] {
    std::atomic<bool> over{false};
    auto slow = spawn([&] {
      while (!over) (void)sleep_for(100us);
      return 4;
    });
    auto joiner = spawn([&] { return slow.get(); });
    yield();
    joiner.request_stop();
    CHECK_FALSE(joiner.done());
    over = true;
    CHECK(joiner.get() == 4);
  });
}

TEST_CASE("plain threads spawn, join and get") {
  sweep_clean([] {
    blocking([] {
      auto t = spawn([] { return thread_id(); });
      CHECK(t.join() == join_result::ended);
      CHECK(t.get() != 0);
    });
    std::atomic<int> got{0};
    std::thread outside([&] {
      for (int i = 0; i < 50; ++i) got += spawn([] { return 1; }).get();
      auto stopped_by_destructor = spawn([] { (void)sleep_for(1h); });
    });
    CHECK(eventually([&] { return got == 50; }));
    blocking([&] { outside.join(); });
  });
}

TEST_CASE("a task may be let go of when its runtime has ended, in a later one too, and leaves nothing") {
  std::vector<task<int>> kept;
  for (int i = 0; i < 5; ++i) {
    leat::run(with_procs(2), [&] {
      // Those of the run before.
      if (i % 2 == 1) kept.clear();
      for (int k = 0; k < 3; ++k) kept.push_back(spawn([k] { return k; }));
      if (i % 2 == 0) {
        for (auto& t : kept) (void)t.join();
      } else {
        std::thread([&] { kept.pop_back(); }).join();
      }
    });
  }
  CHECK(kept.size() == 5);
  for (auto& t : kept) t.request_stop();
  CHECK(kept.back().get() == 2);
  kept.clear();
}

TEST_CASE("join_until gives up at its deadline, and the task goes on") {
  sweep_clean([] {
    std::atomic<bool> go_on{false};
    auto t = spawn([&] {
      while (!go_on) (void)sleep_for(100us);
      return 7;
    });
    const time_point begin = now();
    CHECK(t.join_until(begin + 2ms) == join_result::timeout);
    CHECK(now() - begin >= 2ms);
    CHECK(t.join_for(-1h) == join_result::timeout);
    CHECK(t.join_until(std::chrono::system_clock::now() + 1ms) == join_result::timeout);
    go_on = true;
    CHECK(t.join_for(1h) == join_result::ended);
    CHECK(t.join_until(deadline::never()) == join_result::ended);
    CHECK(t.get() == 7);
  });
}

TEST_CASE("join_until is ended by a stop of its caller") {
  sweep_clean([] {
    std::atomic<bool> joins{false};
    auto slow = spawn([] {
      while (!stop_requested()) (void)sleep_for(1h);
    });
    auto t = spawn([&] {
      joins = true;
      return slow.join_for(1h);
    });
    CHECK(eventually([&] { return joins.load(); }));
    t.request_stop();
    CHECK(t.get() == join_result::stopped);
  });
}

TEST_CASE("a deadline, a stop and the end of the task race, and every join comes back") {
  sweep_clean([] {
    constexpr int rounds = fiber::under_tsan ? 300 : 3'000;
    int seen[3] = {};
    for (int i = 0; i < rounds; ++i) {
      auto t = spawn([i] {
        if (i % 2) yield();
        if (i % 3 == 0) (void)sleep_for(std::chrono::microseconds(i % 50));
      });
      const join_result r = t.join_for(std::chrono::microseconds(i % 40));
      ++seen[static_cast<int>(r)];
      if (r == join_result::timeout) CHECK(t.join() == join_result::ended);
    }
    CHECK(seen[static_cast<int>(join_result::stopped)] == 0);
    CHECK(seen[0] + seen[2] == rounds);
  });
}

TEST_CASE("a plain thread joins until a deadline too") {
  (void)leat::run(with_procs(2), [] {
    std::atomic<bool> go_on{false};
    keep_alive not_stuck;
    auto t = spawn([&] {
      while (!go_on) (void)sleep_for(100us);
    });
    std::thread outside([&] {
      CHECK(t.join_for(1ms) == join_result::timeout);
      go_on = true;
      CHECK(t.join_for(1h) == join_result::ended);
    });
    blocking([&] { outside.join(); });
  });
}
