// SPDX-License-Identifier: BSL-1.0
#include <leat/base/mutex.hpp>

#include <doctest/doctest.h>
#include <signal.h>

#include <condition_variable>
#include <memory>
#include <mutex>
#include <string>
#include <thread>
#include <vector>

#include "support/child.hpp"

using leat::lock_guard;
using leat::lock_rank;
using leat::ranked_mutex;
using leat::ranked_spinlock;
using leat::test::child_result;
using leat::test::run_self;

TEST_CASE("ranks stand in the order in which locks are taken") {
  const lock_rank order[] = {lock_rank::user,   lock_rank::host,       lock_rank::registry,
                             lock_rank::net,    lock_rank::task_group, lock_rank::channel,
                             lock_rank::timers, lock_rank::scheduler,  lock_rank::thread_list,
                             lock_rank::stacks, lock_rank::trace,      lock_rank::log};
  CHECK(static_cast<int>(lock_rank::user) == 0);
  for (std::size_t i = 1; i < sizeof order / sizeof order[0]; ++i) CHECK(order[i - 1] < order[i]);
  CHECK(std::string(to_string(lock_rank::user)) == "user");
  CHECK(std::string(to_string(lock_rank::log)) == "log");
  CHECK(std::string(to_string(static_cast<lock_rank>(200))) == "?");
}

TEST_CASE_TEMPLATE("a lock excludes other threads", Mutex, ranked_mutex, ranked_spinlock) {
  Mutex mutex(lock_rank::scheduler, "counter");
  long counter = 0;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([&] {
      for (int i = 0; i < 20'000; ++i) {
        lock_guard guard(mutex);
        counter = counter + 1;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  CHECK(counter == 80'000);
  CHECK(std::string(mutex.name()) == "counter");
  CHECK(mutex.rank() == lock_rank::scheduler);
}

TEST_CASE_TEMPLATE("try_lock says no while another thread holds the lock", Mutex, ranked_mutex,
                   ranked_spinlock) {
  Mutex mutex(lock_rank::scheduler, "tried");
  const auto try_elsewhere = [&mutex] {
    bool got = false;
    std::thread([&] {
      if (mutex.try_lock()) {
        got = true;
        mutex.unlock();
      }
    }).join();
    return got;
  };
  CHECK(try_elsewhere());
  mutex.lock();
  CHECK_FALSE(try_elsewhere());
  mutex.unlock();
  CHECK(try_elsewhere());
}

TEST_CASE("locks taken from low to high rank, and released in any order, are in order") {
  ranked_mutex a(lock_rank::user, "a");
  ranked_spinlock b(lock_rank::channel, "b");
  ranked_mutex c(lock_rank::log, "c");
  for (int round = 0; round < 3; ++round) {
    a.lock();
    b.lock();
    c.lock();
    a.unlock();
    c.unlock();
    b.unlock();
  }
  leat::check_no_locks_held("the test");
}

TEST_CASE("try_lock may take a lower rank, since it cannot deadlock") {
  ranked_mutex low(lock_rank::user, "low");
  ranked_mutex high(lock_rank::log, "high");
  high.lock();
  const bool got = low.try_lock();
  CHECK(got);
  if (got) low.unlock();
  high.unlock();
}

TEST_CASE("a condition variable waits on a ranked mutex") {
  ranked_mutex mutex(lock_rank::user, "condition");
  std::condition_variable_any changed;
  bool ready = false;
  std::thread other([&] {
    lock_guard guard(mutex);
    ready = true;
    changed.notify_one();
  });
  {
    std::unique_lock guard(mutex);
    changed.wait(guard, [&] { return ready; });
  }
  other.join();
  CHECK(ready);
}

TEST_CASE("one lock may be held where the other side drops it") {
  ranked_spinlock channel(lock_rank::channel, "channel");
  lock_guard guard(channel);
  leat::check_only_lock_held(&channel, "park");
}

#if LEAT_DEBUG_CHECKS_ON
// What these do on purpose, Clang would refuse to compile.
#define LEAT_WRONG LEAT_NO_THREAD_SAFETY_ANALYSIS

static void take(ranked_mutex& mutex) LEAT_WRONG { mutex.lock(); }
static void take(ranked_spinlock& mutex) LEAT_WRONG { mutex.lock(); }
static bool try_take(ranked_mutex& mutex) LEAT_WRONG { return mutex.try_lock(); }
static void drop(ranked_mutex& mutex) LEAT_WRONG { mutex.unlock(); }

LEAT_CHILD(locks_downwards) {
  ranked_mutex high(lock_rank::scheduler, "run queue");
  ranked_spinlock low(lock_rank::channel, "orders");
  take(high);
  take(low);
}
LEAT_CHILD(locks_the_same_rank) {
  ranked_mutex one(lock_rank::channel, "orders");
  ranked_mutex two(lock_rank::channel, "bills");
  take(one);
  take(two);
}
LEAT_CHILD(locks_below_a_lock_that_is_not_the_last) {
  ranked_mutex low(lock_rank::host, "host");
  ranked_mutex high(lock_rank::log, "sink");
  ranked_mutex middle(lock_rank::net, "sockets");
  take(high);
  if (try_take(low)) take(middle);
}
LEAT_CHILD(locks_a_mutex_twice) {
  ranked_mutex mutex(lock_rank::host, "wiring");
  take(mutex);
  take(mutex);
}
LEAT_CHILD(locks_a_spinlock_twice) {
  ranked_spinlock mutex(lock_rank::host, "wiring");
  take(mutex);
  take(mutex);
}
LEAT_CHILD(unlocks_what_it_does_not_hold) {
  ranked_mutex mutex(lock_rank::host, "wiring");
  drop(mutex);
}
LEAT_CHILD(unlocks_what_another_thread_holds) {
  ranked_mutex mutex(lock_rank::host, "wiring");
  take(mutex);
  std::thread([&] { drop(mutex); }).join();
}
LEAT_CHILD(holds_a_lock_at_a_switch) {
  ranked_mutex mutex(lock_rank::host, "wiring");
  take(mutex);
  leat::check_no_locks_held("park");
}
LEAT_CHILD(holds_two_locks_at_a_switch) {
  ranked_mutex extra(lock_rank::host, "wiring");
  ranked_spinlock channel(lock_rank::channel, "orders");
  take(extra);
  take(channel);
  leat::check_only_lock_held(&channel, "park");
}
LEAT_CHILD(locks_too_deep) {
  // try_lock skips the order, so that one rank is enough.
  static std::vector<std::unique_ptr<ranked_mutex>> many;
  for (int i = 0; i < 17; ++i) {
    many.push_back(std::make_unique<ranked_mutex>(lock_rank::user, "many"));
    if (!try_take(*many.back())) return;
  }
}

TEST_CASE("a wrong use of locks aborts and names the locks and their ranks") {
  const struct {
    const char* child;
    std::vector<std::string> says;
  } cases[] = {
      {"locks_downwards",
       {"lock order: a thread may only lock a higher rank than any it holds",
        "locking=orders, rank=channel, rank_number=5, holding=run queue, held_rank=scheduler, "
        "held_rank_number=7"}},
      {"locks_the_same_rank",
       {"lock order", "locking=bills, rank=channel", "holding=orders, held_rank=channel"}},
      {"locks_below_a_lock_that_is_not_the_last",
       {"lock order", "locking=sockets, rank=net", "holding=sink"}},
      {"locks_a_mutex_twice", {"self-deadlock", "lock=wiring, rank=host"}},
      {"locks_a_spinlock_twice", {"self-deadlock", "lock=wiring, rank=host"}},
      {"unlocks_what_it_does_not_hold",
       {"unlocking a lock that this thread does not hold (lock=wiring, rank=host"}},
      {"unlocks_what_another_thread_holds", {"unlocking a lock that this thread does not hold (lock=wiring"}},
      {"holds_a_lock_at_a_switch",
       {"a lock is held where none may be (where=park, lock=wiring, rank=host, held=1)"}},
      {"holds_two_locks_at_a_switch", {"(where=park, lock=wiring, rank=host, held=2)"}},
      {"locks_too_deep", {"a thread holds too many locks for the order checker (locking=many, held=16)"}},
  };
  for (const auto& c : cases) {
    const child_result result = run_self(c.child);
    CAPTURE(c.child);
    CAPTURE(result.output);
    CHECK(result.died_by(SIGABRT));
    for (const std::string& text : c.says) {
      CAPTURE(text);
      CHECK(result.said(text));
    }
  }
}
#endif
