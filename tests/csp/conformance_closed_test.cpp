// SPDX-License-Identifier: BSL-1.0
// Go's channels that are nil or closed.
#include <memory>
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
