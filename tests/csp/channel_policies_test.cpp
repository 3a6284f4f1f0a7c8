// SPDX-License-Identifier: BSL-1.0
// What a send does that finds no room, and what is counted.
#include <memory>

#include "csp/fragile.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

// --- what a failed send does -----------------------------------------------------------------------------

TEST_CASE("a send that fails gives the value back: full, timeout, stopped, closed") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<std::unique_ptr<int>> c(1, o);
    auto all = spawn([=] {
      CHECK(c.send(std::make_unique<int>(1)) == send_status::sent);
      auto v = std::make_unique<int>(2);
      CHECK(c.try_send(v) == send_status::full);
      REQUIRE(v);
      CHECK(c.try_send(std::move(v)) == send_status::full);
      REQUIRE(v);
      CHECK(c.send_until(std::move(v), 1ms) == send_status::timeout);
      REQUIRE(v);
      CHECK(c.send_until(std::move(v), -1ms) == send_status::timeout);
      REQUIRE(v);
      return 0;
    });
    all.get();
    const auto [s, kept] = stopped_in(wait_reason::send, [&] {
      auto v = std::make_unique<int>(3);
      const send_status status = c.send(std::move(v));
      // Again, now that it has been asked: at once.
      CHECK(c.send(std::move(v)) == send_status::stopped);
      return std::pair(status, v ? *v : -1);
    });
    CHECK(s == send_status::stopped);
    CHECK(kept == 3);
    c.close();
    auto v = std::make_unique<int>(4);
    CHECK(c.send(std::move(v)) == send_status::closed);
    REQUIRE(v);
    CHECK(c.stats().sent == 1);
    CHECK(adds_up(c));
  });
}

TEST_CASE("a send that fails gives a value back whose move may throw") {
  at_procs([] {
    const channel<fragile> c(1);
    CHECK(c.send(fragile(1)) == send_status::sent);
    fragile v(2);
    CHECK(c.try_send(v) == send_status::full);
    CHECK(v.value == 2);
    CHECK(c.send_until(std::move(v), 1ms) == send_status::timeout);
    CHECK(v.value == 2);
    c.close();
    CHECK(c.send(std::move(v)) == send_status::closed);
    CHECK(v.value == 2);
  });
  CHECK(fragile::live == 0);
}

// --- policies --------------------------------------------------------------------------------------------

TEST_CASE("drop_newest drops what does not fit, and counts it") {
  at_procs([] {
    for (const bool single : {false, true}) {
      const channel<counted> c(
          2, single ? single_options(full::drop_newest) : policy_options(full::drop_newest));
      for (int i = 0; i < 5; ++i) {
        counted v(i);
        CHECK(c.send(std::move(v)) == (i < 2 ? send_status::sent : send_status::dropped));
        CHECK(v.value == (i < 2 ? -1 : i));
        CHECK(adds_up(c));
      }
      CHECK(c.stats().sent == 5);
      CHECK(c.stats().dropped == 3);
      CHECK(c.recv()->value == 0);
      CHECK(c.try_send(counted(9)) == send_status::sent);
      CHECK(c.recv()->value == 1);
      CHECK(c.recv()->value == 9);
      CHECK(!c.try_recv());
      CHECK(c.stats().received == 3);
      CHECK(adds_up(c));
    }
    CHECK(counted::live == 0);
  });
}

TEST_CASE("drop_oldest keeps the newest, and counts what it pushed out") {
  at_procs([] {
    {
      const channel<counted> c(2, policy_options(full::drop_oldest));
      for (int i = 0; i < 5; ++i) {
        CHECK(c.send(counted(i)) == send_status::sent);
        CHECK(adds_up(c));
      }
      CHECK(counted::live == 2);
      CHECK(c.stats().sent == 5);
      CHECK(c.stats().dropped == 3);
      CHECK(c.recv()->value == 3);
      CHECK(c.recv()->value == 4);
      CHECK(!c.try_recv());
      CHECK(adds_up(c));
    }
    CHECK(counted::live == 0);
  });
}

TEST_CASE("latest keeps the last value, whatever capacity was asked for") {
  at_procs([] {
    for (const std::size_t capacity : {0u, 1u, 10u}) {
      const channel<counted> c(capacity, policy_options(full::latest));
      CHECK(c.capacity() == 1);
      for (int i = 0; i < 4; ++i) CHECK(c.send(counted(i)) == send_status::sent);
      CHECK(c.size() == 1);
      CHECK(c.recv()->value == 3);
      CHECK(!c.try_recv());
      CHECK(c.stats().dropped == 3);
      CHECK(adds_up(c));
    }
    CHECK(counted::live == 0);
  });
}

TEST_CASE("fail says full at once and gives the value back; it is not counted as sent") {
  at_procs([] {
    for (const bool single : {false, true}) {
      const channel<std::unique_ptr<int>> c(1,
                                            single ? single_options(full::fail) : policy_options(full::fail));
      CHECK(c.send(std::make_unique<int>(1)) == send_status::sent);
      auto v = std::make_unique<int>(2);
      CHECK(c.send(std::move(v)) == send_status::full);
      REQUIRE(v);
      CHECK(c.send_until(std::move(v), 1h) == send_status::full);
      REQUIRE(v);
      CHECK(c.stats().sent == 1);
      CHECK(c.stats().dropped == 0);
      CHECK(adds_up(c));
      CHECK(**c.recv() == 1);
      CHECK(c.send(std::move(v)) == send_status::sent);
      CHECK(!v);
      CHECK(**c.recv() == 2);
    }
  });
}

TEST_CASE("policies without a buffer: a rendezvous with nobody there drops, or fails") {
  at_procs([] {
    for (const auto policy : {full::drop_newest, full::drop_oldest}) {
      const channel<int> c(0, policy_options(policy));
      CHECK(c.send(1) == send_status::dropped);
      CHECK(c.stats().dropped == 1);
      CHECK(adds_up(c));
    }
    const channel<int> c(0, policy_options(full::fail));
    CHECK(c.send(1) == send_status::full);
    whereabouts w;
    auto t = spawn([&, c] {
      w.here();
      return c.recv();
    });
    CHECK(w.will_park(wait_reason::receive));
    CHECK(c.send(2) == send_status::sent);
    CHECK(t.get() == 2);
  });
}

TEST_CASE(
    "under every policy nothing overtakes, and the ledger adds up beside running senders and receivers") {
  at_procs([] {
    for (const auto policy : {full::block, full::drop_newest, full::drop_oldest, full::latest, full::fail}) {
      for (const bool single : {false, true}) {
        const int n = scaled(3000);
        const channel<int> c(2, single ? single_options(policy) : policy_options(policy));
        auto sender = spawn([=] {
          std::uint64_t sent = 0, dropped = 0, refused = 0;
          for (int i = 0; i < n; ++i) {
            switch (c.send(i)) {
              case send_status::sent: ++sent; break;
              case send_status::dropped: ++dropped; break;
              case send_status::full: ++refused; break;
              default: FAIL_CHECK("an open channel");
            }
            if (i % 7 == 0) yield();
          }
          c.close();
          CHECK(sent + dropped + refused == static_cast<std::uint64_t>(n));
          CHECK(c.stats().sent == sent + dropped);
          if (policy == full::block || policy == full::fail) CHECK(c.stats().dropped == 0);
          if (policy != full::fail) CHECK(refused == 0);
          if (policy == full::drop_newest) CHECK(c.stats().dropped == dropped);
        });
        int last = -1;
        std::uint64_t received = 0;
        for (const int v : c) {
          CHECK(v > last);
          last = v;
          ++received;
        }
        sender.get();
        if (policy == full::latest || policy == full::drop_oldest) CHECK(last == n - 1);
        if (policy == full::block) CHECK(received == static_cast<std::uint64_t>(n));
        CHECK(c.stats().received == received);
        CHECK(c.stats().left == 0);
        CHECK(adds_up(c));
      }
    }
  });
}

// --- counters --------------------------------------------------------------------------------------------

TEST_CASE("high water is the most that was in the channel at once") {
  at_procs([] {
    const channel<int> c(10);
    for (int i = 0; i < 4; ++i) c.send(i);
    for (int i = 0; i < 3; ++i) CHECK(c.recv());
    c.send(4);
    CHECK(c.stats().high_water == 4);
    const channel<int> ring(3, single_options());
    for (int i = 0; i < 3; ++i) ring.send(i);
    CHECK(ring.try_send(3) == send_status::full);
    for (int i = 0; i < 3; ++i) CHECK(ring.recv());
    CHECK(ring.stats().high_water == 3);
  });
}

TEST_CASE("the time that each side was blocked is counted") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(1, o);
    CHECK(c.stats().recv_blocked == 0ns);
    CHECK(c.stats().send_blocked == 0ns);
    // By the coarse clock, which moves while something runs: until it says that a wait has lasted.
    const auto grows = [&](auto blocked, auto wait_once) {
      CHECK(eventually([&] {
        wait_once();
        return blocked() > 0ns;
      }));
    };
    std::optional<int> v;
    grows([&] { return c.stats().recv_blocked; }, [&] { (void)c.recv(v, 20ms); });
    CHECK(c.stats().send_blocked == 0ns);
    c.send(1);
    const nanoseconds before = c.stats().recv_blocked;
    grows([&] { return c.stats().send_blocked; }, [&] { (void)c.send_until(2, 20ms); });
    CHECK(c.stats().recv_blocked == before);
    CHECK(c.stats().send_blocked < 1h);
  });
}
