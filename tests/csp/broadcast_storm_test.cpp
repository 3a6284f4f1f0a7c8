// SPDX-License-Identifier: BSL-1.0
//
// Many senders, and readers that subscribe and leave all the time, with every policy, by every kind of call.
#include <array>
#include <atomic>
#include <optional>
#include <vector>

#include <doctest/doctest.h>

#include "csp/broadcast_fixture.hpp"
#include "sched/hang_guard.hpp"

using namespace leat::csp::test;
using namespace std::chrono_literals;
using leat::channel;
using leat::channel_stats;
using leat::full;
using leat::recv_status;
using leat::send_status;

namespace {

// Writers send numbers without gaps; what a reader that blocks or fails gets must have none.
struct storm {
  static constexpr int writers = 4, readers = 5;
  std::atomic<std::uint64_t> sent{0}, nobody{0}, wrong{0};
  channel<throwing_copy> c = hub<throwing_copy>(2);

  void write(int me, std::uint64_t seed, int n) {
    random_numbers random(seed);
    throwing_copy v(me, 1);
    for (int i = 0; i < n; ++i) {
      const std::uint64_t number = v.number;
      send_status s{};
      switch (random.below(4)) {
        case 0: s = c.try_send(v); break;
        case 1: s = c.send_until(std::move(v), leat::nanoseconds(random.below(50'000))); break;
        case 2: {
          // The node of a select is made of a value of its own.
          send_test_case<throwing_copy> x(c, throwing_copy(me, number));
          const int done = choose({&x}, leat::now_ns() + static_cast<std::int64_t>(random.below(50'000)));
          s = done == -1  ? send_status::closed
              : done < 0  ? send_status::timeout
              : x.taken() ? send_status::sent
                          : send_status::dropped;
          if (s == send_status::sent) v.number = 0;
          break;
        }
        default: s = c.send(std::move(v)); break;
      }
      if (s == send_status::sent || s == send_status::dropped) {
        ++sent;
        if (s == send_status::dropped) ++nobody;
        if (v.number != (s == send_status::sent ? 0 : number)) ++wrong;
        v.number = number + 1;
      } else {
        if (v.number != number) ++wrong;
        if (s == send_status::closed || s == send_status::stopped) return;
      }
      if (random.one_in(16)) leat::yield();
    }
  }

  struct seen_numbers {
    std::array<std::uint64_t, writers> last{};
    std::uint64_t count = 0;
  };
  void note(const throwing_copy& v, bool gaps, seen_numbers& seen) {
    std::uint64_t& last = seen.last[static_cast<std::size_t>(v.writer)];
    if (last != 0 && (gaps ? v.number <= last : v.number != last + 1)) ++wrong;
    last = v.number;
    ++seen.count;
  }

  // One way or another; false: closed or stopped. A copy that threw is tried again.
  bool read_one(const leat::in<throwing_copy>& from, random_numbers& random, bool gaps, seen_numbers& seen) {
    try {
      std::optional<throwing_copy> v;
      recv_status s{};
      switch (random.below(4)) {
        case 0: s = from.try_recv(v); break;
        case 1: s = from.recv(v, leat::nanoseconds(random.below(50'000))); break;
        case 2: {
          recv_test_case<throwing_copy> x(from);
          const int done = choose({&x}, leat::now_ns() + static_cast<std::int64_t>(random.below(50'000)));
          if (done == 0) v.emplace(x.take());
          s = done == -1 ? recv_status::closed : recv_status::timeout;
          break;
        }
        default: s = from.recv(v); break;
      }
      if (v) {
        note(*v, gaps, seen);
      } else if (s == recv_status::closed || leat::stop_requested()) {
        return false;
      }
    } catch (const std::runtime_error&) {
    }
    return true;
  }

  // Subscribes and leaves until the channel is closed.
  void read(std::uint64_t seed, hang_guard& guard) {
    random_numbers random(seed);
    for (bool more = true; more;) {
      const auto policy = static_cast<full>(random.below(5));
      const bool gaps = policy != full::block && policy != full::fail;
      auto in = c.subscribe(random.below(4), policy);
      seen_numbers seen;
      for (auto n = random.below(40); n > 0 && more; --n) more = read_one(in, random, gaps, seen);
      const channel_stats s = in.stats();
      if (!adds_up(s) || s.received != seen.count || (!gaps && s.dropped != 0)) ++wrong;
      guard.progress();
    }
  }
};

}  // namespace

TEST_CASE("a storm of senders and of readers that come and go: the ledger adds up for each") {
  const std::uint64_t seed = seed_for("broadcast storm");
  constexpr int sends = leat::fiber::under_tsan ? 1500 : 6000;
  for (const unsigned procs : {1u, 2u, 4u}) {
    for (const std::uint64_t throws : {0u, 37u}) {
      CAPTURE(procs);
      CAPTURE(throws);
      throwing_copy::one_in = throws;
      run_clean(with_procs(procs), [&] {
        hang_guard guard("broadcast storm", seed, 10s * slow_build);
        storm s;
        std::vector<leat::task<void>> readers, writers;
        for (unsigned r = 0; r < storm::readers; ++r)
          readers.push_back(leat::spawn([&s, &guard, x = seed + r] { s.read(x, guard); }));
        for (int w = 0; w < storm::writers; ++w)
          writers.push_back(
              leat::spawn([&s, w, x = seed + 100 + static_cast<unsigned>(w)] { s.write(w, x, sends); }));
        for (auto& w : writers) w.get();
        s.c.close();
        for (auto& r : readers) r.get();
        CHECK(s.wrong == 0);
        CHECK(s.c.stats().sent == s.sent);
        CHECK(s.c.stats().dropped == s.nobody);
        CHECK(adds_up(s.c.stats()));
      });
      throwing_copy::one_in = 0;
      CHECK(throwing_copy::alive == 0);
    }
  }
}

TEST_CASE("stops and closes in the midst of a storm leave nothing behind") {
  const std::uint64_t seed = seed_for("broadcast stops");
  constexpr int rounds = leat::fiber::under_tsan ? 60 : 400;
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    run_clean(with_procs(procs), [&] {
      hang_guard guard("broadcast stops", seed, 10s * slow_build);
      random_numbers random(seed + procs);
      for (int i = 0; i < rounds; ++i) {
        storm s;
        std::vector<leat::task<void>> all;
        for (unsigned r = 0; r < storm::readers; ++r)
          all.push_back(leat::spawn([&s, &guard, x = random.next()] { s.read(x, guard); }));
        for (int w = 0; w < storm::writers; ++w)
          all.push_back(leat::spawn([&s, w, x = random.next()] { s.write(w, x, 1'000'000); }));
        if (random.one_in(2)) {
          spin_for(leat::nanoseconds(random.below(50'000)));
        } else {
          (void)leat::sleep_for(leat::nanoseconds(random.below(300'000)));
        }
        const bool close_first = random.one_in(3);
        if (close_first) s.c.close();
        for (auto& t : all)
          if (!close_first || random.one_in(2)) t.request_stop();
        if (!close_first) s.c.close();
        for (auto& t : all) t.get();
        if (s.wrong != 0 || s.c.stats().sent != s.sent) FAIL("the ledger does not add up");
        guard.progress();
      }
    });
    CHECK(throwing_copy::alive == 0);
  }
}
