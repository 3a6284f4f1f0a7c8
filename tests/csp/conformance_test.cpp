// SPDX-License-Identifier: BSL-1.0
// Go's channel behaviours, one by one: unbuffered and buffered. Nil and closed channels are in
// conformance_closed_test.cpp, selects in conformance_select_test.cpp, whole programs in
// conformance_programs_test.cpp.
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

// --- unbuffered ------------------------------------------------------------------------------------------

TEST_CASE("go: an unbuffered send does not return before its receiver is there") {
  at_procs([] {
    const channel<int> c;
    std::atomic<bool> sent{false};
    whereabouts s;
    auto sender = spawn([&, c] {
      s.here();
      CHECK(c.send(1) == send_status::sent);
      sent = true;
    });
    CHECK(s.will_park(wait_reason::send));
    for (int i = 0; i < 100; ++i) yield();
    CHECK(!sent);
    CHECK(c.size() == 0);
    CHECK(c.recv() == 1);
    CHECK(eventually([&] { return sent.load(); }));
    sender.get();
  });
}

TEST_CASE("go: an unbuffered channel synchronises: what came before the send is seen after the receive") {
  at_procs([] {
    const channel<int> c, back;
    int plain = 0;  // no atomic: the channel orders it, or ThreadSanitizer complains
    auto other = spawn([&, c, back] {
      for (int i = 1; i <= 500; ++i) {
        plain = i;
        c.send(i);
        CHECK(back.recv() == i);
      }
    });
    for (int i = 1; i <= 500; ++i) {
      CHECK(c.recv() == i);
      CHECK(plain == i);
      back.send(i);
    }
    other.get();
  });
}

TEST_CASE("go: try_send and try_recv on an unbuffered channel need a partner that waits") {
  at_procs([] {
    const channel<int> c;
    int v = 4;
    CHECK(c.try_send(v) == send_status::full);
    CHECK(!c.try_recv());
    whereabouts r;
    auto receiver = spawn([&, c] {
      r.here();
      return c.recv();
    });
    CHECK(r.will_park(wait_reason::receive));
    CHECK(c.try_send(v) == send_status::sent);
    CHECK(receiver.get() == 4);
    whereabouts s;
    auto sender = spawn([&, c] {
      s.here();
      return c.send(6);
    });
    CHECK(s.will_park(wait_reason::send));
    CHECK(c.try_recv() == 6);
    CHECK(sender.get() == send_status::sent);
    CHECK(!c.try_recv());
  });
}

// --- buffered --------------------------------------------------------------------------------------------

TEST_CASE("go: capacity n means exactly n") {
  at_procs_both_flavours([](const channel_options& o) {
    for (const std::size_t n : {1u, 2u, 3u, 5u, 8u, 100u}) {
      const channel<std::size_t> c(n, o);
      CHECK(c.capacity() == n);
      for (int round = 0; round < 3; ++round) {
        for (std::size_t i = 0; i < n; ++i) {
          CHECK(c.size() == i);
          CHECK(c.try_send(i) == send_status::sent);
        }
        CHECK(c.size() == n);
        CHECK(c.try_send(std::size_t{77}) == send_status::full);
        CHECK(c.size() == n);
        for (std::size_t i = 0; i < n; ++i) CHECK(c.try_recv() == i);
        CHECK(!c.try_recv());
        CHECK(c.size() == 0);
      }
      CHECK(adds_up(c));
    }
  });
}

TEST_CASE("go: the n-plus-first send waits for a receive") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(2, o);
    std::atomic<int> sent{0};
    whereabouts s;
    auto sender = spawn([&, c] {
      s.here();
      for (int i = 0; i < 4; ++i) {
        CHECK(c.send(i) == send_status::sent);
        ++sent;
      }
    });
    CHECK(s.will_park(wait_reason::send));
    CHECK(sent == 2);
    CHECK(c.size() == 2);
    CHECK(c.recv() == 0);
    CHECK(eventually([&] { return sent == 3; }));
    CHECK(s.will_park(wait_reason::send));
    CHECK(sent == 3);
    for (int i = 1; i < 4; ++i) CHECK(c.recv() == i);
    sender.get();
    CHECK(!c.try_recv());
  });
}

TEST_CASE("go: values are received in the order they were sent, also those of waiting senders") {
  at_procs([] {
    for (const std::size_t capacity : {0u, 2u}) {
      const channel<int> c(capacity);
      constexpr int n = 6;
      std::vector<task<send_status>> senders;
      for (int i = 0; i < static_cast<int>(capacity); ++i) c.send(i);
      whereabouts at[n];
      for (int i = 0; i < n; ++i) {
        senders.push_back(spawn([&w = at[i], c, v = i + static_cast<int>(capacity)] {
          w.here();
          return c.send(v);
        }));
        CHECK(at[i].will_park(wait_reason::send));
      }
      for (int i = 0; i < n + static_cast<int>(capacity); ++i) CHECK(c.recv() == i);
      for (auto& s : senders) CHECK(s.get() == send_status::sent);
    }
  });
}

TEST_CASE("go: receivers are served in the order they came") {
  at_procs([] {
    for (const std::size_t capacity : {0u, 2u}) {
      const channel<int> c(capacity);
      constexpr int n = 6;
      std::vector<task<std::optional<int>>> receivers;
      whereabouts at[n];
      for (int i = 0; i < n; ++i) {
        receivers.push_back(spawn([&w = at[i], c] {
          w.here();
          return c.recv();
        }));
        CHECK(at[i].will_park(wait_reason::receive));
      }
      for (int i = 0; i < n; ++i) CHECK(c.send(i) == send_status::sent);
      for (int i = 0; i < n; ++i) CHECK(receivers[static_cast<std::size_t>(i)].get() == i);
    }
  });
}

TEST_CASE("go: values of one sender are never reordered, and each is received once") {
  at_procs([] {
    for (const std::size_t capacity : {0u, 1u, 7u}) {
      constexpr int senders = 4, receivers = 3;
      const int each = scaled(1000);
      const channel<std::pair<int, int>> c(capacity);
      std::vector<task<void>> from;
      for (int s = 0; s < senders; ++s)
        from.push_back(spawn([=] {
          for (int i = 0; i < each; ++i) c.send({s, i});
        }));
      std::atomic<long long> sum{0};
      std::atomic<int> got{0};
      std::vector<task<void>> to;
      for (int r = 0; r < receivers; ++r)
        to.push_back(spawn([&, c] {
          int last[senders];
          for (int& l : last) l = -1;
          for (const auto& [s, i] : c) {
            CHECK(i > last[s]);
            last[s] = i;
            sum += i;
            ++got;
          }
        }));
      for (auto& t : from) t.get();
      c.close();
      for (auto& t : to) t.get();
      CHECK(got == senders * each);
      CHECK(sum == 1LL * senders * each * (each - 1) / 2);
      CHECK(adds_up(c));
    }
  });
}

TEST_CASE("go: a single channel keeps the order over many turns of its ring") {
  at_procs([] {
    for (const std::size_t capacity : {1u, 2u, 3u, 64u}) {
      const int n = scaled(20000);
      const channel<int> c(capacity, single_options());
      CHECK(c.flavour() == flavour::single);
      auto sender = spawn([=] {
        for (int i = 0; i < n; ++i) c.send(i);
        c.close();
      });
      int next = 0, wrong = 0;
      for (const int v : c) wrong += v != next++;
      CHECK(wrong == 0);
      CHECK(next == n);
      sender.get();
      CHECK(adds_up(c));
      CHECK(c.stats().high_water <= capacity);
    }
  });
}

TEST_CASE("go: size and capacity of each flavour") {
  at_procs([] {
    const channel<int> none, some(3), one(4, single_options()), last(9, policy_options(full::latest));
    CHECK(none.capacity() == 0);
    CHECK(some.capacity() == 3);
    CHECK(one.capacity() == 4);
    CHECK(last.capacity() == 1);
    CHECK(none.flavour() == flavour::rendezvous);
    CHECK(some.flavour() == flavour::many);
    CHECK(one.flavour() == flavour::single);
    CHECK(last.flavour() == flavour::latest);
    some.send(1);
    one.send(1);
    CHECK(in<int>(some).size() == 1);
    CHECK(out<int>(one).size() == 1);
    CHECK(out<int>(one).capacity() == 4);
  });
}
