// SPDX-License-Identifier: BSL-1.0
// What select promises beyond Go: its order, handlers, spans of cases, policies and stops.
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

namespace {
constexpr auto nothing = [] {};
}

// --- order -----------------------------------------------------------------------------------------------

TEST_CASE("select_ordered takes the first case that is ready, always") {
  at_procs([] {
    const channel<int> a(1), b(1), c(1);
    for (int round = 0; round < 1000; ++round) {
      for (const auto& x : {a, b, c}) (void)x.try_send(round);
      CHECK(select_ordered(on_recv(a, nothing), on_recv(b, nothing), on_recv(c, nothing)) == 0);
      CHECK(select_ordered(on_recv(a, nothing), on_recv(b, nothing), on_recv(c, nothing)) == 1);
      CHECK(select_ordered(on_recv(a, nothing), on_recv(b, nothing), on_recv(c, nothing)) == 2);
    }
    std::vector<select_case> cases;
    for (const auto& x : {a, b, c}) {
      x.send(1);
      cases.emplace_back(on_recv(x, nothing));
    }
    for (int i = 0; i < 3; ++i) CHECK(select_ordered(cases) == i);
  });
}

TEST_CASE("select_ordered waits like select when nothing is ready") {
  at_procs([] {
    const channel<int> a, b;
    whereabouts w;
    auto t = spawn([&, a, b] {
      w.here();
      return select_ordered(on_recv(a, nothing), on_recv(b, nothing));
    });
    CHECK(w.will_park(wait_reason::select));
    CHECK(b.send(1) == send_status::sent);
    CHECK(t.get() == 1);
  });
}

// --- handlers --------------------------------------------------------------------------------------------

TEST_CASE("a handler takes the value, an optional of it, nothing, or whatever fits") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<std::string> c(1, o);
    std::string got;
    const auto put = [&] { CHECK(c.send("x") == send_status::sent); };
    put();
    CHECK(select(on_recv(c, [&](std::string v) { got = v + "1"; })) == 0);
    CHECK(got == "x1");
    put();
    CHECK(select(on_recv(c, [&](const std::string& v) { got = v + "2"; })) == 0);
    CHECK(got == "x2");
    put();
    CHECK(select(on_recv(c, [&](std::string&& v) { got = std::move(v) + "3"; })) == 0);
    CHECK(got == "x3");
    put();
    CHECK(select(on_recv(c, [&](std::optional<std::string> v) { got = v.value() + "4"; })) == 0);
    CHECK(got == "x4");
    put();
    CHECK(select(on_recv(c, [&](const std::optional<std::string>& v) { got = v.value() + "5"; })) == 0);
    CHECK(got == "x5");
    put();
    CHECK(select(on_recv(c, [&] { got = "6"; })) == 0);
    CHECK(got == "6");
    put();
    CHECK(select(on_recv(c, [&](auto&& v) { got = v + "7"; })) == 0);
    CHECK(got == "x7");
    put();
    CHECK(select(on_recv(c, [&](auto v) mutable { got = v + "8"; })) == 0);
    CHECK(got == "x8");
    c.close();
    CHECK(select(on_recv(c, [&](auto&&) { FAIL_CHECK("a generic handler is not told of a close"); })) ==
          select_closed);
    CHECK(select(on_recv(c, [&] { FAIL_CHECK("nor is one that takes nothing"); })) == select_closed);
    bool told = false;
    CHECK(select(on_recv(c, [&](std::optional<std::string> v) { told = !v; })) == 0);
    CHECK(told);
  });
}

TEST_CASE("a move-only value reaches the handler, and a move-only handler is fine") {
  at_procs([] {
    const channel<std::unique_ptr<int>> c(1);
    c.send(std::make_unique<int>(3));
    std::unique_ptr<int> got;
    CHECK(select(on_recv(
              c, [&, own = std::make_unique<int>(1)](std::unique_ptr<int> v) { got = std::move(v); })) == 0);
    REQUIRE(got);
    CHECK(*got == 3);
    CHECK(select(on_send(c, std::move(got), nothing)) == 0);
    CHECK(!got);
    CHECK(**c.recv() == 3);
  });
}

TEST_CASE("a handler that throws: the exception comes out of select, and the value was received") {
  at_procs([] {
    struct trouble {};
    const channel<int> c(2);
    c.send(1);
    CHECK_THROWS_AS(select(on_recv(c, [](int) { throw trouble{}; })), trouble);
    CHECK(c.size() == 0);
    CHECK(c.stats().received == 1);
    CHECK(select(on_send(c, 2, nothing)) == 0);
    CHECK(c.recv() == 2);
  });
}

TEST_CASE("a handler may use the same channels, select and park") {
  at_procs([] {
    const channel<int> a(2), b;
    a.send(1);
    a.send(2);
    auto t = spawn([=] { b.send(7); });
    int inner = -1;
    CHECK(select(on_recv(a, [&](int v) {
            CHECK(v == 1);
            (void)sleep_for(1ms);
            CHECK(select(on_recv(a, [&](int w) { inner = w; })) == 0);
            CHECK(b.recv() == 7);
          })) == 0);
    CHECK(inner == 2);
    t.get();
  });
}

TEST_CASE("a send's handler that takes a status is told: sent, closed, dropped") {
  at_procs([] {
    const channel<int> c(1), drops(1, policy_options(full::drop_newest));
    send_status s{};
    const auto keep = [&](send_status x) { s = x; };
    CHECK(select(on_send(c, 1, keep)) == 0);
    CHECK(s == send_status::sent);
    c.close();
    CHECK(select(on_send(c, 2, keep)) == 0);
    CHECK(s == send_status::closed);
    CHECK(select(on_send(c, 2, nothing)) == select_closed);
    CHECK(select(on_send(drops, 1, keep)) == 0);
    CHECK(s == send_status::sent);
    CHECK(select(on_send(drops, 2, keep)) == 0);
    CHECK(s == send_status::dropped);
    CHECK(drops.stats().dropped == 1);
    CHECK(adds_up(drops));
  });
}

// --- spans -----------------------------------------------------------------------------------------------

TEST_CASE("a select over a span of 0, 1, 2 and 64 cases") {
  at_procs([] {
    std::vector<select_case> none;
    CHECK(select(none) == select_closed);
    CHECK(select_ordered(none) == select_closed);
    for (const std::size_t n : {1u, 2u, 64u}) {
      std::vector<channel<std::size_t>> channels;
      std::vector<select_case> cases;
      std::vector<int> seen(n);
      for (std::size_t i = 0; i < n; ++i) {
        channels.emplace_back(i % 2);
        cases.emplace_back(on_recv(channels.back(), [&seen, i](std::size_t v) {
          CHECK(v == i);
          ++seen[i];
        }));
      }
      auto sender = spawn([channels] {
        for (int round = 0; round < 20; ++round)
          for (std::size_t i = 0; i < channels.size(); ++i) CHECK(channels[i].send(i) == send_status::sent);
        for (const auto& c : channels) c.close();
      });
      int last = 0;
      while ((last = select(cases)) >= 0) {
      }
      CHECK(last == select_closed);
      for (const int times : seen) CHECK(times == 20);
      sender.get();
    }
  });
}

TEST_CASE("a span with sends, a timeout and an otherwise, used again and again") {
  at_procs([] {
    const channel<std::unique_ptr<int>> packed(1);
    packed.send(std::make_unique<int>(1));
    {
      std::vector<select_case> cases;
      cases.emplace_back(on_send(packed, std::make_unique<int>(2), nothing));
      cases.emplace_back(otherwise(nothing));
      for (int i = 0; i < 5; ++i) CHECK(select(cases) == 1);
      CHECK(**packed.recv() == 1);
      CHECK(select(cases) == 0);
      CHECK(**packed.recv() == 2);
    }
    std::vector<select_case> timed;
    timed.emplace_back(on_recv(packed, nothing));
    timed.emplace_back(on_timeout(1ms, nothing));  // a moment, not a period: past from the second time on
    CHECK(select(timed) == 1);
    CHECK(select(timed) == 1);
  });
}

// --- policies --------------------------------------------------------------------------------------------

TEST_CASE("a send case under a dropping policy is always ready; under `fail` it waits for room") {
  at_procs([] {
    for (const auto policy : {full::drop_newest, full::drop_oldest, full::latest}) {
      const channel<int> c(1, policy_options(policy));
      for (int i = 0; i < 3; ++i) CHECK(select(on_send(c, i, nothing), otherwise(nothing)) == 0);
      CHECK(c.recv() == (policy == full::drop_newest ? 0 : 2));
      CHECK(c.stats().dropped == 2);
      CHECK(adds_up(c));
    }
    const channel<int> c(1, policy_options(full::fail));
    c.send(1);
    CHECK(select(on_send(c, 2, nothing), otherwise(nothing)) == 1);
    whereabouts w;
    auto t = spawn([&, c] {
      w.here();
      return select(on_send(c, 2, nothing));
    });
    CHECK(w.will_park(wait_reason::select));
    CHECK(c.recv() == 1);
    CHECK(t.get() == 0);
    CHECK(c.recv() == 2);
    CHECK(adds_up(c));
  });
}

// --- mixed flavours, stops -------------------------------------------------------------------------------

TEST_CASE("one select over all flavours at once loses nothing") {
  at_procs([] {
    const int n = scaled(500);
    const channel<int> direct, buffered(2), ring(2, single_options());
    const channel<int> last(1, policy_options(full::latest));
    task_group group;
    for (const auto& c : {direct, buffered, ring, last})
      group.go([=] {
        for (int i = 0; i < n; ++i) CHECK(c.send(i) == send_status::sent);
        c.close();
      });
    int got[4] = {}, previous[4] = {-1, -1, -1, -1};
    const auto mark = [&](int k) {
      return [&, k](int v) {
        CHECK(v > previous[k]);
        previous[k] = v;
        ++got[k];
      };
    };
    while (select(on_recv(direct, mark(0)), on_recv(buffered, mark(1)), on_recv(ring, mark(2)),
                  on_recv(last, mark(3))) >= 0) {
    }
    for (int k = 0; k < 3; ++k) CHECK(got[k] == n);
    CHECK(previous[3] == n - 1);
    CHECK(group.wait() == wait_status::done);
    for (const auto& c : {direct, buffered, ring, last}) CHECK(adds_up(c));
    CHECK(last.stats().received == static_cast<std::uint64_t>(got[3]));
  });
}

TEST_CASE("a select of a stopped G says so at once, with an otherwise it goes on") {
  at_procs([] {
    const channel<int> c(1);
    auto t = spawn([=] {
      CHECK(eventually([] { return stop_requested(); }));
      CHECK(select(on_recv(c, nothing)) == select_stopped);
      CHECK(select(on_recv(c, nothing), on_timeout(1h, nothing)) == select_stopped);
      CHECK(select(on_recv(c, nothing), otherwise(nothing)) == 1);
      return 0;
    });
    t.request_stop();
    CHECK(t.get() == 0);
  });
}

TEST_CASE("a stop ends a loop of selects that always finds something ready") {
  at_procs([] {
    const channel<int> c(1);
    std::atomic<bool> looping{false};
    auto t = spawn([&, c] {
      int last = 0;
      for (int i = 0; i < 1'000'000 && last >= 0; ++i) {
        last = select(on_send(c, 1, nothing), on_recv(c, nothing));
        looping = true;
        if (i % 16 == 0) yield();
      }
      return last;
    });
    CHECK(eventually([&] { return looping.load(); }));
    t.request_stop();
    CHECK(t.get() == select_stopped);
  });
}

TEST_CASE("stops that race with values in selects: each value is received once or still there") {
  at_procs([] {
    for (int round = 0; round < scaled(1000); ++round) {
      const channel<std::unique_ptr<int>> a, b(1);
      auto receiver = spawn([=] {
        int got = 0;
        while (select(on_recv(a, [&](std::unique_ptr<int>) { ++got; }),
                      on_recv(b, [&](std::unique_ptr<int>) { ++got; })) >= 0) {
        }
        return got;
      });
      auto sender = spawn([=] {
        int sent = 0;
        for (int i = 0; i < 3; ++i) {
          auto v = std::make_unique<int>(i);
          const int r = select(on_send(a, std::move(v), nothing), on_send(b, std::move(v), nothing));
          CHECK((r >= 0) == !v);
          if (r < 0) break;
          ++sent;
        }
        return sent;
      });
      for (int i = 0; i < round % 4; ++i) yield();
      receiver.request_stop();
      if (round % 2 == 0) yield();
      sender.request_stop();
      const int got = receiver.get();
      const int sent = sender.get();
      CHECK(sent == got + static_cast<int>(b.size()));
      CHECK(a.size() == 0);
      CHECK(adds_up(a));
      CHECK(adds_up(b));
    }
  });
}

TEST_CASE("a case that is kept keeps its channel") {
  run_clean(with_procs(1), [] {
    std::vector<select_case> cases;
    cases.emplace_back(on_recv(leat::after(std::chrono::milliseconds(1)), nothing));
    {
      channel<int> c(1);
      (void)c.send(7);
      c.close();
      cases.emplace_back(on_recv(c, [](std::optional<int>) {}));
    }
    CHECK(select_ordered(std::span(cases).subspan(1)) == 0);
    CHECK(select(std::span(cases).first(1)) == 0);
  });
}
