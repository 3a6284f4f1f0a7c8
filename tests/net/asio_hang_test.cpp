// SPDX-License-Identifier: BSL-1.0
//
// Gs that hang amid calls of Asio itself, whose locks are Asio's own: what is quarantined must not hold one,
// nor come to one later.
#include <signal.h>
#include <unistd.h>
#include <asio/post.hpp>
#include <asio/steady_timer.hpp>
#include <atomic>

#include <doctest/doctest.h>

#include <leat/leat.hpp>
#include <leat/net/await.hpp>
#include <leat/net/signals.hpp>
#include <leat/sched/quarantine.hpp>

#include "sched/fixture.hpp"
#include "sched/hang_guard.hpp"
#include "sched/overrun_fixture.hpp"
#include "support/child.hpp"
#include "support/send_self.hpp"

using namespace leat;
using namespace leat::sched::test;
using leat::sched::can_leave;
using leat::test::send_self;
using namespace std::chrono_literals;

namespace {

// Under the lock of the context or its reactor for much of the time.
void use_asio(asio::steady_timer& timer, nanoseconds time) {
  for (const std::int64_t until = now_ns() + time.count(); now_ns() < until;) {
    timer.expires_after(1h);
    timer.async_wait([](const asio::error_code&) {});
  }
}

}  // namespace

TEST_CASE("a G that is quarantined amid calls of Asio holds none of its locks") {
  leat::sched::prepare_quarantine();
  constexpr nanoseconds hang = 1ms, grace = 500us;
  random_numbers random(seed_for("amid calls of Asio"));
  int quarantined = 0;
  const int rounds = can_leave() ? 150 : 20;
  runtime_options o = with_procs(2);
  o.max_quarantined = 1000;
  run_clean(o, [&] {
    hang_guard guard("Asio is used on", 0);
    for (int round = 0; round < rounds; ++round) {
      // One that is quarantined may run on for a while: a generator for each.
      auto t = spawn({.guard = guard_of(hang, grace)}, [random = random_numbers(random.next())]() mutable {
        // Calls of Asio show that it lives; what hangs is between them. It comes back to Asio around the
        // time at which it is put out.
        asio::steady_timer timer(leat::io());
        for (;;) {
          spin_for(nanoseconds(static_cast<std::int64_t>(random.below(2'000'000)) + 1'500'000));
          use_asio(timer, 50us);
          leat::checkpoint();
        }
      });
      try {
        t.get();
      } catch (const leat::quarantined&) {
        ++quarantined;
      } catch (const leat::stopped&) {
      }
      asio::steady_timer timer(leat::io(), 100us);
      timer.async_wait(leat::await);
      guard.progress();
    }
  });
  MESSAGE(quarantined, " of ", rounds, " quarantined");
  CHECK(quarantined > 0);
}

// A handler runs on no G, so nobody can replace it; but it keeps nobody else from the network.
LEAT_CHILD(hangs_in_a_handler) {
  leat::run(with_procs(2), [] {
    std::atomic<bool> hangs{false};
    asio::post(leat::io(), [&hangs] {
      hangs = true;
      for (;;) ::usleep(1000);
    });
    while (!hangs) (void)leat::sleep_for(100us);
    const leat::in<int> asked = leat::signals(SIGUSR1);
    for (int i = 0; i < 20; ++i) {
      send_self(SIGUSR1);
      if (!asked.recv_until(leat::now() + 10s)) ::_exit(1);
    }
    ::_exit(0);
  });
}
TEST_CASE("a handler of Asio that never returns keeps no signal or stream from those who wait") {
  CHECK(leat::test::run_self("hangs_in_a_handler").exited(0));
}
