// SPDX-License-Identifier: BSL-1.0
// What channels promise beyond Go: types, policies and their counters, failed sends, stops, lifetimes.
#include <array>
#include <cstdio>
#include <limits>
#include <memory>
#include <string>
#include <vector>

#include "csp/fixture.hpp"
#include "support/child.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

namespace {

// Throws when the countdown reaches zero, at a move or a copy. Keeps its value when its move throws.
class fragile {
 public:
  struct broken {};

  explicit fragile(int v) : value(v) { ++live; }
  fragile(const fragile& o) : value(o.value) {
    step();
    ++live;
  }
  fragile(fragile&& o) : value(o.value) {
    step();
    o.value = gone;
    ++live;
  }
  fragile& operator=(const fragile& o) {
    step();
    value = o.value;
    return *this;
  }
  fragile& operator=(fragile&& o) {
    step();
    value = std::exchange(o.value, gone);
    return *this;
  }
  ~fragile() { --live; }

  int value;

  static constexpr int gone = -1;
  static inline std::atomic<int> live{0};
  // Moves and copies until the next one throws; negative: never.
  static inline std::atomic<int> countdown{-1};

 private:
  static void step() {
    if (countdown.load() >= 0 && countdown.fetch_sub(1) == 0) throw broken{};
  }
};
static_assert(!csp::kept_inline<fragile>);

struct alignas(256) wide {
  int value = 0;
  bool aligned() const { return reinterpret_cast<std::uintptr_t>(this) % 256 == 0; }
};
struct big {
  std::array<int, 20000> values{};
};

// The status of a call that a stop is to end, made by a G that is seen waiting first.
template <class F>
auto stopped_in(wait_reason why, F call) {
  whereabouts w;
  auto t = spawn([&] {
    w.here();
    return call();
  });
  CHECK(w.will_park(why));
  t.request_stop();
  return t.get();
}

}  // namespace

// --- types -----------------------------------------------------------------------------------------------

TEST_CASE("a move-only type goes through every flavour and every call") {
  at_procs_both_flavours([](const channel_options& o) {
    for (const std::size_t capacity : {0u, 1u, 4u}) {
      const channel<std::unique_ptr<int>> c(capacity, o);
      auto sender = spawn([=] {
        for (int i = 0; i < 100; ++i) CHECK(c.send(std::make_unique<int>(i)) == send_status::sent);
        auto last = std::make_unique<int>(100);
        CHECK(c.send_until(std::move(last), 1h) == send_status::sent);
        CHECK(!last);
        c.close();
      });
      for (int i = 0; i < 101; ++i) {
        const auto v = c.recv();
        REQUIRE(v);
        CHECK(**v == i);
      }
      CHECK(!c.recv());
      sender.get();
    }
  });
}

TEST_CASE("values are moved, and none is leaked or destroyed twice") {
  at_procs_both_flavours([](const channel_options& o) {
    for (const std::size_t capacity : {0u, 1u, 5u}) {
      {
        const channel<counted> c(capacity, o);
        auto sender = spawn([=] {
          for (int i = 0; i < 300; ++i) CHECK(c.send(counted(i)) == send_status::sent);
          c.close();
        });
        int next = 0;
        for (const counted& v : c) CHECK(v.value == next++);
        CHECK(next == 300);
        sender.get();
      }
      CHECK(counted::live == 0);
    }
  });
}

TEST_CASE("the last handle destroys what is left in the channel") {
  at_procs_both_flavours([](const channel_options& o) {
    {
      const channel<counted> c(8, o);
      for (int i = 0; i < 11; ++i) {  // once around the ring
        if (i >= 6) CHECK(c.recv());
        CHECK(c.send(counted(i)) == send_status::sent);
      }
      CHECK(c.size() == 6);
      CHECK(counted::live == 6);
    }
    CHECK(counted::live == 0);
  });
}

TEST_CASE("over-aligned values are aligned in the channel, and big ones arrive whole") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<wide> c(3, o);
    for (int i = 0; i < 3; ++i) CHECK(c.send(wide{i}) == send_status::sent);
    for (int i = 0; i < 3; ++i) {
      const auto v = c.recv();
      REQUIRE(v);
      CHECK(v->value == i);
      CHECK(v->aligned());
    }
  });
  at_procs([] {
    // 80 KB each: more than a G's stack, so they are made and read on the heap of the ring.
    const channel<std::unique_ptr<big>> c(1);
    auto sender = spawn(spawn_options{.stack = 1 << 20}, [=] {
      const channel<big> direct(2);
      auto v = std::make_unique<big>();
      v->values.back() = 77;
      CHECK(direct.send(std::move(*v)) == send_status::sent);
      std::optional<big> back;
      CHECK(direct.try_recv(back) == recv_status::received);
      v->values = back->values;
      c.send(std::move(v));
    });
    CHECK((*c.recv())->values.back() == 77);
    sender.get();
  });
}

TEST_CASE("a channel of channels carries the way to answer") {
  at_procs([] {
    struct request {
      int n;
      channel<int> answer;
    };
    const channel<request> server(2);
    auto t = spawn([=] {
      for (const request& r : server) r.answer.send(r.n * 2);
    });
    task_group clients;
    for (int i = 0; i < 20; ++i)
      clients.go([=] {
        const channel<int> mine;
        CHECK(server.send({i, mine}) == send_status::sent);
        CHECK(mine.recv() == 2 * i);
      });
    CHECK(clients.wait() == wait_status::done);
    server.close();
    t.get();
  });
}

// --- types that throw ------------------------------------------------------------------------------------

TEST_CASE("a throwing move or copy, wherever it strikes, leaves the channel valid and loses nothing") {
  at_procs([] {
    // One more step each round, until a round goes through without meeting the countdown.
    for (const bool by_copy : {false, true}) {
      bool struck = true;
      int steps = 0;
      for (; struck; ++steps) {
        struck = false;
        {
          const channel<fragile> c(3);
          CHECK(c.send(fragile(1)) == send_status::sent);
          fragile two(2);
          fragile::countdown = steps;
          bool sent = false;
          try {
            sent = (by_copy ? c.send(static_cast<const fragile&>(two)) : c.send(std::move(two))) ==
                   send_status::sent;
          } catch (const fragile::broken&) {
            struck = true;
          }
          if (!sent) CHECK(two.value == 2);  // it threw before the value had left
          std::vector<int> got;
          for (int tries = 0; c.size() > 0 && tries < 20; ++tries) {
            try {
              if (const auto v = c.try_recv()) got.push_back(v->value);
            } catch (const fragile::broken&) {
              struck = true;
              CHECK(c.size() > 0);  // it went back
            }
            CHECK(adds_up(c));
          }
          fragile::countdown = -1;
          CHECK(got == (sent ? std::vector<int>{1, 2} : std::vector<int>{1}));
          CHECK(adds_up(c));
          CHECK(c.send(fragile(3)) == send_status::sent);  // still of use
          CHECK(c.recv()->value == 3);
        }
        CHECK(fragile::live == 0);
        REQUIRE(steps < 100);
      }
      CHECK(steps > 3);
    }
  });
}

TEST_CASE("a value whose receiver threw goes to the next receiver, before the others") {
  at_procs([] {
    const channel<fragile> c(3);
    for (int i = 1; i <= 3; ++i) CHECK(c.send(fragile(i)) == send_status::sent);
    fragile::countdown = 0;
    CHECK_THROWS_AS((void)c.recv(), fragile::broken);
    CHECK(c.size() == 3);
    CHECK(adds_up(c));
    c.close();
    for (int i = 1; i <= 3; ++i) CHECK(c.recv()->value == i);
    CHECK(!c.recv());
    CHECK(adds_up(c));
  });
  CHECK(fragile::live == 0);
}

TEST_CASE("a value whose waiting receiver threw goes to one that waits, and is destroyed with the channel") {
  at_procs([] {
    {
      const channel<fragile> c;
      whereabouts at[2];
      std::vector<task<int>> receivers;
      for (auto& w : at) {
        receivers.push_back(spawn([&w, c] {
          w.here();
          try {
            return c.recv()->value;
          } catch (const fragile::broken&) {
            return -2;
          }
        }));
        CHECK(w.will_park(wait_reason::receive));
      }
      // The first move makes the box, the next takes the value out of it, on the receiver's side.
      fragile::countdown = 1;
      CHECK(c.send(fragile(5)) == send_status::sent);
      const int a = receivers[0].get(), b = receivers[1].get();
      CHECK(a == -2);
      CHECK(b == 5);
      CHECK(adds_up(c));

      // Nobody takes it: the channel keeps it to the end.
      whereabouts last;
      auto t = spawn([&, c] {
        last.here();
        CHECK_THROWS_AS((void)c.recv(), fragile::broken);
      });
      CHECK(last.will_park(wait_reason::receive));
      fragile::countdown = 1;
      CHECK(c.send(fragile(6)) == send_status::sent);
      t.get();
      fragile::countdown = -1;
      CHECK(c.size() == 1);
      CHECK(adds_up(c));
    }
    CHECK(fragile::live == 0);
  });
}

TEST_CASE("a select over a type that throws gives back what it did not send") {
  at_procs([] {
    {
      const channel<fragile> packed(1);
      CHECK(packed.send(fragile(1)) == send_status::sent);
      fragile v(2);
      CHECK(select(on_send(packed, std::move(v), [] {}), otherwise([] {})) == 1);
      CHECK(v.value == 2);
      CHECK(select(on_send(packed, std::move(v), [] {}), on_timeout(1ms, [] {})) == 1);
      CHECK(v.value == 2);
      CHECK(select(on_recv(packed, [](const fragile& x) { CHECK(x.value == 1); })) == 0);
      CHECK(select(on_send(packed, std::move(v), [] {}), otherwise([] {})) == 0);
      CHECK(packed.recv()->value == 2);
    }
    CHECK(fragile::live == 0);
  });
}

TEST_CASE("a send case of a type that throws, used again and again, sends its value and nothing else") {
  at_procs([] {
    const channel<fragile> packed(1);
    CHECK(packed.send(fragile(1)) == send_status::sent);
    std::vector<select_case> cases;
    cases.emplace_back(on_send(packed, fragile(2), [] {}));
    cases.emplace_back(otherwise([] {}));
    for (int i = 0; i < 3; ++i) CHECK(select(cases) == 1);
    CHECK(packed.recv()->value == 1);
    CHECK(select(cases) == 0);
    CHECK(packed.recv()->value == 2);
  });
  CHECK(fragile::live == 0);
}

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

// --- stops -----------------------------------------------------------------------------------------------

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

// --- bad input -------------------------------------------------------------------------------------------

// In a child, which the sanitizers can be told to let ask for that much.
template <class T>
void make_too_big(std::size_t capacity, const channel_options& o) {
  try {
    const channel<T> c(capacity, o);
    std::printf("made %zu of %zu\n", capacity, sizeof(T));
  } catch (const channel_error& e) {
    std::printf("%s\n", e.what());
  }
}
constexpr std::size_t most_of_all = std::numeric_limits<std::size_t>::max();
constexpr std::size_t too_big[] = {std::size_t{1} << (sizeof(std::size_t) * 8 - 4), most_of_all,
                                   most_of_all / 2 + 1, most_of_all - 1};
LEAT_CHILD(too_big_general) {
  for (const std::size_t capacity : too_big) {
    make_too_big<char>(capacity, {});
    make_too_big<long long>(capacity, {});
    make_too_big<fragile>(capacity, {});
  }
  const channel<char> c(1);  // and the next one can be made
  std::printf("then: %s\n", to_string(c.send('x')));
}
LEAT_CHILD(too_big_single) {
  for (const std::size_t capacity : too_big) {
    make_too_big<char>(capacity, single_options());
    make_too_big<long long>(capacity, single_options());
  }
  const channel<char> c(1, single_options());
  std::printf("then: %s\n", to_string(c.send('x')));
}

TEST_CASE("a capacity above memory is an error that says so") {
  for (const char* const child : {"too_big_general", "too_big_single"}) {
    const auto r = leat::test::run_self(child, {.environment = {"ASAN_OPTIONS=allocator_may_return_null=1",
                                                                "TSAN_OPTIONS=allocator_may_return_null=1"}});
    INFO(r.output);
    CHECK(r.exited(0));
    CHECK(!r.said("made"));
    CHECK(r.said("then: sent"));
    for (const std::size_t capacity : too_big)
      for (const std::size_t size : {sizeof(char), sizeof(long long)})
        CHECK(r.said("no memory for a channel that holds " + std::to_string(capacity) + " values of " +
                     std::to_string(size) + " bytes\n"));
  }
}

TEST_CASE("latest takes any capacity: it never holds more than one") {
  const channel<int> c(std::numeric_limits<std::size_t>::max(), policy_options(full::latest));
  CHECK(c.capacity() == 1);
}

LEAT_CHILD(two_writers) {
  leat::run(with_procs(2), [] {
    const channel<int> c(8, single_options());
    whereabouts w;
    auto first = spawn([&, c] {
      c.send(1);
      w.here();
      (void)in<int>().recv();
    });
    (void)w.will_park(wait_reason::receive);
    c.send(2);
    first.request_stop();
  });
}
LEAT_CHILD(two_readers) {
  leat::run(with_procs(2), [] {
    channel_options o = single_options();
    o.name = "narrow";
    const channel<int> c(8, o);
    whereabouts w;
    auto first = spawn([&, c] {
      (void)c.try_recv();
      w.here();
      (void)in<int>().recv();
    });
    (void)w.will_park(wait_reason::receive);
    (void)c.try_recv();
    first.request_stop();
  });
}
// A child has no test running: it says what it saw by its exit status.
LEAT_CHILD(one_after_the_other) {
  const int wrong = leat::run(with_procs(2), [] {
    int n = 0;
    const channel<int> c(8, single_options());
    for (int i = 0; i < 5; ++i) spawn([=] { c.send(i); }).get();
    for (int i = 0; i < 5; ++i) n += spawn([=] { return c.recv() != i; }).get();
    return n;
  });
  if (wrong != 0) std::exit(1);
}

TEST_CASE("a second live G on a side that was declared to have one is caught in debug builds") {
  if (!leat::detail::lock_order_checked) {
    MESSAGE("skipped: this build has no debug checks (LEAT_DEBUG_CHECKS)");
    return;
  }
  for (const char* const child : {"two_writers", "two_readers"}) {
    const auto r = leat::test::run_self(child);
    INFO(r.output);
    CHECK(r.died_by(SIGABRT));
    CHECK(r.said("a second G uses a side of a channel"));
  }
  const auto r = leat::test::run_self("two_readers");
  CHECK(r.said("narrow"));
  CHECK(r.said("receives from"));
}

TEST_CASE("a side may pass from a G that has ended to the next") {
  const auto r = leat::test::run_self("one_after_the_other");
  INFO(r.output);
  CHECK(r.exited(0));
}

// --- lifetime --------------------------------------------------------------------------------------------

TEST_CASE("the last handle may be dropped by a receiver that was just woken") {
  at_procs_both_flavours([](const channel_options& o) {
    for (const std::size_t capacity : {0u, 1u}) {
      for (int round = 0; round < scaled(2000); ++round) {
        auto c = std::make_unique<channel<counted>>(capacity, o);
        // The receiver's handle is its own; the sender's is gone as soon as its send has returned, or before.
        auto receiver = spawn([mine = *c]() mutable {
          const auto v = mine.recv();
          CHECK(v->value == 1);
          mine = channel<counted>();
        });
        auto sender = spawn([mine = *c]() mutable {
          CHECK(mine.send(counted(1)) == send_status::sent);
          mine = channel<counted>();
        });
        c.reset();
        receiver.get();
        sender.get();
      }
      CHECK(counted::live == 0);
    }
  });
}

TEST_CASE("the last handle may be dropped by a select that was just woken, or by a close") {
  at_procs([] {
    for (int round = 0; round < scaled(1000); ++round) {
      auto a = std::make_unique<channel<counted>>(0), b = std::make_unique<channel<counted>>(1);
      auto t = spawn([x = *a, y = *b]() mutable {
        const int r =
            select(on_recv(x, [](std::optional<counted>) {}), on_recv(y, [](std::optional<counted>) {}));
        x = y = channel<counted>();
        return r;
      });
      auto s = spawn([x = std::move(*a)] { x.close(); });
      auto u = spawn([y = std::move(*b)] { (void)y.send(counted(2)); });
      a.reset();
      b.reset();
      CHECK(t.get() >= 0);
      s.get();
      u.get();
    }
    CHECK(counted::live == 0);
  });
}

TEST_CASE("ends keep the channel alive, and an end made of a moved-from handle is nil") {
  at_procs([] {
    out<counted> to;
    in<counted> from;
    {
      const channel<counted> c(2);
      to = c;
      from = c;
    }
    CHECK(to.send(counted(1)) == send_status::sent);
    CHECK(from.recv()->value == 1);
    CHECK(to.send(counted(2)) == send_status::sent);
    to = {};
    CHECK(counted::live == 1);
    CHECK(from.size() == 1);
    from = {};
    CHECK(counted::live == 0);
    channel<int> a(1);
    const channel<int> b = std::move(a);
    CHECK(!in<int>(a));  // NOLINT: what a moved-from handle is
    CHECK(b.send(1) == send_status::sent);
  });
}
