// SPDX-License-Identifier: BSL-1.0
// Go's select, one behaviour a case. Selects that meet are in conformance_meeting_test.cpp.
#include <cmath>
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

namespace {

constexpr auto nothing = [] {};

// Each of k equally likely cases over n rounds is binomial(n, 1/k). By Bernstein's inequality the chance to
// be more than nine standard deviations off is below 1e-12 for every n and k used here (the worst is 1000
// rounds of 16 cases, under ThreadSanitizer), so all cases of a run together raise a false alarm less than
// once in 1e9 runs.
void check_fair(const std::vector<int>& taken) {
  const double k = static_cast<double>(taken.size());
  double n = 0;
  for (const int t : taken) n += t;
  const double slack = 9 * std::sqrt(n * (1 / k) * (1 - 1 / k));
  for (const int t : taken) {
    CHECK(t > n / k - slack);
    CHECK(t < n / k + slack);
  }
}

}  // namespace

// --- nil -------------------------------------------------------------------------------------------------

TEST_CASE("go: a nil channel in a select is never ready") {
  at_procs([] {
    const in<int> none;
    const out<int> nowhere;
    const channel<int> c(1);
    for (int i = 0; i < 50; ++i) {
      c.send(i);
      const int r = select(on_recv(none, [](int) { FAIL_CHECK("received from nil"); }),
                           on_send(nowhere, 1, [] { FAIL_CHECK("sent to nil"); }),
                           on_recv(c, [&](int v) { CHECK(v == i); }));
      CHECK(r == 2);
    }
    CHECK(select(on_recv(none, nothing), on_timeout(1ms, nothing)) == 1);
    CHECK(select(on_send(nowhere, 1, nothing), on_timeout(1ms, nothing)) == 1);
    CHECK(select(on_recv(none, nothing), on_send(nowhere, 1, nothing), otherwise(nothing)) == 2);
  });
}

TEST_CASE("go: a select over nil channels alone can never run, and says so instead of blocking for ever") {
  at_procs(
      [] { CHECK(select(on_recv(in<int>(), nothing), on_send(out<int>(), 1, nothing)) == select_closed); });
}

TEST_CASE("go: setting an end to nil takes its case out of a loop of selects") {
  at_procs([] {
    const channel<int> a(2), b(2);
    auto sender = spawn([=] {
      for (int i = 0; i < 30; ++i) a.send(i);
      a.close();
      for (int i = 0; i < 30; ++i) b.send(i);
      b.close();
    });
    in<int> from_a = a, from_b = b;
    int got = 0, ends = 0;
    while (from_a || from_b) {
      select(on_recv(from_a,
                     [&](std::optional<int> v) {
                       if (v) {
                         ++got;
                       } else {
                         from_a = {};
                         ++ends;
                       }
                     }),
             on_recv(from_b, [&](std::optional<int> v) {
               if (v) {
                 ++got;
               } else {
                 from_b = {};
                 ++ends;
               }
             }));
    }
    CHECK(got == 60);
    CHECK(ends == 2);
    sender.get();
  });
}

// --- fairness --------------------------------------------------------------------------------------------

TEST_CASE("go: a select whose cases are all ready takes each equally often, over 10000 rounds") {
  at_procs([] {
    const channel<int> a(1), b(1), c(1), d(1);
    std::vector<int> taken(4);
    for (int round = 0; round < 10000; ++round) {
      for (const auto& x : {a, b, c, d}) (void)x.try_send(1);
      const int i =
          select(on_recv(a, nothing), on_recv(b, nothing), on_recv(c, nothing), on_recv(d, nothing));
      REQUIRE(i >= 0);
      ++taken[static_cast<std::size_t>(i)];
    }
    check_fair(taken);
  });
}

TEST_CASE("go: a select is fair between sends and receives, and between few and many cases") {
  at_procs([] {
    for (const std::size_t k : {2u, 3u, 7u, 16u}) {
      std::vector<channel<int>> channels;
      std::vector<int> taken(k);
      for (std::size_t i = 0; i < k; ++i) channels.emplace_back(1);
      for (int round = 0; round < scaled(10000); ++round) {
        std::vector<select_case> cases;
        for (std::size_t i = 0; i < k; ++i) {
          if (i % 2 == 0) {
            (void)channels[i].try_send(1);
            cases.emplace_back(on_recv(channels[i], nothing));
          } else {
            (void)channels[i].try_recv();
            cases.emplace_back(on_send(channels[i], 1, nothing));
          }
        }
        const int i = select(cases);
        REQUIRE(i >= 0);
        ++taken[static_cast<std::size_t>(i)];
      }
      check_fair(taken);
    }
  });
}

TEST_CASE("go: the same channel twice in a select: both cases run, each as often") {
  at_procs([] {
    const channel<int> c(1);
    std::vector<int> taken(2);
    for (int round = 0; round < 10000; ++round) {
      c.send(round);
      const int i = select(on_recv(c, [&](int v) { CHECK(v == round); }),
                           on_recv(c, [&](int v) { CHECK(v == round); }));
      REQUIRE(i >= 0);
      ++taken[static_cast<std::size_t>(i)];
    }
    check_fair(taken);
  });
}

TEST_CASE("go: the same channel twice in a select that waits: one value, one case") {
  at_procs([] {
    const channel<int> c;
    auto sender = spawn([=] {
      for (int i = 0; i < scaled(2000); ++i) CHECK(c.send(i) == send_status::sent);
      c.close();
    });
    int next = 0;
    const auto take = [&](int v) { CHECK(v == next++); };
    while (select(on_recv(c, take), on_recv(c, take), on_recv(c, take)) >= 0) {
    }
    CHECK(next == scaled(2000));
    sender.get();
    CHECK(adds_up(c));
  });
}

TEST_CASE("a single channel twice in a select: one value, one case") {
  at_procs([] {
    const channel<int> c(1, single_options());
    auto sender = spawn([=] {
      for (int i = 0; i < scaled(2000); ++i) CHECK(c.send(i) == send_status::sent);
      c.close();
    });
    int next = 0;
    const auto take = [&](int v) { CHECK(v == next++); };
    while (select(on_recv(c, take), on_recv(c, take)) >= 0) {
    }
    CHECK(next == scaled(2000));
    sender.get();
    CHECK(adds_up(c));
  });
}

// --- readiness -------------------------------------------------------------------------------------------

TEST_CASE("go: a select with a default never waits") {
  at_procs([] {
    const channel<int> empty(1), packed(1), direct;
    packed.send(1);
    CHECK(select(on_recv(empty, nothing), on_send(packed, 2, nothing), on_recv(direct, nothing),
                 on_send(direct, 1, nothing), otherwise(nothing)) == 4);
    empty.send(7);
    CHECK(select(on_recv(empty, [](int v) { CHECK(v == 7); }), otherwise(nothing)) == 0);
    CHECK(packed.size() == 1);
  });
}

TEST_CASE("go: a select waits for whichever comes first, send or receive, and the rest is withdrawn") {
  at_procs([] {
    const channel<int> a, b, c(1), d(1);
    d.send(0);
    for (int which = 0; which < 4; ++which) {
      whereabouts w;
      auto t = spawn([&, a, b, c, d] {
        w.here();
        return select(on_recv(a, [](int v) { CHECK(v == 40); }), on_send(b, 41, nothing),
                      on_recv(c, [](int v) { CHECK(v == 42); }), on_send(d, 43, nothing));
      });
      CHECK(w.will_park(wait_reason::select));
      switch (which) {
        case 0: CHECK(a.try_send(40) == send_status::sent); break;
        case 1: CHECK(b.try_recv() == 41); break;
        case 2: CHECK(c.try_send(42) == send_status::sent); break;
        case 3:
          CHECK(d.try_recv() == 0);
          CHECK(d.try_recv() == 43);
          break;
      }
      CHECK(t.get() == which);
      // Nobody is left in any queue: an unbuffered partner would be found, a buffer would change.
      CHECK(a.try_send(1) == send_status::full);
      CHECK(!b.try_recv());
      CHECK(!c.try_recv());
      CHECK(d.size() == (which == 3 ? 0u : 1u));
    }
  });
}

TEST_CASE("go: a send case that does not run keeps its value") {
  at_procs([] {
    const channel<std::unique_ptr<int>> packed(1);
    packed.send(std::make_unique<int>(1));
    auto v = std::make_unique<int>(2);
    CHECK(select(on_send(packed, std::move(v), nothing), otherwise(nothing)) == 1);
    REQUIRE(v);
    CHECK(select(on_send(packed, std::move(v), nothing), on_timeout(1ms, nothing)) == 1);
    REQUIRE(v);
    packed.close();
    CHECK(select(on_send(packed, std::move(v), [](send_status s) { CHECK(s == send_status::closed); })) == 0);
    REQUIRE(v);
    CHECK(*v == 2);
  });
}

TEST_CASE("go: a select with a send and a receive on one buffered channel makes progress alone") {
  at_procs([] {
    const channel<int> c(3);
    int in_it = 0;
    for (int i = 0; i < scaled(5000); ++i) {
      const int r = select(on_send(c, i, [&] { ++in_it; }), on_recv(c, [&](int) { --in_it; }));
      CHECK(r >= 0);
      CHECK(in_it >= 0);
      CHECK(in_it <= 3);
      CHECK(c.size() == static_cast<std::size_t>(in_it));
    }
    CHECK(adds_up(c));
  });
}

// --- closed ----------------------------------------------------------------------------------------------

TEST_CASE("go: a closed channel is always ready to receive in a select that wants to know") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(1, o);
    c.send(1);
    c.close();
    std::optional<int> got;
    CHECK(select(on_recv(c, [&](std::optional<int> v) { got = v; })) == 0);
    CHECK(got == 1);
    for (int i = 0; i < 3; ++i) {
      CHECK(select(on_recv(c, [&](std::optional<int> v) { got = v; }), on_timeout(1h, nothing)) == 0);
      CHECK(!got);
    }
  });
}

TEST_CASE("go: close wakes a waiting select, on its receive and on its send") {
  at_procs([] {
    for (const bool sends : {false, true}) {
      const channel<int> c, other;
      whereabouts w;
      auto t = spawn([&, c, other] {
        w.here();
        bool told = false;
        const int r =
            sends ? select(on_recv(other, nothing),
                           on_send(c, 1, [&](send_status s) { told = s == send_status::closed; }))
                  : select(on_recv(other, nothing), on_recv(c, [&](std::optional<int> v) { told = !v; }));
        CHECK(told);
        return r;
      });
      CHECK(w.will_park(wait_reason::select));
      c.close();
      CHECK(t.get() == 1);
    }
  });
}

TEST_CASE("a loop of selects that ignores closes ends when all its channels are closed") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> a(2, o), b(1, o);
    const auto fill = [](const channel<int>& c, int n) {
      return spawn([=] {
        for (int i = 1; i <= n; ++i) CHECK(c.send(i) == send_status::sent);
        c.close();
      });
    };
    auto fa = fill(a, 200), fb = fill(b, 20);
    long sum = 0;
    int last = 0;
    const auto add = [&](int v) { sum += v; };
    while ((last = select(on_recv(a, add), on_recv(b, add))) >= 0) {
    }
    CHECK(last == select_closed);
    CHECK(sum == 200 * 201 / 2 + 20 * 21 / 2);
    fa.get();
    fb.get();
  });
}

// --- timeouts --------------------------------------------------------------------------------------------

TEST_CASE("go: a timeout runs when nothing else does, not before its time") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(1, o);
    const auto start = now();
    bool ran = false;
    CHECK(select(on_recv(c, nothing), on_timeout(3ms, [&] { ran = true; })) == 1);
    CHECK(ran);
    CHECK(now() - start >= 3ms);
    // Of two, the earlier.
    CHECK(select(on_timeout(1h, nothing), on_recv(c, nothing), on_timeout(1ms, nothing)) == 2);
    // What is ready wins over a time that has passed, and that over waiting.
    CHECK(select(on_recv(c, nothing), on_timeout(-1s, nothing)) == 1);
    c.send(1);
    CHECK(select(on_recv(c, nothing), on_timeout(-1s, nothing)) == 0);
    CHECK(select(on_recv(c, nothing), on_timeout(time_point::min(), nothing)) == 1);
  });
}

TEST_CASE("go: a value that comes before the timeout wins, and the timer does no harm later") {
  at_procs([] {
    const channel<int> c;
    auto sender = spawn([=] {
      for (int i = 0; i < scaled(1000); ++i) c.send(i);
    });
    for (int i = 0; i < scaled(1000); ++i)
      CHECK(select(on_recv(c, [&](int v) { CHECK(v == i); }), on_timeout(1h, nothing)) == 0);
    sender.get();
    // A timer that would go off late is armed and taken back all the time.
    const channel<int> never_sent;
    for (int i = 0; i < 20; ++i) CHECK(select(on_recv(never_sent, nothing), on_timeout(100us, nothing)) == 1);
  });
}

TEST_CASE("go: values that race with timeouts are neither lost nor doubled") {
  at_procs([] {
    const channel<int> c;
    const int n = scaled(1000);
    auto sender = spawn([=] {
      int sent = 0;
      while (sent < n)
        if (c.send_until(sent, 20us) == send_status::sent) ++sent;
      c.close();
    });
    int next = 0, late = 0;
    for (bool open = true; open;) {
      select(on_recv(c,
                     [&](std::optional<int> v) {
                       if (v) {
                         CHECK(*v == next++);
                       } else {
                         open = false;
                       }
                     }),
             on_timeout(20us, [&] { ++late; }));
    }
    CHECK(next == n);
    sender.get();
    CHECK(adds_up(c));
    CHECK(c.stats().sent == static_cast<std::uint64_t>(n));
  });
}
