// SPDX-License-Identifier: BSL-1.0
// What channels carry: types that move, that are large, that throw.
#include <array>
#include <memory>
#include <vector>

#include "csp/fragile.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::wait_reason;

namespace {

struct alignas(256) wide {
  int value = 0;
  bool aligned() const { return reinterpret_cast<std::uintptr_t>(this) % 256 == 0; }
};
struct big {
  std::array<int, 20000> values{};
};

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

namespace {

struct with_const {
  const int n;
};
struct only_moved {
  explicit only_moved(int v) : n(v) {}
  only_moved(only_moved&&) = default;
  only_moved& operator=(only_moved&&) = default;
  int n;
};
struct large {
  explicit large(int v) : n(v) {}
  int n;
  std::array<char, 200> rest{};
};

template <class T>
void loop_over() {
  for (const unsigned both : {0u, 1u}) {
    const channel<T> c(3, {.writers = both, .readers = both});
    auto writer = spawn([c] {
      for (int i = 0; i < 1000; ++i) (void)c.send(T{i});
      c.close();
    });
    int next = 0;
    for (auto& v : c) {
      CHECK(v.n == next++);
      if constexpr (std::is_move_assignable_v<T>) v.n = -1;  // nobody minds what the body does to it
    }
    CHECK(next == 1000);
    (void)writer.join();
  }
}

}  // namespace

TEST_CASE("a loop gets each value whole and once, whether it is put over the last one or not") {
  run({.procs = 2}, [] {
    loop_over<with_const>();
    loop_over<only_moved>();
    loop_over<large>();
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
