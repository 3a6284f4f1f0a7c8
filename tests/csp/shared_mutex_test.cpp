// SPDX-License-Identifier: BSL-1.0
#include <leat/csp/shared_mutex.hpp>

#include <csignal>
#include <memory>
#include <mutex>
#include <shared_mutex>
#include <thread>
#include <vector>

#include <leat/csp/wait_group.hpp>

#include "../sched/fixture.hpp"
#include "csp/start_waiting.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::sched::test;

namespace {

constexpr int rounds = fiber::under_tsan ? 1'000 : 10'000;

const auto start_waiting = [](auto f, const spawn_options& o = {}) {
  return csp::test::start_waiting(f, o, sched::wait_reason::mutex);
};

}  // namespace

TEST_CASE("readers share, a writer does not") {
  run_clean(with_procs(2), [] {
    shared_mutex m;
    {
      std::shared_lock one(m), two(m, std::try_to_lock);
      CHECK(two.owns_lock());
      CHECK_FALSE(m.try_lock());
      CHECK_FALSE(m.try_lock_for(100us));
      CHECK(std::shared_lock(m, 1ms).owns_lock());
    }
    std::unique_lock alone(m);
    CHECK_FALSE(m.try_lock_shared());
    CHECK_FALSE(m.try_lock_shared_until(now() + 100us));
    std::shared_lock<shared_mutex> late(m, std::chrono::system_clock::now() + 1ms);
    CHECK_FALSE(late.owns_lock());
  });
}

TEST_CASE("no reader is inside with a writer, whatever the number of Ps") {
  sweep_clean([] {
    shared_mutex m;
    std::atomic<int> writers{0}, readers{0}, wrong{0};
    long count = 0;
    wait_group all(8);
    for (int i = 0; i < 8; ++i)
      go([&, i] {
        for (int n = 0; n < rounds / 20; ++n) {
          if ((n + i) % 4 == 0) {
            std::scoped_lock hold(m);
            if (++writers != 1 || readers != 0) ++wrong;
            if (n % 8 == 0) yield();
            ++count;
            --writers;
          } else {
            std::shared_lock hold(m);
            ++readers;
            if (writers != 0) ++wrong;
            if (n % 7 == 0) yield();
            --readers;
          }
        }
        all.done();
      });
    CHECK(all.wait() == wait_status::done);
    CHECK(wrong == 0);
    CHECK(count == 8L * (rounds / 20) / 4);
  });
}

TEST_CASE("a reader that comes after a waiting writer waits behind it") {
  sweep_clean([] {
    shared_mutex m;
    std::vector<int> order;
    m.lock_shared();
    auto writer = start_waiting([&] {
      std::scoped_lock hold(m);
      order.push_back(1);
    });
    CHECK_FALSE(m.try_lock_shared());
    auto reader = start_waiting([&] {
      std::shared_lock hold(m);
      order.push_back(2);
    });
    m.unlock_shared();
    (void)reader.join();
    CHECK(order == std::vector{1, 2});
  });
}

TEST_CASE("readers that stand together get in together") {
  sweep_clean([] {
    shared_mutex m;
    m.lock();
    std::atomic<int> inside{0};
    std::vector<task<void>> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(start_waiting([&] {
        std::shared_lock hold(m);
        ++inside;
        CHECK(eventually([&] { return inside == 4; }));
      }));
    m.unlock();
    for (auto& t : all) (void)t.join();
    CHECK(inside == 4);
  });
}

TEST_CASE("when a writer gives up, the readers behind it join those who hold") {
  sweep_clean([] {
    shared_mutex m;
    m.lock_shared();
    bool got = true;
    auto writer = start_waiting([&] { got = m.try_lock_for(1h); });
    auto reader = start_waiting([&] { std::shared_lock hold(m); });
    writer.request_stop();
    (void)writer.join();
    CHECK_FALSE(got);
    (void)reader.join();  // though the first reader still holds
    m.unlock_shared();
    CHECK(std::unique_lock(m, std::try_to_lock).owns_lock());
  });
}

TEST_CASE("a stop does not end lock or lock_shared") {
  sweep_clean([] {
    shared_mutex m;
    m.lock();
    std::atomic<int> locked{0};
    auto writer = start_waiting([&] {
      std::scoped_lock hold(m);
      ++locked;
    });
    auto reader = start_waiting([&] {
      std::shared_lock hold(m);
      ++locked;
    });
    writer.request_stop();
    reader.request_stop();
    yield();
    CHECK(locked == 0);
    m.unlock();
    (void)writer.join();
    (void)reader.join();
    CHECK(locked == 2);
  });
}

TEST_CASE("Gs and plain threads read and write together") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    run_clean(with_procs(procs), [] {
      shared_mutex m;
      long a = 0, b = 0;
      std::atomic<int> wrong{0};
      const auto work = [&] {
        for (int n = 0; n < rounds / 10; ++n) {
          if (n % 3 == 0) {
            std::scoped_lock hold(m);
            ++a;
            ++b;
          } else {
            std::shared_lock hold(m);
            if (a != b) ++wrong;
          }
        }
      };
      const keep_alive threads_hold_it;
      std::thread one(work), two(work);
      wait_group all(3);
      for (int i = 0; i < 3; ++i)
        go([&] {
          work();
          all.done();
        });
      CHECK(all.wait() == wait_status::done);
      blocking([&] {
        one.join();
        two.join();
      });
      CHECK(wrong == 0);
      CHECK(a == b);
    });
  }
}

TEST_CASE("nobody is left behind when timeouts, stops and unlocks race") {
  sweep_clean([] {
    shared_mutex m;
    stop_source stop;
    long a = 0, b = 0;
    std::atomic<int> wrong{0};
    std::vector<task<void>> all;
    for (int i = 0; i < 8; ++i)
      all.push_back(spawn({.stop = i % 4 == 1 ? std::optional(stop) : std::nullopt}, [&, i] {
        for (int n = 0; n < rounds / 25; ++n) {
          const auto soon = std::chrono::microseconds(n % 6);
          const bool write = (n + i) % 3 == 0;
          const bool timed = i % 2 == 1;
          if (write) {
            std::unique_lock hold(m, std::defer_lock);
            if (timed && !hold.try_lock_for(soon)) continue;
            if (!timed) hold.lock();
            ++a;
            if (n % 5 == 0) yield();
            ++b;
          } else {
            std::shared_lock hold(m, std::defer_lock);
            if (timed && !hold.try_lock_for(soon)) continue;
            if (!timed) hold.lock();
            if (a != b) ++wrong;
            if (n % 5 == 0) yield();
          }
        }
      }));
    yield();
    stop.request_stop();
    for (auto& t : all) (void)t.join();
    CHECK(wrong == 0);
    CHECK(a == b);
    CHECK(std::unique_lock(m, std::try_to_lock).owns_lock());
  });
}

TEST_CASE("the one who unlocks last may destroy it at once") {
  sweep_clean([] {
    struct shared {
      shared_mutex m;
      std::atomic<int> users{3};
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

LEAT_CHILD(unlock_of_a_free_shared_mutex) {
  (void)run([] {
    shared_mutex m;
    std::unique_lock(m, std::adopt_lock).unlock();
  });
}
LEAT_CHILD(unlock_of_readers_as_a_writer) {
  (void)run([] {
    shared_mutex m;
    std::shared_lock hold(m);
    std::unique_lock(m, std::adopt_lock).unlock();
  });
}
LEAT_CHILD(unlock_shared_of_a_free_shared_mutex) {
  (void)run([] {
    shared_mutex m;
    std::shared_lock(m, std::adopt_lock).unlock();
  });
}
LEAT_CHILD(unlock_shared_of_a_writer) {
  (void)run([] {
    shared_mutex m;
    std::unique_lock hold(m);
    std::shared_lock(m, std::adopt_lock).unlock();
  });
}

TEST_CASE("the unlock of a shared_mutex that is not held that way ends the program with a sentence") {
  for (const char* const child : {"unlock_of_a_free_shared_mutex", "unlock_of_readers_as_a_writer"}) {
    const auto r = leat::test::run_self(child);
    CHECK(r.died_by(SIGABRT));
    CHECK(r.said("a shared_mutex was unlocked that no writer had locked"));
  }
  for (const char* const child : {"unlock_shared_of_a_free_shared_mutex", "unlock_shared_of_a_writer"}) {
    const auto r = leat::test::run_self(child);
    CHECK(r.died_by(SIGABRT));
    CHECK(r.said("a shared_mutex was unlocked that no reader had locked"));
  }
}
