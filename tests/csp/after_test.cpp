// SPDX-License-Identifier: BSL-1.0
// An after that is cancelled or reset.
#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

TEST_CASE("an after can be cancelled, once, and who waits for it is told") {
  at_procs([] {
    const after late(1h);
    whereabouts w;
    auto t = spawn([&] {
      w.here();
      return late.recv().has_value();
    });
    CHECK(w.will_park(sched::wait_reason::receive));
    CHECK(late.cancel());
    CHECK_FALSE(t.get());
    CHECK_FALSE(late.cancel());
    CHECK(late.closed());
  });
}

TEST_CASE("an after that is reset ticks at its new time, also for one who waits") {
  at_procs([] {
    const after a(1h);
    whereabouts w;
    auto t = spawn([&] {
      w.here();
      return a.recv().has_value();
    });
    CHECK(w.will_park(sched::wait_reason::receive));
    CHECK(a.reset(1ms));
    CHECK(t.get());
    // It is over, and can begin again.
    CHECK(a.closed());
    CHECK_FALSE(a.reset(1ms));
    CHECK(a.recv());
    CHECK_FALSE(a.reset(1h));
    CHECK(a.reset(2h));
    CHECK(a.cancel());
    CHECK_FALSE(a.reset(1ms));
    CHECK(select(on_recv(a, [](tick) {}), on_timeout(1h, [] {})) == 0);
  });
}

TEST_CASE("an after that is put off before it was due does not tick at its old time") {
  at_procs([] {
    const after a(1ms);
    const time_point begin = now();
    CHECK(a.reset(20ms));
    CHECK(a.recv());
    CHECK(now() - begin >= 20ms);
  });
}
