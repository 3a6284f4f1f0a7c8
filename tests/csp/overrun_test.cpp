// SPDX-License-Identifier: BSL-1.0
//
// Channels and locks around Gs that hang, or seem to: who uses a channel, however slowly, does not hang; and
// one that is quarantined leaves channels and locks to the others as they were between two of its operations.
#include <array>
#include <atomic>
#include <string>

#include <doctest/doctest.h>

#include <leat/leat.hpp>

#include <leat/sched/quarantine.hpp>

#include "sched/fixture.hpp"
#include "sched/hang_guard.hpp"
#include "sched/overrun_fixture.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::sched::can_leave;
using namespace std::chrono_literals;

namespace {

const channel_options one_to_one{.writers = 1, .readers = 1};

void loops() {
  for (;;) asm volatile("" ::: "memory");
}

template <class T>
T value_of(int i) {
  if constexpr (std::is_same_v<T, std::string>) {
    return "a value that is too long to be kept in place: " + std::to_string(i);
  } else {
    return i;
  }
}

template <class F>
bool is_quarantined(task<F>& t) {
  try {
    (void)t.get();
  } catch (const quarantined&) {
    return true;
  } catch (const stopped&) {  // it came in when it had been insisted on
  }
  return false;
}

}  // namespace

TEST_CASE("a G that takes from a one-to-one channel, each value slowly, does not hang" * leat::test::soak) {
  for (const unsigned procs : {1u, 2u}) {
    run_clean(with_procs(procs), [procs] {
      // Sixty-four values between two visits to the runtime would be far more than `hang`.
      constexpr int n = 70;
      channel<int> c(256, one_to_one);
      for (int i = 0; i < n; ++i) CHECK(c.send(i) == send_status::sent);
      c.close();
      const auto guard = guard_of(300ms * slow_build, 1ms);
      auto t = spawn({.guard = guard}, [&] {
        int got = 0;
        const auto slowly = [&got] {
          ++got;
          spin_for(10ms * slow_build);
        };
        if (procs == 1) {
          while (c.recv()) slowly();
        } else {
          for ([[maybe_unused]] const int v : c) slowly();
        }
        return got;
      });
      CHECK(t.get() == n);
      CHECK(guard->steps().empty());
    });
  }
}

TEST_CASE("a G that puts into a one-to-one channel, each value slowly, does not hang" * leat::test::soak) {
  run_clean(with_procs(2), [] {
    channel<int> c(256, one_to_one);
    const auto guard = guard_of(300ms * slow_build, 1ms);
    auto t = spawn({.guard = guard}, [&] {
      for (int i = 0; i < 70; ++i) {
        CHECK(c.send(i) == send_status::sent);
        spin_for(10ms * slow_build);
      }
    });
    t.get();
    CHECK(guard->steps().empty());
    CHECK(c.size() == 70);
  });
}

// One that is stopped inside a sanitizer leaves its locks held: there it must have come to its loop by then.
constexpr bool sanitized = slow_build > 1;
constexpr nanoseconds soon = sanitized ? 50ms : 1ms;

TEST_CASE_TEMPLATE("the reader that follows a quarantined one misses nothing that it had not got", T, int,
                   std::string) {
  random_numbers random(seed_for("readers"));
  const int rounds = can_leave() ? 40 : 8;
  run_clean(
      [&] {
        runtime_options o = with_procs(2);
        o.max_quarantined = 100;
        return o;
      }(),
      [&] {
        channel<T> c(128, one_to_one);
        task_group writer;
        writer.go([&] {
          for (int i = 0; c.send(value_of<T>(i)) == send_status::sent; ++i) {
          }
        });
        int next = 0;
        bool in_order = true;
        for (int round = 0; round < rounds; ++round) {
          const int before_it_hangs = static_cast<int>(random.below(300));
          auto got = std::make_shared<std::atomic<int>>(next);
          auto t = spawn({.guard = guard_of(soon, soon)}, [&c, got, before_it_hangs, &in_order] {
            int expected = got->load();
            for (int i = 0; i < before_it_hangs; ++i) {
              const auto v = c.recv();
              if (!v) return;  // asked to stop
              in_order &= *v == value_of<T>(expected);
              got->store(++expected);
            }
            loops();
          });
          // A busy machine can make it look hung while it takes; then it is stopped there.
          (void)is_quarantined(t);
          next = got->load();
        }
        const auto v = c.recv();
        CHECK(in_order);
        REQUIRE(v);
        CHECK(*v == value_of<T>(next));
        writer.stop();
        c.close();
      });
}

namespace {

// Kept for good: one that is fenced may go on asking.
struct asked_about {
  channel<int> general{4}, copied{broadcast, 4}, single{4, one_to_one};
  in<int> reader{copied};

  static asked_about& make() {
    static std::array<asked_about*, 8> kept{};
    static std::size_t n = 0;
    return *(kept.at(n++) = new asked_about);
  }
};

}  // namespace

TEST_CASE("locks inside channels are not left held by a G that is quarantined while it asks for figures") {
  if (fiber::under_tsan) return;
  const int rounds =
      can_leave() ? 20 : 6;  // to find a place for the thread takes it a second on a busy machine
  runtime_options o = with_procs(2);
  o.max_quarantined = 100;
  run_clean(o, [&] {
    auto& [general, copied, single, reader] = asked_about::make();
    for (int i = 0; i < rounds; ++i) {
      auto t = spawn({.guard = guard_of(1ms, 1ms)},
                     [&general = general, &copied = copied, &reader = reader, &single = single] {
                       std::array<csp::waiting_g, 4> waiting;
                       for (;;) {
                         (void)general.base()->waiting(waiting);
                         (void)copied.base()->waiting(waiting);
                         (void)reader.base()->waiting(waiting);
                         (void)single.base()->waiting(waiting);
                         (void)general.stats();
                         (void)general.size();
                         (void)copied.stats();
                         (void)reader.size();
                         (void)single.stats();
                       }
                     });
      CHECK(is_quarantined(t));
      CHECK(general.send(i) == send_status::sent);
      CHECK(general.recv() == i);
      CHECK(copied.send(i) == send_status::sent);
      CHECK(reader.recv() == i);
      CHECK(single.stats().sent == 0);
    }
  });
}

// It need not come into the runtime, and does so for once when sysmon suspects it.
TEST_CASE("a G that takes a lock again and again does not hang, though it never waits for it") {
  run_clean(with_procs(2), [] {
    mutex lock;
    const auto guard = guard_of(1s, 1s);
    auto t = spawn({.guard = guard}, [&] {
      const auto until = std::chrono::steady_clock::now() + 2s;
      while (std::chrono::steady_clock::now() < until) {
        lock.lock();
        lock.unlock();
      }
    });
    t.get();
    CHECK(guard->steps().empty());
  });
}

// To ask is no sign of life, whatever sysmon suspects.
TEST_CASE("a G that waits for a channel in a loop, by asking for its size, is quarantined") {
  if (fiber::under_tsan) return;
  run_clean(with_procs(2), [] {
    auto& [general, copied, single, reader] = asked_about::make();
    const auto is_put_out = [](auto ask) {
      auto t = spawn({.guard = guard_of(5ms, 5ms)}, [ask] {
        while (ask()) {
        }
      });
      return is_quarantined(t);
    };
    CHECK(is_put_out([&c = general] { return c.size() == 0; }));
    CHECK(is_put_out([&c = general] { return !c.closed(); }));
    CHECK(is_put_out([&c = reader] { return c.size() == 0; }));
    CHECK(is_put_out([&c = single] { return c.size() == 0; }));
    const auto nobody_waits = [](auto& c) {
      std::array<csp::waiting_g, 4> waiting;
      return c.base()->waiting(waiting) == 0;
    };
    CHECK(is_put_out([&, &c = general] { return nobody_waits(c); }));
    CHECK(is_put_out([&, &c = copied] { return nobody_waits(c); }));
    CHECK(is_put_out([&, &c = reader] { return nobody_waits(c); }));
    CHECK(is_put_out([&, &c = single] { return nobody_waits(c); }));
  });
}

namespace {
// By round: one that is fenced may say so when its round is over.
std::array<std::atomic<bool>, 40> has_given_back;
}  // namespace

TEST_CASE("a mutex that a quarantined G has given back is free, and who waited for it was woken") {
  const int rounds = can_leave() ? 40 : 6;
  runtime_options o = with_procs(2);
  o.max_quarantined = 100;
  run_clean(o, [&] {
    for (int i = 0; i < rounds; ++i) {
      mutex lock;
      std::atomic<bool> enough{false};
      std::atomic<bool>& given_back = has_given_back[static_cast<std::size_t>(i)];
      given_back = false;
      // Waits for the mutex most of the time. On a machine that is busy the other may be quarantined while it
      // holds it: then it stays held, and this says nothing.
      auto other = spawn([&] {
        while (!enough.load()) {
          if (!lock.try_lock_until(5s)) {
            CHECK_FALSE(given_back.load());
            return;
          }
          lock.unlock();
          (void)sleep_for(10us);
        }
      });
      auto t = spawn({.guard = guard_of(soon, soon)}, [&] {
        lock.lock();
        spin_for(200us);
        lock.unlock();
        given_back = true;
        loops();
      });
      CHECK(is_quarantined(t));
      enough = true;
      other.get();
    }
  });
}

TEST_CASE("a member of a task group that is quarantined is a failure of the group, and ends it") {
  run_clean(with_procs(2), [] {
    const auto guard = guard_of(5ms, 5ms);
    task_group group;
    group.go({.guard = guard}, loops);
    bool stopped_too = false;
    group.go([&] { stopped_too = sleep_for(1h) == sleep_result::stopped; });
    CHECK_THROWS_AS(group.wait(), quarantined);
    CHECK(stopped_too);
    CHECK(eventually([&] { return guard->is_over(); }));
    group.go({.guard = guard}, [] {});
    CHECK(group.wait() == wait_status::done);
  });
}

TEST_CASE("a member that ends just at the limit is counted off once") {
  if (sanitized) return;
  random_numbers random(seed_for("members"));
  runtime_options o = with_procs(2);
  o.max_quarantined = 1000;
  run_clean(o, [&] {
    for (int i = 0; i < (can_leave() ? 200 : 20); ++i) {
      const auto spin = nanoseconds(static_cast<std::int64_t>(random.below(1'500'000)) + 2'000'000);
      task_group group;
      group.go({.guard = guard_of(1ms, 500us)}, [=] { spin_for(spin); });
      try {
        (void)group.wait();
      } catch (const quarantined&) {
      }
      CHECK(group.size() == 0);
    }
  });
}
