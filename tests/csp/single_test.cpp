// SPDX-License-Identifier: BSL-1.0
//
// The ring without locks, where it can go wrong: at its ends, when a side parks in the moment the other puts
// or takes, and when it changes between its fast and its cautious mode.
#include <doctest/doctest.h>
#include <algorithm>
#include <cstdint>
#include <functional>
#include <memory>
#include <thread>
#include <vector>

#include <leat/leat.hpp>

#include "csp/fixture.hpp"
#include "sched/hang_guard.hpp"

using namespace leat;
using namespace leat::csp::test;
using sched::test::hang_guard;

namespace {

struct dice {
  std::uint64_t s;
  std::uint64_t next() {
    s ^= s << 13;
    s ^= s >> 7;
    s ^= s << 17;
    return s;
  }
  std::uint64_t below(std::uint64_t n) { return next() % n; }
};

// What a side does between two values: usually nothing, so that runs of the fast mode come about; at times
// something that lets the other side run into the end of the ring.
void dawdle(dice& d, std::uint64_t calm) {
  if (d.below(calm) != 0) return;
  switch (d.below(4)) {
    case 0: leat::yield(); break;
    case 1: sleep_for(std::chrono::microseconds(d.below(60))); break;
    default:
      for (std::uint64_t i = d.below(3000); i > 0; --i) asm volatile("");
  }
}

void stream(std::size_t capacity, std::uint64_t calm, int n, std::uint64_t seed) {
  const channel<std::uint64_t> c(capacity, single_options());
  REQUIRE(c.flavour() == flavour::single);
  const auto values = static_cast<std::uint64_t>(n);
  std::atomic<std::uint64_t> wrong{0}, got{0};
  hang_guard guard("a ring of one writer and one reader", seed);
  auto writer = spawn("writer", [&] {
    dice d{seed * 2 + 1};
    for (std::uint64_t i = 0; i < values; ++i) {
      if (c.send(i) != send_status::sent) ++wrong;
      guard.progress();
      dawdle(d, calm);
    }
    c.close();
  });
  auto reader = spawn("reader", [&] {
    dice d{seed * 2 + 7};
    std::uint64_t next = 0;
    for (const std::uint64_t v : c) {
      if (v != next++) ++wrong;
      guard.progress();
      dawdle(d, calm);
    }
    got = next;
  });
  (void)writer.join();
  (void)reader.join();
  CHECK(wrong == 0);
  CHECK(got == values);
  CHECK(adds_up(c));
  CHECK(c.stats().high_water <= capacity);
}

}  // namespace

TEST_CASE(
    "in every build, with its checks and sanitizers, most values are taken without a visit to the runtime") {
  run_clean(sched::test::undisturbed(1), [] {
    const channel<int> c(256, single_options());
    auto& ring = static_cast<csp::single_base&>(*c.base());
    int run = 0, longest = 0;
    for (int round = 0; round < 8; ++round) {
      for (int i = 0; i < 128; ++i) CHECK(c.send(i) == send_status::sent);
      for (int i = 0; i < 128; ++i) {
        run = ring.look() == csp::single_base::sight::value ? run + 1 : 0;
        longest = std::max(longest, run);
        CHECK(c.recv() == i);
      }
    }
    CHECK(longest >= 60);
  });
}

TEST_CASE("every value arrives once and in order, however the two sides dawdle") {
  std::uint64_t seed = 20;
  at_procs([&] {
    for (const std::size_t capacity : {1u, 2u, 3u, 7u, 64u})
      for (const std::uint64_t calm : {4u, 40u, 3000u}) stream(capacity, calm, scaled(8000), ++seed);
  });
}

TEST_CASE("a ring that has long been calm still wakes a side that parks") {
  // Long enough for the fast mode, then a pause in which the reader parks, again and again.
  at_procs([] {
    const channel<int> c(16, single_options());
    const int bursts = scaled(60);
    hang_guard guard("a calm ring", 1);
    auto writer = spawn([&] {
      for (int b = 0; b < bursts; ++b) {
        for (int i = 0; i < 3000; ++i) (void)c.send(i);
        guard.progress();
        sleep_for(std::chrono::microseconds(200));
        (void)c.send(-1);  // the one that must not be lost
        sleep_for(std::chrono::microseconds(200));
      }
      c.close();
    });
    int marks = 0;
    for (const int v : c) marks += v < 0;
    (void)writer.join();
    CHECK(marks == bursts);
  });
}

TEST_CASE("one free place is enough for a writer that found its ring full") {
  // The reader takes one value and nothing more until the writer has told that its next one is in. The pauses
  // are such that it is taken before the writer looks, while it spins, and when it has parked.
  at_procs([] {
    for (const std::size_t capacity : {1u, 2u, 64u}) {
      const channel<int> c(capacity, single_options());
      const channel<int> is_in;
      const int rounds = scaled(2000);
      hang_guard guard("a full ring", capacity);
      auto writer = spawn([&] {
        for (std::size_t i = 0; i < capacity; ++i) (void)c.send(-1);
        for (int i = 0; i < rounds; ++i) {
          (void)c.send(i);
          (void)is_in.send(i);
        }
      });
      dice d{capacity};
      while (c.size() < capacity) leat::yield();
      for (int i = 0; i < rounds; ++i) {
        if (i % 16 == 0) sleep_for(std::chrono::microseconds(d.below(40)));
        for (std::uint64_t k = d.below(6000); k > 0; --k) asm volatile("");
        REQUIRE(c.recv().has_value());
        REQUIRE(is_in.recv() == i);
        guard.progress();
      }
      (void)writer.join();
      CHECK(c.size() == capacity);
    }
  });
}

TEST_CASE("both sides may be plain threads, or one of them") {
  for (const bool writer_is_g : {true, false}) {
    run_clean(with_procs(2), [&] {
      const keep_alive stay;
      const channel<int> c(4, single_options());
      const int n = scaled(20'000);
      const auto write = [=] {
        for (int i = 0; i < n; ++i) (void)c.send(i);
        c.close();
      };
      std::int64_t sum = 0;
      const auto read = [&] {
        for (const int v : c) sum += v;
      };
      std::thread foreign(writer_is_g ? std::function<void()>(read) : std::function<void()>(write));
      auto g = writer_is_g ? spawn(std::function<void()>(write)) : spawn(std::function<void()>(read));
      (void)g.join();
      leat::blocking([&] { foreign.join(); });
      CHECK(sum == static_cast<std::int64_t>(n) * (n - 1) / 2);
      CHECK(adds_up(c));
    });
  }
}

TEST_CASE("deadlines, stops and values may come together") {
  at_procs([] {
    for (int round = 0; round < scaled(300); ++round) {
      const channel<int> c(1, single_options());
      std::atomic<int> sent{0}, received{0};
      auto writer = spawn([&] {
        for (int i = 0; i < 20; ++i)
          if (c.send_until(i, std::chrono::microseconds(round % 30)) == send_status::sent) ++sent;
      });
      auto reader = spawn([&] {
        for (int i = 0; i < 20; ++i)
          if (c.recv_until(std::chrono::microseconds((round * 7) % 30))) ++received;
      });
      if (round % 3 == 0) reader.request_stop();
      if (round % 5 == 0) writer.request_stop();
      (void)writer.join();
      (void)reader.join();
      CHECK(sent == received + static_cast<int>(c.size()));
      CHECK(adds_up(c));
    }
  });
}

TEST_CASE("selects on both sides lose nothing") {
  at_procs([] {
    const channel<int> a(2, single_options()), b(1, single_options());
    const int n = scaled(20'000);
    hang_guard guard("selects on rings", 1);
    auto writer = spawn([&] {
      int to_a = 0, to_b = 0;
      while (to_a < n || to_b < n) {
        const leat::out<int> left = to_a < n ? leat::out<int>(a) : leat::out<int>();
        const leat::out<int> right = to_b < n ? leat::out<int>(b) : leat::out<int>();
        select(on_send(left, int{to_a}, [&] { ++to_a; }), on_send(right, int{to_b}, [&] { ++to_b; }));
        guard.progress();
      }
      a.close();
      b.close();
    });
    int from_a = 0, from_b = 0, wrong = 0;
    while (select(on_recv(a, [&](int v) { wrong += v != from_a++; }),
                  on_recv(b, [&](int v) { wrong += v != from_b++; })) >= 0) {
    }
    (void)writer.join();
    CHECK(wrong == 0);
    CHECK(from_a == n);
    CHECK(from_b == n);
  });
}

TEST_CASE("values that own something are destroyed once, in the ring or out of it") {
  at_procs([] {
    const int before = counted::live;
    {
      const channel<std::unique_ptr<counted>> c(4, single_options(full::drop_newest));
      for (int i = 0; i < 10; ++i) (void)c.send(std::make_unique<counted>(i));
      CHECK(c.stats().dropped == 6);
      CHECK(c.recv().value()->value == 0);
      CHECK(adds_up(c));
    }
    CHECK(counted::live == before);
  });
}
