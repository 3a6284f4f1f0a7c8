// SPDX-License-Identifier: BSL-1.0
//
// Selects over one-to-one rings, whose values are found without a visit to the runtime: the same answers.
#include <cmath>
#include <vector>

#include <leat/csp/composite.hpp>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

constexpr auto do_nothing = [] {};

channel<int> ring_of(std::size_t n) { return channel<int>(n, single_options()); }

// As in conformance_select_test.cpp: nine standard deviations.
void check_share(int taken, int rounds, double share) {
  const double slack = 9 * std::sqrt(rounds * share * (1 - share));
  CHECK(taken > rounds * share - slack);
  CHECK(taken < rounds * share + slack);
}

}  // namespace

TEST_CASE("a select over rings that all have values takes each equally often") {
  at_procs([] {
    const channel<int> c[] = {ring_of(8), ring_of(8), ring_of(8)};
    constexpr int rounds = 10000;
    int taken[3] = {};
    for (int round = 0; round < rounds; ++round) {
      for (const auto& x : c)
        while (x.try_send(1) == send_status::sent) {
        }
      const int i = select(on_recv(c[0], do_nothing), on_recv(c[1], do_nothing), on_recv(c[2], do_nothing));
      REQUIRE(i >= 0);
      ++taken[i];
    }
    for (const int t : taken) check_share(t, rounds, 1.0 / 3);
    for (const auto& x : c) CHECK(adds_up(x));
  });
}

TEST_CASE("a ring that always has values does not keep other cases from their share") {
  at_procs([] {
    const channel<int> ring = ring_of(64), any(1), to(1);
    constexpr int rounds = 10000;
    int taken[3] = {};
    for (int round = 0; round < rounds; ++round) {
      while (ring.try_send(1) == send_status::sent) {
      }
      (void)any.try_send(1);
      (void)to.try_recv();
      const int i = select(on_recv(ring, do_nothing), on_recv(any, do_nothing), on_send(to, 1, do_nothing));
      REQUIRE(i >= 0);
      ++taken[i];
    }
    for (const int t : taken) check_share(t, rounds, 1.0 / 3);
  });
}

TEST_CASE("a ring beside a merged end gets the share of one of all") {
  at_procs([] {
    const channel<int> ring = ring_of(64), a(1), b(1);
    a.base()->add_ref();
    b.base()->add_ref();
    const in<int> both(
        csp::merge({csp::ref<csp::channel_base>(a.base()), csp::ref<csp::channel_base>(b.base())}));
    constexpr int rounds = 10000;
    int of_ring = 0;
    for (int round = 0; round < rounds; ++round) {
      while (ring.try_send(1) == send_status::sent) {
      }
      (void)a.try_send(1);
      (void)b.try_send(1);
      of_ring += select(on_recv(ring, do_nothing), on_recv(both, do_nothing)) == 0;
    }
    check_share(of_ring, rounds, 1.0 / 3);
  });
}

TEST_CASE("select_ordered over rings takes the first that has a value") {
  at_procs([] {
    const channel<int> first = ring_of(4), second = ring_of(4);
    for (int round = 0; round < 1000; ++round) {
      CHECK(second.send(2) == send_status::sent);
      if (round % 2 == 0) CHECK(first.send(1) == send_status::sent);
      CHECK(select_ordered(on_recv(first, do_nothing), on_recv(second, do_nothing)) == round % 2);
      while (second.try_recv()) {
      }
    }
  });
}

TEST_CASE("a closed ring in a select: told once drained, or passed over, and never before its values") {
  at_procs([] {
    for (const bool over_a_span : {false, true}) {
      const channel<int> ends = ring_of(8), goes_on = ring_of(8);
      for (int i = 0; i < 5; ++i) CHECK(ends.send(i) == send_status::sent);
      ends.close();
      for (int i = 0; i < 3; ++i) CHECK(goes_on.send(i) == send_status::sent);
      int got = 0, other = 0, told = 0;
      const auto from_ends = [&](std::optional<int> v) {
        if (v)
          CHECK(*v == got++);
        else
          CHECK(++told > 0);
      };
      const auto from_other = [&](int v) { CHECK(v == other++); };
      std::vector<select_case> cases;
      cases.emplace_back(on_recv(ends, from_ends));
      cases.emplace_back(on_recv(goes_on, from_other));
      while (got < 5 || other < 3 || told < 2) {
        const int i =
            over_a_span ? select(cases) : select(on_recv(ends, from_ends), on_recv(goes_on, from_other));
        REQUIRE(i >= 0);
        CHECK((told == 0 || got == 5));
      }
      // One that does not want to know: only the other runs.
      CHECK(goes_on.send(3) == send_status::sent);
      CHECK(select(on_recv(ends, [](int) { FAIL("closed and drained"); }), on_recv(goes_on, from_other)) ==
            1);
      goes_on.close();
      CHECK(select(on_recv(ends, [](int) {}), on_recv(goes_on, [](int) {})) == select_closed);
    }
  });
}

TEST_CASE("timeouts, an otherwise and nil ends beside rings") {
  at_procs([] {
    const channel<int> ring = ring_of(2);
    const in<int> nil;
    CHECK(select(on_recv(nil, do_nothing), on_recv(ring, do_nothing), otherwise(do_nothing)) == 2);
    CHECK(select(on_timeout(1ms, do_nothing), on_recv(ring, do_nothing)) == 0);
    CHECK(ring.send(1) == send_status::sent);
    CHECK(ring.send(2) == send_status::sent);
    CHECK(select(on_recv(nil, do_nothing), on_recv(ring, do_nothing), otherwise(do_nothing)) == 1);
    CHECK(select(on_timeout(0ms, do_nothing), on_recv(ring, do_nothing)) == 1);
  });
}

TEST_CASE("a handler that throws: the value of the ring was received") {
  at_procs([] {
    const channel<int> ring = ring_of(4);
    for (int i = 0; i < 3; ++i) CHECK(ring.send(i) == send_status::sent);
    int seen = 0;
    for (int i = 0; i < 3; ++i)
      CHECK_THROWS_AS(select(on_recv(ring,
                                     [&](int v) {
                                       seen += v;
                                       throw std::runtime_error("no");
                                     })),
                      std::runtime_error);
    CHECK(seen == 3);
    CHECK(adds_up(ring));
  });
}

TEST_CASE("a stop ends a loop of selects over rings that always have values") {
  at_procs([] {
    const channel<int> ring = ring_of(64);
    std::atomic<bool> looping{false};
    auto t = spawn([&, ring] {
      for (int i = 0; i < 100'000'000; ++i) {
        (void)ring.try_send(i);
        if (const int chosen = select(on_recv(ring, do_nothing)); chosen < 0) return chosen;
        looping = true;
      }
      return 0;
    });
    CHECK(eventually([&] { return looping.load(); }));
    t.request_stop();
    CHECK(t.get() == select_stopped);
  });
}

TEST_CASE("writers at full speed, a reader that selects: nothing is lost, and each ring keeps its order") {
  at_procs([] {
    for (const std::size_t capacity : {1u, 2u, 128u}) {
      const int n = scaled(20000);
      const channel<int> c[] = {ring_of(capacity), ring_of(capacity), ring_of(capacity), ring_of(capacity)};
      task_group writers;
      for (const auto& to : c)
        writers.go([=] {
          for (int i = 0; i < n; ++i) CHECK(to.send(i) == send_status::sent);
          to.close();
        });
      int next[4] = {};
      const auto from = [&](int k) {
        return on_recv(c[k], [&next, k](int v) {
          CHECK(v == next[k]);
          ++next[k];
        });
      };
      while (select(from(0), from(1), from(2), from(3)) >= 0) {
      }
      for (const int got : next) CHECK(got == n);
      CHECK(writers.wait() == wait_status::done);
      for (const auto& x : c) CHECK(adds_up(x));
    }
  });
}
