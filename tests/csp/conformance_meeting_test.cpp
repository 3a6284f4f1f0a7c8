// SPDX-License-Identifier: BSL-1.0
// Go's select where selects meet one another, or themselves.
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

namespace {

constexpr auto nothing = [] {};

}  // namespace

TEST_CASE("go: self-select: one G that offers both sides of a channel never talks to itself") {
  at_procs([] {
    const channel<int> c;
    for (int i = 0; i < 100; ++i) {
      CHECK(select(on_send(c, 1, [] { FAIL_CHECK("sent to itself"); }),
                   on_recv(c, [](int) { FAIL_CHECK("received from itself"); }), otherwise(nothing)) == 2);
    }
    for (int i = 0; i < 5; ++i) {
      CHECK(select(on_send(c, 1, [] { FAIL_CHECK("sent to itself"); }),
                   on_recv(c, [](int) { FAIL_CHECK("received from itself"); }),
                   on_timeout(200us, nothing)) == 2);
      CHECK(select(on_recv(c, [](int) { FAIL_CHECK("received from itself"); }),
                   on_send(c, 1, [] { FAIL_CHECK("sent to itself"); }), on_timeout(200us, nothing)) == 2);
    }
    CHECK(c.stats().sent == 0);
  });
}

TEST_CASE("go: self-select: two Gs that offer both sides exchange values, never their own") {
  at_procs([] {
    for (const std::size_t capacity : {0u, 10u}) {
      const int n = scaled(1000);
      const channel<int> c(capacity);
      const auto play = [=](int me) {
        return spawn([=] {
          int others = 0;
          for (int i = 0; i < n; ++i) {
            int taken = -1;
            const int r = select(on_recv(c, [&](int v) { taken = v; }), on_send(c, me, nothing));
            CHECK(r >= 0);
            if (r == 0 && taken != me) ++others;
            // A buffer may well hand a value back to its own sender; a rendezvous may not.
            if (r == 0 && capacity == 0) CHECK(taken != me);
          }
          return others;
        });
      };
      auto p = play(0), q = play(1);
      // Unbuffered, each round of the one is a round of the other. Buffered, what one leaves behind may be
      // missing at the end: then the other waits for room or a value, and gets it here.
      const auto help = [&](const task<int>& t) {
        return eventually([&] {
          if (t.done()) return true;
          if (capacity > 0) (void)c.try_recv();
          return false;
        });
      };
      CHECK(help(p));
      CHECK(help(q));
      const int by_p = p.get(), by_q = q.get();
      if (capacity == 0) CHECK(by_p + by_q == n);
      CHECK(adds_up(c));
    }
  });
}

TEST_CASE("go: three Gs that offer both sides to one another all get on") {
  at_procs([] {
    const channel<int> c;
    const int n = scaled(3000);
    std::atomic<int> sent{0}, received{0}, left{3};
    std::vector<task<void>> all;
    for (int me = 0; me < 3; ++me)
      all.push_back(spawn([&, c, me] {
        for (int i = 0; i < n; ++i)
          select(on_send(c, me, [&] { ++sent; }), on_recv(c, [&](int v) {
                   CHECK(v != me);
                   ++received;
                 }));
        --left;
      }));
    // The last one has nobody left to talk to.
    for (;;) {
      std::optional<int> v;
      if (c.recv(v, 1ms) == recv_status::received) ++received;
      if (left == 0) break;
      if (c.send_until(-1, 1ms) == send_status::sent) ++sent;
      if (left == 0) break;
    }
    for (auto& t : all) t.get();
    CHECK(sent == received);
    CHECK(adds_up(c));
  });
}

TEST_CASE("go: doubleselect: a G that selects on two sends never sends one value twice") {
  at_procs([] {
    const int n = scaled(10000);
    const channel<int> c1, c2, c3, c4, done;
    // The sender offers each number on all four channels at once, as in Go's test of the same name.
    auto sender = spawn([=] {
      for (int i = 0; i < n; ++i)
        select(on_send(c1, i, nothing), on_send(c2, i, nothing), on_send(c3, i, nothing),
               on_send(c4, i, nothing));
      for (const auto& c : {c1, c2, c3, c4}) c.close();
    });
    const channel<int> merged;
    std::atomic<int> open{4};
    std::vector<task<void>> muxes;
    for (const auto& c : {c1, c2, c3, c4})
      muxes.push_back(spawn([&open, c, merged] {
        for (const int v : c) merged.send(v);
        if (--open == 0) merged.close();
      }));
    std::vector<int> seen(static_cast<std::size_t>(n));
    for (const int v : merged) ++seen[static_cast<std::size_t>(v)];
    int wrong = 0;
    for (const int times : seen) wrong += times != 1;
    CHECK(wrong == 0);
    sender.get();
    for (auto& t : muxes) t.get();
  });
}

TEST_CASE("go: doubleselect: two selects over the same channels in opposite order do not deadlock") {
  at_procs([] {
    const channel<int> a, b;
    const int n = scaled(5000);
    auto one = spawn([=] {
      int sum = 0;
      for (int i = 0; i < n; ++i)
        select(on_recv(a, [&](int v) { sum += v; }), on_recv(b, [&](int v) { sum += v; }));
      return sum;
    });
    auto two = spawn([=] {
      for (int i = 0; i < n; ++i) select(on_send(b, 1, nothing), on_send(a, 1, nothing));
    });
    CHECK(one.get() == n);
    two.get();
    CHECK(a.stats().sent + b.stats().sent == static_cast<std::uint64_t>(n));
    CHECK(adds_up(a));
    CHECK(adds_up(b));
  });
}

TEST_CASE("go: many selects over many channels: every value arrives once") {
  at_procs([] {
    constexpr int gs = 4;
    const int each = scaled(2000);
    const channel<int> a, b(1), c(3);
    std::atomic<int> sent{0};
    std::vector<task<void>> senders;
    for (int g = 0; g < gs; ++g)
      senders.push_back(spawn([&, a, b, c, g] {
        for (int i = 0; i < each; ++i) {
          const int v = g * each + i;
          CHECK(select(on_send(a, v, nothing), on_send(b, v, nothing), on_send(c, v, nothing)) >= 0);
          ++sent;
        }
      }));
    std::vector<std::atomic<int>> seen(static_cast<std::size_t>(gs * each));
    std::vector<task<void>> receivers;
    const auto mark = [&](int v) { ++seen[static_cast<std::size_t>(v)]; };
    for (int g = 0; g < gs; ++g)
      receivers.push_back(spawn([&, a, b, c] {
        while (select(on_recv(c, mark), on_recv(a, mark), on_recv(b, mark)) >= 0) {
        }
      }));
    for (auto& t : senders) t.get();
    for (const auto& x : {a, b, c}) x.close();
    for (auto& t : receivers) t.get();
    int wrong = 0;
    for (const auto& times : seen) wrong += times != 1;
    CHECK(wrong == 0);
    for (const auto& x : {a, b, c}) CHECK(adds_up(x));
  });
}
