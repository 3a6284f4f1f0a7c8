// SPDX-License-Identifier: BSL-1.0
// Go's channel behaviours, one by one: nil, closed, unbuffered, buffered. Selects are in
// conformance_select_test.cpp, whole programs in conformance_programs_test.cpp.
#include <memory>
#include <thread>
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

// --- nil -------------------------------------------------------------------------------------------------

TEST_CASE("go: a nil channel is never ready to send or receive") {
  at_procs([] {
    const in<int> none;
    const out<int> nowhere;
    CHECK(!none);
    CHECK(!nowhere);
    std::optional<int> v;
    CHECK(none.try_recv(v) == recv_status::empty);
    int kept = 5;
    CHECK(nowhere.try_send(kept) == send_status::full);
    CHECK(kept == 5);
    CHECK(none.recv(v, 1ms) == recv_status::timeout);
    CHECK(!v);
    CHECK(nowhere.send_until(7, 1ms) == send_status::timeout);
    CHECK(none.size() == 0);
    CHECK(none.capacity() == 0);
    CHECK(!none.closed());
  });
}

TEST_CASE("go: a receive and a send on a nil channel block for ever, until the G is stopped") {
  at_procs([] {
    whereabouts r, s;
    auto receives = spawn([&] {
      r.here();
      std::optional<int> v;
      return in<int>().recv(v);
    });
    auto sends = spawn([&] {
      s.here();
      return out<int>().send(1);
    });
    CHECK(r.will_park(wait_reason::receive));
    CHECK(s.will_park(wait_reason::send));
    for (int i = 0; i < 100; ++i) yield();
    CHECK(!receives.done());
    CHECK(!sends.done());
    receives.request_stop();
    sends.request_stop();
    CHECK(receives.get() == recv_status::stopped);
    CHECK(sends.get() == send_status::stopped);
  });
}

TEST_CASE("go: a default-constructed channel is a rendezvous, not nil") {
  at_procs([] {
    const channel<int> c;
    CHECK(c.capacity() == 0);
    auto t = spawn([=] { return c.recv(); });
    CHECK(c.send(3) == send_status::sent);
    CHECK(t.get() == 3);
  });
}

// --- closed ----------------------------------------------------------------------------------------------

TEST_CASE("go: a closed channel delivers what it buffered, then says closed for ever") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(4, o);
    for (int i = 0; i < 3; ++i) CHECK(c.send(i) == send_status::sent);
    c.close();
    CHECK(c.closed());
    CHECK(c.size() == 3);
    for (int i = 0; i < 3; ++i) CHECK(c.recv() == i);
    for (int i = 0; i < 3; ++i) {
      std::optional<int> v;
      CHECK(c.recv(v) == recv_status::closed);
      CHECK(c.try_recv(v) == recv_status::closed);
      CHECK(c.recv(v, 1h) == recv_status::closed);
      CHECK(!v);
      CHECK(!c.recv());
    }
    CHECK(adds_up(c));
  });
}

TEST_CASE("go: a send on a closed channel says closed, whether there is room or not") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> roomy(2, o), packed(1, o);
    CHECK(packed.send(1) == send_status::sent);
    roomy.close();
    packed.close();
    for (const auto& c : {roomy, packed}) {
      int v = 9;
      CHECK(c.send(v) == send_status::closed);
      CHECK(c.try_send(v) == send_status::closed);
      CHECK(c.send_until(std::move(v), 1h) == send_status::closed);
      CHECK(v == 9);
    }
    CHECK(packed.recv() == 1);
    CHECK(!packed.recv());
    const channel<int> direct;
    direct.close();
    CHECK(direct.send(1) == send_status::closed);
    CHECK(!direct.recv());
  });
}

TEST_CASE("go: close wakes all blocked receivers") {
  at_procs([] {
    for (const std::size_t capacity : {0u, 3u}) {
      const channel<int> c(capacity);
      constexpr int n = 5;
      whereabouts at[n];
      std::vector<task<recv_status>> waiting;
      for (auto& w : at)
        waiting.push_back(spawn([&w, c] {
          w.here();
          std::optional<int> v;
          return c.recv(v);
        }));
      for (auto& w : at) CHECK(w.will_park(wait_reason::receive));
      c.close();
      for (auto& t : waiting) CHECK(t.get() == recv_status::closed);
    }
  });
}

TEST_CASE("go: close wakes all blocked senders, and they keep their values") {
  at_procs([] {
    for (const std::size_t capacity : {0u, 2u}) {
      const channel<std::unique_ptr<int>> c(capacity);
      for (std::size_t i = 0; i < capacity; ++i) c.send(std::make_unique<int>(100));
      constexpr int n = 5;
      whereabouts at[n];
      std::vector<task<std::pair<send_status, int>>> waiting;
      for (int i = 0; i < n; ++i)
        waiting.push_back(spawn([&w = at[i], c, i] {
          w.here();
          auto v = std::make_unique<int>(i);
          const send_status s = c.send(std::move(v));
          return std::pair(s, v ? *v : -1);
        }));
      for (auto& w : at) CHECK(w.will_park(wait_reason::send));
      c.close();
      for (int i = 0; i < n; ++i)
        CHECK(waiting[static_cast<std::size_t>(i)].get() == std::pair(send_status::closed, i));
      for (std::size_t i = 0; i < capacity; ++i) CHECK(**c.recv() == 100);
      CHECK(!c.recv());
      CHECK(adds_up(c));
      CHECK(c.stats().sent == capacity);
    }
  });
}

TEST_CASE("go: close wakes the one blocked side of a single channel") {
  at_procs([] {
    const channel<int> empty(2, single_options()), packed(2, single_options());
    CHECK(packed.send(1) == send_status::sent);
    CHECK(packed.send(2) == send_status::sent);
    whereabouts r;
    auto receives = spawn([&, empty] {
      r.here();
      std::optional<int> v;
      return empty.recv(v);
    });
    CHECK(r.will_park(wait_reason::receive));
    empty.close();
    CHECK(receives.get() == recv_status::closed);
    CHECK(packed.size() == 2);
  });
  at_procs([] {
    const channel<int> packed(2, single_options());
    whereabouts s;
    auto sends = spawn([&, packed] {
      CHECK(packed.send(1) == send_status::sent);
      CHECK(packed.send(2) == send_status::sent);
      s.here();
      return packed.send(3);
    });
    CHECK(s.will_park(wait_reason::send));
    packed.close();
    CHECK(sends.get() == send_status::closed);
    CHECK(packed.recv() == 1);
    CHECK(packed.recv() == 2);
    CHECK(!packed.recv());
    CHECK(adds_up(packed));
  });
}

TEST_CASE("go: closing a closed channel is logged, not fatal, and changes nothing") {
  at_procs_both_flavours([](channel_options o) {
    o.name = "twice";
    const channel<int> c(2, o);
    CHECK(c.send(1) == send_status::sent);
    log_catcher log;
    c.close();
    CHECK(log.text().empty());
    c.close();
    CHECK(log.said("channel 'twice' was closed a second time"));
    CHECK(c.closed());
    CHECK(c.recv() == 1);
    CHECK(!c.recv());
  });
}

TEST_CASE("go: range over a channel ends when it is closed and drained") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(3, o);
    auto sender = spawn([=] {
      for (int i = 0; i < 50; ++i) CHECK(c.send(i) == send_status::sent);
      c.close();
    });
    int next = 0;
    for (const int v : c) {
      CHECK(v == next);
      ++next;
    }
    CHECK(next == 50);
    sender.get();
    for (const int v : c) FAIL_CHECK("a drained channel gave ", v);
  });
}

TEST_CASE("go: a value sent before the close by the same G is never lost") {
  at_procs_both_flavours([](const channel_options& o) {
    for (int round = 0; round < scaled(2000); ++round) {
      const channel<int> c(1, o);
      auto sender = spawn([=] {
        CHECK(c.send(round) == send_status::sent);
        c.close();
      });
      CHECK(c.recv() == round);
      CHECK(!c.recv());
      sender.get();
    }
  });
}

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
