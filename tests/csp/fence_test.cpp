// SPDX-License-Identifier: BSL-1.0
//
// The protocol of sched/fence.hpp from outside: Gs that come back to their channels just when they are
// fenced, and the ones that follow them at once.
#include <atomic>
#include <condition_variable>
#include <cstdlib>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <doctest/doctest.h>

#include <leat/leat.hpp>
#include <leat/sched/quarantine.hpp>

#include "sched/fixture.hpp"
#include "sched/hang_guard.hpp"
#include "sched/overrun_fixture.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::sched::can_leave;
using namespace std::chrono_literals;

namespace {

const channel_options one_to_one{.writers = 1, .readers = 1};
constexpr nanoseconds hang = 1ms, grace = 500us;

thread_local nanoseconds to_spin;
// Below a frame of the C library a thread is not left: it comes back, and runs into the fence by itself.
void spin_below_qsort(nanoseconds time) {
  to_spin = time;
  int two[] = {2, 1};
  std::qsort(two, 2, sizeof two[0], [](const void*, const void*) {
    spin_for(to_spin);
    return 0;
  });
}

struct outcome {
  int quarantined = 0, stopped = 0, returned = 0;
};

}  // namespace

TEST_CASE("who comes back around the fence passes its value on before the one that follows, or not at all") {
  leat::sched::prepare_quarantine();
  for (const unsigned procs : {1u, 2u}) {
    for (const bool ring : {false, true}) {
      random_numbers random(seed_for("around the fence"));
      const int rounds = can_leave() ? 150 : 20;
      outcome all;
      runtime_options o = with_procs(procs);
      o.max_quarantined = 1000;
      run_clean(o, [&] {
        // Both ends of each are used by one at a time: a worker, then the one that follows it.
        channel<int> in = ring ? channel<int>(8, one_to_one) : channel<int>(8);
        channel<int> out = ring ? channel<int>(8, one_to_one) : channel<int>(8);
        std::vector<int> came;
        task_group others;
        others.go([&] {
          for (int i = 0; in.send(i) == send_status::sent; ++i) {
          }
        });
        others.go([&] {
          while (const std::optional<int> v = out.recv()) came.push_back(*v);
        });
        for (int round = 0; round < rounds; ++round) {
          const auto spin = nanoseconds(static_cast<std::int64_t>(random.below(2'000'000)) + 1'500'000);
          auto t = spawn({.guard = guard_of(hang, grace)}, [&in, &out, spin, below = random.one_in(2)] {
            for (;;) {
              const std::optional<int> v = in.recv();
              if (!v) return;
              below ? spin_below_qsort(spin) : spin_for(spin);
              if (out.send(*v) != send_status::sent) return;
            }
          });
          try {
            t.get();
            ++all.returned;
          } catch (const quarantined&) {
            ++all.quarantined;
          } catch (const stopped&) {
            ++all.stopped;
          }
        }
        CHECK(eventually([] { return stats().fenced == 0; }));
        in.close();
        out.close();
        others.stop();
        others.wait();
        // One that sends although it is out does so behind its successor. In order, none twice; of each
        // worker at most the one in hand is missing.
        int missing = 0;
        for (std::size_t i = 0; i < came.size(); ++i) {
          const int before = i == 0 ? -1 : came[i - 1];
          CHECK(came[i] > before);
          missing += came[i] - before - 1;
        }
        CHECK(missing <= rounds);
      });
      MESSAGE("procs ", procs, std::string(ring ? ", one to one: " : ": "), all.quarantined, " quarantined, ",
              all.stopped, " stopped, ", all.returned, " returned");
      CHECK(all.quarantined + all.stopped + all.returned == rounds);
      CHECK(all.quarantined > 0);
    }
  }
}

namespace {

// A value with code for its move, which waits once for somebody: for a lock, as it may be. As a rule nothing comes of
// that. Here the one who waits hangs meanwhile.
struct slow_to_move {
  explicit slow_to_move(int number) noexcept : n(number) {}
  slow_to_move(slow_to_move&& other) noexcept : n(other.n), waits(std::exchange(other.waits, false)) {
    if (!waits) return;
    waits = false;
    moving = true;
    std::unique_lock hold(lock);
    may_go_on.wait(hold, [] { return goes_on; });
    moving = false;
  }
  slow_to_move& operator=(slow_to_move&& other) noexcept {
    n = other.n;
    return *this;
  }

  static inline std::mutex lock;
  static inline std::condition_variable may_go_on;
  static inline bool goes_on = false;
  static inline std::atomic<bool> moving{false};
  int n;
  bool waits = false;
};

void let_go_on(bool now) {
  {
    const std::lock_guard hold(slow_to_move::lock);
    slow_to_move::goes_on = now;
  }
  slow_to_move::may_go_on.notify_all();
}

}  // namespace

TEST_CASE(
    "nobody is put behind the fence amid the move of a value into a ring, whose slot the next one uses") {
  leat::sched::prepare_quarantine();
  log_catcher log;
  run_clean(with_procs(2), [&] {
    let_go_on(false);
    const channel<slow_to_move> c(8, one_to_one);
    auto hangs = spawn({.guard = guard_of(hang, grace)}, [&] {
      slow_to_move first(1), second(2);
      (void)c.send(std::move(first));  // finds room for eight
      second.waits = true;
      (void)c.send(std::move(second));
      spin_for(1h);
    });
    CHECK(eventually([&] { return slow_to_move::moving.load(); }));
    // In builds with debug checks it may have come in for that, and then nobody tries.
    if (LEAT_DEBUG_CHECKS_ON == 0) CHECK(eventually([&] { return log.said("is not quarantined yet"); }));
    CHECK(slow_to_move::moving);
    CHECK(stats().quarantined == 0);
    let_go_on(true);
    CHECK_THROWS_AS(hangs.get(), quarantined);
    CHECK_FALSE(slow_to_move::moving);
    // What it had sent has been sent, and the one after it goes on behind that.
    auto next = spawn([&] { (void)c.send(slow_to_move(3)); });
    for (const int n : {1, 2, 3}) {
      const auto v = c.recv();
      REQUIRE(v);
      CHECK(v->n == n);
    }
    next.get();
  });
}
