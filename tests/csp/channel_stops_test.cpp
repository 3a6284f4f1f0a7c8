// SPDX-License-Identifier: BSL-1.0
// Stops of Gs that wait in channels.
#include <memory>
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

TEST_CASE("a stop wakes a waiting sender, receiver and select") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> empty(1, o), packed(1, o);
    spawn([=] { packed.send(1); }).get();
    CHECK(stopped_in(wait_reason::send, [=] { return packed.send(2); }) == send_status::stopped);
    CHECK(stopped_in(wait_reason::send, [=] { return packed.send_until(2, 1h); }) == send_status::stopped);
    CHECK(stopped_in(wait_reason::receive, [=] {
            std::optional<int> v;
            return empty.recv(v);
          }) == recv_status::stopped);
    CHECK(stopped_in(wait_reason::receive, [=] {
            std::optional<int> v;
            return empty.recv(v, 1h);
          }) == recv_status::stopped);
    CHECK(stopped_in(wait_reason::receive, [=] { return empty.recv(); }) == std::nullopt);
    CHECK(stopped_in(wait_reason::select, [=] {
            return select(on_recv(empty, [] {}), on_send(packed, 2, [] {}), on_timeout(1h, [] {}));
          }) == select_stopped);
    CHECK(stopped_in(wait_reason::receive, [=] {
            int n = 0;
            for (int v : empty) n += v;
            return n;
          }) == 0);
    // Nobody is left behind in the queues.
    CHECK(packed.size() == 1);
    CHECK(packed.recv() == 1);
    CHECK(!packed.try_recv());
    CHECK(adds_up(empty));
    CHECK(adds_up(packed));
  });
}

TEST_CASE("a stop ends loops of sends and receives that never have to wait") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(1, o);
    auto t = spawn([=] {
      for (int i = 0; i < 1'000'000; ++i) {
        if (c.send(i) == send_status::stopped) return true;
        if (!c.recv()) return true;
        if (i % 16 == 0) yield();
      }
      return false;
    });
    yield();
    t.request_stop();
    CHECK(t.get());
  });
}

TEST_CASE("a stop that is insisted on throws leat::stopped out of the next waiting call") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> empty(1, o), packed(1, o);
    spawn([=] { packed.send(1); }).get();
    const auto thrown = [&](wait_reason why, auto call) {
      stop_source source;
      whereabouts w;
      auto t = spawn(spawn_options{.stop = source}, [&] {
        w.here();
        try {
          call();
          return false;
        } catch (const stopped&) {
          return true;
        }
      });
      CHECK(w.will_park(why));
      source.insist();
      return t.get();
    };
    CHECK(thrown(wait_reason::send, [=] { (void)packed.send(2); }));
    CHECK(thrown(wait_reason::receive, [=] { (void)empty.recv(); }));
    CHECK(thrown(wait_reason::receive, [=] { (void)empty.recv_until(1h); }));
    CHECK(
        thrown(wait_reason::select, [=] { (void)select(on_recv(empty, [] {}), on_send(packed, 2, [] {})); }));
    CHECK(thrown(wait_reason::receive, [] { (void)in<int>().recv(); }));
  });
}

TEST_CASE("a stop that races with a value: the value is received or still there, never lost") {
  at_procs_both_flavours([](const channel_options& o) {
    for (int round = 0; round < scaled(1000); ++round) {
      const channel<std::unique_ptr<int>> c(round % 2 == 0 ? 0 : 1, o);
      auto receiver = spawn([=] { return c.recv().has_value(); });
      auto sender = spawn([=] {
        auto v = std::make_unique<int>(1);
        const bool sent = c.send(std::move(v)) == send_status::sent;
        CHECK(sent == !v);
        return sent;
      });
      if (round % 3 == 0) yield();
      receiver.request_stop();
      if (round % 5 == 0) sender.request_stop();
      const bool received = receiver.get();
      if (!received && c.capacity() == 0) sender.request_stop();
      const bool sent = sender.get();
      CHECK(c.stats().sent == (sent ? 1 : 0));
      CHECK(c.stats().received == (received ? 1 : 0));
      if (received) CHECK(sent);
      CHECK(adds_up(c));
    }
  });
}

TEST_CASE("a stop that races with a close of many waiters wakes each once") {
  at_procs([] {
    for (int round = 0; round < scaled(500); ++round) {
      const channel<int> c;
      std::vector<task<recv_status>> waiting;
      for (int i = 0; i < 6; ++i)
        waiting.push_back(spawn([=] {
          std::optional<int> v;
          return c.recv(v);
        }));
      yield();
      auto closer = spawn([=] { c.close(); });
      for (auto& t : waiting) t.request_stop();
      for (auto& t : waiting) {
        const recv_status s = t.get();
        CHECK((s == recv_status::stopped || s == recv_status::closed));
      }
      closer.get();
    }
  });
}
