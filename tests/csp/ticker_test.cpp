// SPDX-License-Identifier: BSL-1.0
//
// What is due when is tested with made-up times; the few tests with real time bound it from one side only.
#include <array>
#include <atomic>
#include <memory>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include <leat/csp/ticker.hpp>
#include <leat/leat.hpp>

#include "csp/fixture.hpp"
#include "sched/hang_guard.hpp"

using namespace leat::csp::test;
using namespace std::chrono_literals;
using leat::from_ns;
using leat::missed;
using leat::nanoseconds;
using leat::recv_status;
using leat::tick;
using leat::time_point;
using leat::csp::tick_schedule;

namespace {

tick_schedule every_10(missed policy) { return tick_schedule(from_ns(10), nanoseconds(10), policy); }

struct expected {
  std::uint64_t number;
  std::int64_t at;
  std::uint64_t missed;
};
void check_take(tick_schedule& s, std::int64_t now, expected e) {
  CAPTURE(now);
  const auto t = s.take(from_ns(now));
  REQUIRE(t);
  CHECK(t->number == e.number);
  CHECK(t->at == from_ns(e.at));
  CHECK(t->missed == e.missed);
}

// What an idle ticker must not do: the waiting G is woken once per tick at most.
template <class F>
auto spawn_and_let_receive(F f) {
  auto where = std::make_shared<whereabouts>();
  auto t = leat::spawn([where, f = std::move(f)]() mutable {
    where->here();
    return f();
  });
  CHECK(where->will_park(leat::sched::wait_reason::receive));
  return t;
}

}  // namespace

TEST_CASE("nothing is due before the first period has passed") {
  for (const missed policy : {missed::skip, missed::burst, missed::delay}) {
    auto s = every_10(policy);
    for (std::int64_t now = 0; now < 10; ++now) {
      CHECK_FALSE(s.ready(from_ns(now)));
      CHECK_FALSE(s.take(from_ns(now)));
    }
    CHECK(s.due() == from_ns(10));
    CHECK(s.ready(from_ns(10)));
  }
}

TEST_CASE("ticks taken in time are the same under every policy that keeps the phase") {
  for (const missed policy : {missed::skip, missed::burst}) {
    auto s = every_10(policy);
    for (std::uint64_t i = 1; i < 50; ++i) {
      const auto due = static_cast<std::int64_t>(10 * i);
      check_take(s, due + static_cast<std::int64_t>(i % 10), {i, due, 0});
      CHECK(s.due() == from_ns(due + 10));
    }
  }
}

TEST_CASE("skip delivers the last tick that is due, tells how many were skipped, and keeps the phase") {
  auto s = every_10(missed::skip);
  check_take(s, 10, {1, 10, 0});
  check_take(s, 57, {5, 50, 3});
  CHECK_FALSE(s.take(from_ns(59)));
  check_take(s, 60, {6, 60, 0});
  check_take(s, 80, {8, 80, 1});
}

TEST_CASE("burst delivers every tick, late ones at once") {
  auto s = every_10(missed::burst);
  for (std::uint64_t i = 1; i <= 5; ++i) check_take(s, 57, {i, static_cast<std::int64_t>(10 * i), 0});
  CHECK_FALSE(s.take(from_ns(57)));
  check_take(s, 60, {6, 60, 0});
}

TEST_CASE("delay puts the next tick off to a period after the late one was taken") {
  auto s = every_10(missed::delay);
  check_take(s, 57, {1, 10, 0});
  CHECK(s.due() == from_ns(67));
  CHECK_FALSE(s.take(from_ns(66)));
  check_take(s, 70, {2, 67, 0});
  check_take(s, 80, {3, 80, 0});
}

TEST_CASE("whenever ticks are taken, none is lost uncounted and none comes early") {
  random_numbers random(seed_for("tick schedule"));
  for (int round = 0; round < 2000; ++round) {
    const auto policy = static_cast<missed>(random.below(3));
    const auto period = static_cast<std::int64_t>(1 + random.below(20));
    const auto first = static_cast<std::int64_t>(random.below(100));
    tick_schedule s(from_ns(first), nanoseconds(period), policy);
    std::int64_t now = 0, last_taken = 0, last_at = first - period;
    std::uint64_t delivered = 0, skipped = 0;
    for (int i = 0; i < 100; ++i) {
      now += static_cast<std::int64_t>(random.below(random.one_in(5) ? 200 : 8));
      const bool ready = s.ready(from_ns(now));
      REQUIRE(ready == (s.due() <= from_ns(now)));
      const time_point due = s.due();
      const auto t = s.take(from_ns(now));
      REQUIRE(t.has_value() == ready);
      REQUIRE(s.due() >= due);  // what the waiters rely on
      if (!t) continue;
      ++delivered;
      skipped += t->missed;
      const std::int64_t at = leat::to_ns(t->at);
      REQUIRE(at <= now);
      REQUIRE(t->number == delivered + skipped);
      if (policy == missed::delay) {
        REQUIRE(at == (delivered == 1 ? first : last_taken + period));
      } else {
        REQUIRE(at == first + static_cast<std::int64_t>(t->number - 1) * period);
        REQUIRE(at == last_at + static_cast<std::int64_t>(t->missed + 1) * period);
      }
      if (policy == missed::skip) REQUIRE(now - at < period);
      if (policy != missed::skip) REQUIRE(t->missed == 0);
      last_at = at;
      last_taken = now;
    }
  }
}

TEST_CASE("a period that ends after the end of time never ticks again") {
  for (const missed policy : {missed::skip, missed::burst, missed::delay}) {
    tick_schedule s(from_ns(10), nanoseconds::max(), policy);
    check_take(s, 20, {1, 10, 0});
    CHECK(s.due() == leat::never);
    CHECK_FALSE(s.take(leat::never));
  }
}

TEST_CASE("a period that is not above zero is refused") {
  for (const auto period : {0ns, -1ns, nanoseconds(-1h)}) {
    try {
      leat::ticker t(period);
      FAIL("it ticks");
    } catch (const std::invalid_argument& e) {
      CHECK(std::string(e.what()).find("above zero") != std::string::npos);
    }
  }
  const leat::ticker of_ages(std::chrono::hours::max());
  CHECK_FALSE(of_ages.try_recv());
}

TEST_CASE("a ticker ticks: numbers rise, no tick comes early") {
  at_procs([] {
    const auto start = leat::now();
    leat::ticker beat(1ms);
    std::uint64_t last = 0;
    int n = 0;
    for (const tick t : beat) {
      const auto now = leat::now();
      CHECK(t.at <= now);
      CHECK(t.number == last + t.missed + 1);
      CHECK(t.at >= start + static_cast<std::int64_t>(t.number) * nanoseconds(1ms));
      last = t.number;
      if (++n == 5) break;
    }
    const auto s = beat.stats();
    CHECK(s.received == 5);
    CHECK(s.sent == last);
    CHECK(s.sent == s.received + s.dropped + s.left);
  });
}

TEST_CASE("a ticker that nobody looked at for long: burst has all, skip the last") {
  run_clean(with_procs(2), [] {
    leat::ticker all(1ms, missed::burst), last(1ms, missed::skip);
    (void)leat::sleep_for(10ms);
    const auto t = last.try_recv();
    REQUIRE(t);
    CHECK(t->number >= 9);
    for (std::uint64_t i = 1; i <= 9; ++i) CHECK(all.try_recv()->number == i);
  });
}

TEST_CASE("recv_until a time before the tick is a timeout, and the tick is not lost") {
  at_procs([] {
    leat::ticker slow(1h);
    std::optional<tick> t;
    CHECK(slow.recv(t, 1ms) == recv_status::timeout);
    CHECK(slow.recv(t, leat::now() - 1s) == recv_status::timeout);
    CHECK(slow.try_recv(t) == recv_status::empty);
    CHECK(slow.size() == 0);
    leat::ticker quick(1ms);
    CHECK(quick.recv(t, 1h) == recv_status::received);
    CHECK(quick.recv_until(1h).has_value());
  });
}

TEST_CASE("a stop ends the wait for a tick") {
  at_procs([] {
    leat::ticker slow(1h);
    auto t = spawn_and_let_receive([slow] {
      std::optional<tick> to;
      return slow.recv(to);
    });
    t.request_stop();
    CHECK(t.get() == recv_status::stopped);
  });
}

TEST_CASE("cancel ends a ticker for all who hold it, and may be repeated") {
  at_procs([] {
    leat::ticker slow(1h);
    const leat::in<tick> copy = slow;
    auto a = spawn_and_let_receive([copy] { return copy.recv(); });
    auto b = spawn_and_let_receive([copy] { return copy.recv_until(2h); });
    slow.cancel();
    slow.cancel();
    CHECK(a.get() == std::nullopt);
    CHECK(b.get() == std::nullopt);
    CHECK(copy.closed());
    for ([[maybe_unused]] const tick t : copy) FAIL("it ticks");
    leat::ticker().cancel();
  });
}

TEST_CASE("those who share a ticker get each tick once") {
  at_procs([] {
    leat::ticker beat(200us, missed::burst);
    std::array<std::atomic<int>, 41> seen{};
    std::vector<leat::task<void>> all;
    for (int i = 0; i < 4; ++i)
      all.push_back(leat::spawn([&, beat] {
        for (const tick t : beat) {
          if (t.number > 40) break;
          ++seen[t.number];
        }
      }));
    for (auto& t : all) t.get();
    for (std::size_t i = 1; i <= 40; ++i) CHECK(seen[i] == 1);
  });
}

TEST_CASE("after gives one tick and is then closed, also for others who wait") {
  at_procs([] {
    const auto start = leat::now();
    const leat::in<tick> soon = leat::after(2ms);
    std::vector<leat::task<bool>> all;
    for (int i = 0; i < 3; ++i) all.push_back(leat::spawn([soon] { return soon.recv().has_value(); }));
    int got = 0;
    for (auto& t : all) got += t.get() ? 1 : 0;
    CHECK(got == 1);
    CHECK(leat::now() >= start + 2ms);
    CHECK(soon.closed());

    const leat::in<tick> past = leat::after(-1s);
    CHECK(past.size() == 1);
    CHECK(past.try_recv()->number == 1);
    std::optional<tick> t;
    CHECK(past.recv(t) == recv_status::closed);
    CHECK(past.size() == 0);

    const leat::in<tick> at_no_time = leat::after(nanoseconds::max());
    CHECK(at_no_time.recv(t, 1ms) == recv_status::timeout);
  });
}

TEST_CASE("plain threads wait for ticks too") {
  leat::ticker beat(1ms);
  CHECK(beat.recv().has_value());  // without a runtime
  run_clean(with_procs(2),
            [&] { leat::blocking([&] { std::thread([&] { CHECK(beat.recv().has_value()); }).join(); }); });
}

TEST_CASE("a ticker in a select: the case is due when it says, and a cancel is told") {
  using leat::csp::ending;
  at_procs([] {
    leat::ticker slow(1h);
    std::optional<tick> to;
    leat::csp::op_case c;
    c.slot = &to;
    leat::csp::channel_base& base = *slow.base();
    auto waits = spawn_and_let_receive([&] {
      leat::csp::entered in;
      CHECK(base.try_case(in, c) == ending::pending);
      leat::csp::contested_wait me(&in.g());
      c.entry.who = &me;
      CHECK(base.enroll(in, c, me) == ending::pending);
      const auto until = base.due();
      const auto outcome = me.block(in, leat::sched::wait_reason::receive, until);
      base.withdraw(c);
      return outcome == 0 && c.entry.said == leat::csp::ending::closed && until > leat::now_ns();
    });
    slow.cancel();
    CHECK(waits.get());
    CHECK(base.due() == leat::csp::forever);

    const leat::in<tick> past = leat::after(0s);
    leat::csp::entered in;
    CHECK(past.base()->due() <= leat::now_ns());
    leat::csp::contested_wait me(&in.g());
    c.entry.who = &me;
    CHECK(past.base()->enroll(in, c, me) == ending::done);
    CHECK(to->number == 1);
    CHECK(past.base()->try_case(in, c) == ending::closed);
  });
}

TEST_CASE("cancels and stops that race with ticks wake everybody") {
  const std::uint64_t seed = seed_for("ticker races");
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    run_clean(with_procs(procs), [&] {
      hang_guard guard("ticker races", seed, 10s * slow_build);
      random_numbers random(seed + procs);
      for (int i = 0; i < scaled(300); ++i) {
        const nanoseconds period(1 + random.below(50'000));
        leat::ticker beat(period, static_cast<missed>(random.below(3)));
        std::atomic<std::uint64_t> taken{0};
        std::vector<leat::task<void>> all;
        for (int k = 0; k < 3; ++k)
          all.push_back(leat::spawn([&, beat] {
            for ([[maybe_unused]] const tick t : beat) ++taken;
          }));
        (void)leat::sleep_for(nanoseconds(random.below(100'000)));
        all[0].request_stop();
        beat.cancel();
        for (auto& t : all) t.get();
        if (beat.stats().received != taken) FAIL("a tick was counted and not delivered");
        guard.progress();
      }
    });
  }
}
