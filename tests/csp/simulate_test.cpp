// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/simulate.hpp>

#include <doctest/doctest.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/base/system_time.hpp>
#include <leat/csp/channel.hpp>
#include <leat/csp/condition_variable.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/select.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/csp/ticker.hpp>
#include <leat/csp/wait_group.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/random.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/time.hpp>
#include <leat/sched/world.hpp>

using namespace leat;
using namespace leat::testing;
using namespace std::chrono_literals;

namespace {

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// How a run of several Gs went: every step of each, in order, with the time.
std::string story_of(const world_options& o) {
  std::string told;
  simulate(o, [&] {
    channel<int> numbers(2);
    mutex lock;
    wait_group all;
    const auto say = [&](const std::string& what) {
      told += std::to_string((now() - time_point{}).count() % 1'000'000'000'000) + " " + what + "\n";
    };
    for (int i = 0; i < 3; ++i) {
      all.add(1);
      go([&, i] {
        for (int k = 0; k < 5; ++k) {
          (void)sleep_for(std::chrono::milliseconds(3 * (i + 1)));
          {
            const std::lock_guard held(lock);
            say("g" + std::to_string(i) + " " + std::to_string(k));
            leat::yield();
          }
          numbers.send(i * 10 + k);
        }
        all.done();
      });
    }
    ticker every(10ms);
    for (int got = 0; got < 15;) {
      select(on_recv(numbers, [&](int n) { say("got " + std::to_string(n)), ++got; }),
             on_recv(every, [&](auto) { say("tick"); }));
    }
    all.wait();
  });
  return told;
}

}  // namespace

TEST_CASE("time moves when all wait, and at once") {
  const auto begin = std::chrono::steady_clock::now();
  const world_report r = simulate({}, [] {
    const time_point start = now();
    CHECK(sleep_for(24h) == sleep_result::elapsed);
    CHECK(now() - start == 24h);
    channel<int> c;
    go([c]() mutable {
      (void)sleep_for(90min);
      c.send(7);
    });
    CHECK(!c.recv_until(1h));
    CHECK(now() - start == 25h);
    CHECK(*c.recv() == 7);
    CHECK(now() - start == 25h + 30min);
  });
  CHECK(r.elapsed == 25h + 30min);
  CHECK(std::chrono::steady_clock::now() - begin < 5s);
}

TEST_CASE("a world has a date of its own, which moves with its time") {
  simulate({}, [] {
    CHECK(system_now_ns() == 1'767'225'600'000'000'000);  // 2026-01-01T00:00:00Z
    (void)sleep_for(25h);
    CHECK(system_now_ns() == 1'767'225'600'000'000'000 + nanoseconds(25h).count());
  });
  // A date is one of the world's.
  simulate({}, [] {
    const time_point start = now();
    const std::chrono::system_clock::time_point at{
        std::chrono::duration_cast<std::chrono::system_clock::duration>(nanoseconds(system_now_ns()) + 3h)};
    CHECK(sleep_until(at) == sleep_result::elapsed);
    CHECK(now() - start == 3h);
  });
  const std::chrono::system_clock::time_point leap_day{std::chrono::seconds(1'709'164'800)};
  simulate({.begins = leap_day},
           [&] { CHECK(nanoseconds(system_now_ns()) == nanoseconds(leap_day.time_since_epoch())); });
  // Outside it is the machine's.
  const auto real = std::chrono::system_clock::now().time_since_epoch();
  CHECK(std::chrono::abs(nanoseconds(system_now_ns()) - nanoseconds(real)) < 45s);
}

TEST_CASE("chance comes from the seed, and only in a world") {
  const auto drawn = [](std::uint64_t seed) {
    std::vector<std::uint64_t> all;
    simulate({.seed = seed}, [&] {
      for (int i = 0; i < 20; ++i) {
        all.push_back(leat::random());
        if (i % 3 == 0) (void)sleep_for(1ms);
      }
    });
    return all;
  };
  const std::vector<std::uint64_t> first = drawn(7);
  CHECK(drawn(7) == first);
  CHECK(drawn(8) != first);
  for (std::size_t i = 1; i < first.size(); ++i) CHECK(first[i] != first[i - 1]);
  CHECK(leat::random() != leat::random());
}

TEST_CASE("nobody runs beside a declared blocking call") {
  std::atomic<int> ran{0};
  simulate({.gives_way_one_in = 0}, [&] {
    for (int i = 0; i < 3; ++i) go([&] { ++ran; });
    CHECK(leat::blocking([&] {
            ::usleep(20'000);
            return ran.load();
          }) == 0);
    settle();
    CHECK(ran == 3);
  });
}

TEST_CASE("a G that is held gets no turn until its time is over") {
  simulate({}, [] {
    channel<int> c(4);
    std::uint64_t id = 0;
    time_point got = {};
    go([&, c] {
      id = self().id;
      if (c.recv()) got = now();
    });
    settle();
    const time_point start = now();
    sched::world::here()->hold(id, 5s);
    c.send(1);
    (void)sleep_for(4s);
    CHECK(got == time_point{});
    (void)sleep_for(2s);
    CHECK(got == start + 5s);
  });
}

TEST_CASE("time stands still while somebody can run") {
  simulate({}, [] {
    const time_point start = now();
    int turns = 0;
    auto busy = spawn([&] {
      for (; turns < 1000; ++turns) leat::yield();
    });
    auto sleeper = spawn([&] {
      (void)sleep_for(1ns);
      return turns;
    });
    CHECK(sleeper.get() == 1000);
    CHECK(now() - start == 1ns);
    busy.get();
  });
}

TEST_CASE("settle waits for all others, and not for time") {
  for_each_seed(50, [] {
    const time_point start = now();
    int steps = 0;
    channel<int> c;
    go([&] {
      for (int i = 0; i < 5; ++i) ++steps, leat::yield();
      (void)sleep_for(1s);
      ++steps;
      c.send(1);
    });
    settle();
    expect(steps == 5, "it has not come to its sleep");
    expect(now() == start, "time has moved");
    (void)sleep_for(1s);
    settle();
    expect(steps == 6, "it has not come to its send");
    (void)c.recv();
  });
}

TEST_CASE("settle is for worlds only") {
  run([] { CHECK_THROWS_AS(settle(), std::logic_error); });
}

TEST_CASE("one seed gives one run, a thousand times; others give others") {
  for (const strategy s : {strategy::random_walk, strategy::pct}) {
    const std::string first = story_of({.seed = 42, .order = s});
    CHECK(first.size() > 300);
    int differ = 0;
    for (int i = 0; i < 500; ++i) differ += story_of({.seed = 42, .order = s}) != first;
    CHECK(differ == 0);
    int others = 0;
    for (std::uint64_t seed = 1; seed <= 20; ++seed) others += story_of({.seed = seed, .order = s}) != first;
    CHECK(others >= 19);
  }
}

TEST_CASE("mutexes, conditions, groups and blocking calls work as ever") {
  for_each_seed(100, [] {
    mutex lock;
    condition_variable changed;
    int stage = 0;
    task_group group;
    for (int i = 0; i < 4; ++i)
      group.go([&, i] {
        std::unique_lock held(lock);
        (void)changed.wait(held, [&] { return stage == i; });
        blocking([] {});
        ++stage;
        changed.notify_all();
      });
    group.wait();
    expect(stage == 4, "somebody is missing");
  });
}

TEST_CASE("what throws comes out, and the next world is a fresh one") {
  CHECK_THROWS_AS(simulate({}, [] { throw std::runtime_error("on purpose"); }), std::runtime_error);
  CHECK(simulate({}, [] { (void)sleep_for(1s); }).elapsed == 1s);
  run([] {  // and a plain runtime has the time of the machine
    const auto begin = std::chrono::steady_clock::now();
    (void)sleep_for(5ms);
    CHECK(std::chrono::steady_clock::now() - begin >= 5ms);
  });
}

// --- What it is for ---------------------------------------------------------------------------------

namespace {

struct planted {
  const char* name;
  std::function<void()> program;
};

// A condition made at home: the flag is looked at, then the wait begins. A signal between is lost.
void lost_wake_up() {
  bool flag = false, sleeps = false;
  channel<int> bell(1);
  auto waiter = spawn([&] {
    if (flag) return true;
    leat::yield();
    sleeps = true;
    return bell.recv_until(1s).has_value();
  });
  auto signaller = spawn([&] {
    flag = true;
    if (sleeps) bell.send(1);
  });
  const bool came = waiter.get();
  signaller.get();
  expect(came, "the signal was lost");
}

void abba() {
  mutex a, b;
  const auto both = [](mutex& first, mutex& second) {
    const std::lock_guard one(first);
    const bool got = second.try_lock_for(1s);
    if (got) second.unlock();
    expect(got, "two wait for one another");
  };
  auto x = spawn([&] { both(a, b); });
  auto y = spawn([&] { both(b, a); });
  x.get();
  y.get();
}

// Checks under the lock, acts after it.
void unlocked_too_early() {
  mutex lock;
  int left = 1, taken = 0;
  wait_group all;
  for (int i = 0; i < 2; ++i) {
    all.add(1);
    go([&] {
      bool may = false;
      {
        const std::lock_guard held(lock);
        may = left > 0;
      }
      if (may) {
        const std::lock_guard held(lock);
        --left, ++taken;
      }
      all.done();
    });
  }
  all.wait();
  expect(taken == 1, "taken twice");
}

// Gives up after as many tries as the peer usually needs.
void gives_up() {
  bool up = false;
  auto peer = spawn([&] {
    (void)sleep_for(300ms);
    leat::yield();
    up = true;
  });
  bool met = false;
  for (int tries = 0; tries < 3 && !met; ++tries) {
    (void)sleep_for(100ms);
    met = up;
  }
  peer.get();
  expect(met, "it has given up");
}

// Two close it; the second is refused.
void closed_twice() {
  channel<int> c(1);
  int closed = 0;
  const auto finish = [&] {
    if (!c.closed()) {
      leat::yield();
      expect(closed++ == 0, "closed twice");
      c.close();
    }
  };
  auto x = spawn(finish);
  auto y = spawn(finish);
  x.get();
  y.get();
}

// Counts a value before it has been handled: another pass in between counts it again.
void not_idempotent() {
  channel<int> c(4);
  int handled = 0;
  bool seen = false;
  const auto handle = [&] {
    while (c.recv_until(10ms)) {
      if (seen) return;
      (void)sleep_for(1ms);
      seen = true;
      ++handled;
    }
  };
  auto x = spawn(handle);
  auto y = spawn(handle);
  c.send(1);
  c.send(1);  // delivered again
  x.get();
  y.get();
  expect(handled == 1, "handled twice");
}

const planted all_planted[] = {
    {"lost wake-up", lost_wake_up},
    {"ABBA", abba},
    {"unlocked too early", unlocked_too_early},
    {"gives up", gives_up},
    {"closed twice", closed_twice},
    {"not idempotent", not_idempotent},
};

// The first seed that fails; 0: none does.
std::uint64_t first_failure(const planted& p, strategy s, unsigned seeds) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    try {
      simulate({.seed = seed, .order = s, .steps = 50}, p.program);
    } catch (const std::runtime_error&) {
      return seed;
    }
  }
  return 0;
}

}  // namespace

TEST_CASE("planted bugs are found within a thousand seeds, and found again by the same seed") {
  for (const planted& p : all_planted) {
    CAPTURE(std::string(p.name));
    const std::uint64_t walk = first_failure(p, strategy::random_walk, 1000);
    const std::uint64_t pct = first_failure(p, strategy::pct, 1000);
    MESSAGE(std::string(p.name) << ": random walk " << walk << ", PCT " << pct);
    CHECK((walk != 0 || pct != 0));
    const bool by_walk = walk != 0;
    const world_options again{
        .seed = by_walk ? walk : pct, .order = by_walk ? strategy::random_walk : strategy::pct, .steps = 50};
    for (int i = 0; i < 5; ++i) CHECK_THROWS_AS(simulate(again, p.program), std::runtime_error);
  }
}

TEST_CASE("one that gives way until another has done something sees it, in any order") {
  for (const strategy s : {strategy::random_walk, strategy::pct}) {
    for (std::uint64_t seed = 1; seed <= 30; ++seed) {
      simulate({.seed = seed, .order = s, .steps = 50}, [] {
        int done = 0;
        std::vector<task<void>> peers;
        for (int i = 0; i < 3; ++i)
          peers.push_back(spawn([&, i] {
            while (done < i) leat::yield();
            ++done;
          }));
        while (done < 3) leat::yield();
        for (auto& p : peers) p.get();
      });
    }
  }
}

TEST_CASE("a world tells who ran last, and how much there was before") {
  sched::world w{sched::world_order({.seed = 3})};
  w.tell_story();
  sched::world::set_next(&w);
  (void)leat::run({.procs = 1}, [] {
    auto peer = spawn([] {
      for (int i = 0; i < 1000; ++i) leat::yield();
    });
    for (int i = 0; i < 1000; ++i) leat::yield();
    peer.get();
  });
  CHECK(w.story().size() == 200);
  CHECK(w.before_story() > 0);
  std::uint64_t all = w.before_story();
  for (const sched::world::turns& t : w.story()) all += t.times;
  CHECK(all == w.switches());
}

TEST_CASE("for_each_seed runs the seed that LEAT_SEED names, and that alone") {
  ::setenv("LEAT_SEED", "77", 1);
  int runs = 0;
  for_each_seed(1000, [&] { ++runs; });
  CHECK(runs == 1);
  ::setenv("LEAT_SEED", "x", 1);
  CHECK_THROWS_AS(for_each_seed(1, [] {}), std::invalid_argument);
  ::unsetenv("LEAT_SEED");
  ::setenv("LEAT_SHRINK", "1", 1);
  CHECK_THROWS_AS(for_each_seed(1000, abba), std::runtime_error);
  ::unsetenv("LEAT_SHRINK");
}
