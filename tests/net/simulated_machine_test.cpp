// SPDX-License-Identifier: BSL-1.0
//
// The pure parts of the simulated network: no runtime, all moments by hand.
#include <doctest/doctest.h>
#include <cerrno>
#include <string>

#include <leat/base/random.hpp>
#include <leat/net/simulated/connection.hpp>
#include <leat/net/simulated/datagrams.hpp>
#include <leat/net/simulated/link.hpp>

namespace leat::net::simulated {
namespace {

constexpr std::int64_t ms = 1'000'000, s = 1'000 * ms;

// Ends 0 and 1 of a connection, 10 ms each way, with a window of 100 bytes.
struct pair {
  link forth{1, 10 * ms}, back{2, 10 * ms};
  connection c{forth, back, 100, 0};

  ssize_t put(int from, std::size_t n, std::int64_t now) { return c.write(from, std::string(n, 'x'), now); }
  ssize_t get(int at, std::int64_t now, std::size_t most = 1000) {
    std::string into(most, '\0');
    return c.read(at, into, now);
  }
};

TEST_CASE("bytes arrive after the latency, in order, and not a moment before") {
  pair p;
  CHECK(p.c.write(0, "ab", 0) == 2);
  CHECK(p.c.write(0, "cd", 3 * ms) == 2);
  CHECK(p.get(1, 10 * ms - 1) == -EAGAIN);
  CHECK(p.c.next_read(1, 0) == 10 * ms);
  char into[3];
  CHECK(p.c.read(1, into, 13 * ms) == 3);
  CHECK(std::string(into, 3) == "abc");
  CHECK(p.c.next_read(1, 13 * ms) == 13 * ms);
  CHECK(p.c.read(1, into, 13 * ms) == 1);
  CHECK(into[0] == 'd');
  CHECK(p.c.next_read(1, 13 * ms) == never);
}

TEST_CASE("a slow reader stops the writer, until the word comes back that it has read") {
  pair p;
  CHECK(p.put(0, 150, 0) == 100);
  CHECK(p.put(0, 50, 0) == -EAGAIN);
  CHECK(p.c.next_write(0, 0) == never);
  CHECK(p.get(1, 20 * ms, 30) == 30);
  CHECK(p.put(0, 50, 20 * ms) == -EAGAIN);
  CHECK(p.c.next_write(0, 20 * ms) == 30 * ms);
  CHECK(p.put(0, 50, 30 * ms) == 30);
  CHECK(p.c.next_write(0, 30 * ms) == never);
}

TEST_CASE("bandwidth spreads what is written at once") {
  pair p;
  p.forth.bandwidth(1000);  // 100 bytes take 100 ms
  CHECK(p.put(0, 60, 0) == 60);
  CHECK(p.put(0, 40, 0) == 40);
  CHECK(p.get(1, 70 * ms - 1) == -EAGAIN);
  CHECK(p.get(1, 70 * ms) == 60);
  CHECK(p.get(1, 110 * ms - 1) == -EAGAIN);
  CHECK(p.get(1, 110 * ms) == 40);
}

TEST_CASE("an end that writes no more still reads; the other sees the end behind the last byte") {
  pair p;
  CHECK(p.put(0, 5, 0) == 5);
  p.c.shutdown_write(0, 0);
  CHECK(p.put(0, 1, 0) == -EPIPE);
  CHECK(p.get(1, 9 * ms) == -EAGAIN);
  CHECK(p.get(1, 10 * ms) == 5);
  CHECK(p.get(1, 10 * ms) == 0);
  CHECK(p.put(1, 7, 10 * ms) == 7);
  CHECK(p.get(0, 20 * ms) == 7);
}

TEST_CASE("a close with bytes unread resets; one without is the end of the stream") {
  pair p;
  CHECK(p.put(0, 5, 0) == 5);
  p.c.close(1, 10 * ms);
  CHECK(p.get(0, 20 * ms - 1) == -EAGAIN);
  CHECK(p.c.next_read(0, 10 * ms) == 20 * ms);
  CHECK(p.get(0, 20 * ms) == -ECONNRESET);
  CHECK(p.get(0, 20 * ms) == 0);
  CHECK(p.put(0, 1, 20 * ms) == -EPIPE);

  pair q;
  q.c.close(1, 0);
  CHECK(q.get(0, 9 * ms) == -EAGAIN);
  CHECK(q.get(0, 10 * ms) == 0);
  CHECK(q.put(0, 5, 10 * ms) == 5);  // nobody knows yet
  CHECK(q.put(0, 5, 29 * ms) == 5);
  CHECK(q.put(0, 5, 30 * ms) == -ECONNRESET);
  CHECK(q.put(0, 5, 30 * ms) == -EPIPE);
}

TEST_CASE("a close while bytes are on their way resets when they come") {
  pair p;
  CHECK(p.put(0, 5, 0) == 5);
  p.c.close(1, 3 * ms);
  CHECK(p.get(0, 13 * ms) == 0);  // its end
  CHECK(p.put(0, 1, 19 * ms) == 1);
  CHECK(p.put(0, 1, 20 * ms) == -ECONNRESET);
}

TEST_CASE("a half-open peer is found by what is sent, or by a probe") {
  pair p;
  p.c.vanish(1, 0);
  CHECK(p.get(0, 30 * s) == -EAGAIN);
  CHECK(p.c.next_read(0, 0) == 60 * s + 20 * ms);
  CHECK(p.put(0, 5, 30 * s) == 5);
  CHECK(p.get(0, 30 * s + 20 * ms - 1) == -EAGAIN);
  CHECK(p.get(0, 30 * s + 20 * ms) == -ECONNRESET);

  pair q;
  q.c.vanish(1, 0);
  CHECK(q.get(0, 60 * s + 20 * ms) == -ECONNRESET);
}

TEST_CASE("a cut delays bytes, and loses none") {
  pair p;
  CHECK(p.put(0, 5, 0) == 5);
  p.forth.cut(5 * ms, 5 * s);
  p.c.reroute(5 * ms);
  CHECK(p.put(0, 6, 1 * s) == 6);
  CHECK(p.get(1, 5 * s + 10 * ms - 1) == -EAGAIN);
  CHECK(p.get(1, 5 * s + 10 * ms) == 11);
  CHECK(p.put(1, 1, 5 * s) == 1);  // the other way was never cut
  CHECK(p.get(0, 5 * s + 10 * ms) == 1);
}

TEST_CASE("a cut without an end holds all until it is healed") {
  pair p;
  p.forth.cut(0, never);
  CHECK(p.put(0, 5, 0) == 5);
  p.c.shutdown_write(0, 0);
  CHECK(p.c.next_read(1, 0) == link::patience);
  p.forth.heal(30 * s);
  p.c.reroute(30 * s);
  CHECK(p.c.next_read(1, 30 * s) == 30 * s + 10 * ms);
  CHECK(p.get(1, 30 * s + 10 * ms) == 5);
  CHECK(p.get(1, 30 * s + 10 * ms) == 0);
}

TEST_CASE("a cut that lasts for too long ends both ends") {
  pair p;
  p.back.cut(10 * s, never);
  for (const int end : {0, 1}) {
    CHECK(p.get(end, 10 * s + link::patience - 1) == -EAGAIN);
    CHECK(p.get(end, 10 * s + link::patience) == -ETIMEDOUT);
    CHECK(p.get(end, 10 * s + link::patience) == 0);
  }
}

TEST_CASE("a one-way cut keeps back the word that was read: the writer stops") {
  pair p;
  CHECK(p.put(0, 100, 0) == 100);
  p.back.cut(0, 3 * s);
  CHECK(p.get(1, 10 * ms) == 100);
  CHECK(p.c.next_write(0, 10 * ms) == 3 * s + 10 * ms);
  CHECK(p.put(0, 1, 3 * s + 10 * ms) == 1);
}

// Whatever happens: what is read is what was written, from its beginning; who is told to wait is told until when, and
// not for nothing; and without faults all of it arrives.
TEST_CASE("many random lives of a connection keep to its rules") {
  for (std::uint32_t seed = 1; seed <= 300; ++seed) {
    CAPTURE(seed);
    std::uint32_t random = seed * 2654435761u | 1;
    const auto below = [&](std::uint32_t n) { return next_random(random) % n; };
    link forth(seed, below(20) * ms), back(~seed, below(20) * ms);
    if (below(2) == 0) forth.bandwidth(10'000 + below(1'000'000));
    if (below(3) == 0) back.jitter(5 * ms);
    if (below(3) == 0) forth.cut_at_random(0, 200 * ms, 50 * ms);
    connection c(forth, back, 1 + below(5000), 0);
    const bool faults = seed % 2 == 0;
    std::size_t written[2] = {}, read[2] = {};
    std::string buffer(3000, '\0');
    std::int64_t now = 0;
    const auto step = [&](int me, std::uint32_t what) {
      if (what < 4) {
        const std::size_t n = 1 + below(3000);
        for (std::size_t i = 0; i < n; ++i) buffer[i] = static_cast<char>((written[me] + i) * 31);
        const ssize_t k = c.write(me, {buffer.data(), n}, now);
        if (k == -EAGAIN) REQUIRE(c.next_write(me, now) > now);
        if (k > 0) written[me] += static_cast<std::size_t>(k);
      } else if (what < 8) {
        const ssize_t k = c.read(me, {buffer.data(), 1 + below(3000)}, now);
        if (k == -EAGAIN) REQUIRE(c.next_read(me, now) > now);
        bool same = true;
        for (ssize_t i = 0; i < k; ++i, ++read[me])
          same &= buffer[static_cast<std::size_t>(i)] == static_cast<char>(read[me] * 31);
        REQUIRE(same);
      }
    };
    for (int i = 0; i < 300; ++i) {
      now += below(10) * ms;
      const int me = static_cast<int>(below(2));
      step(me, below(8));
      if (below(30) == 0) {
        link& l = below(2) == 0 ? forth : back;
        if (below(2) == 0)
          l.cut(now, now + below(1000) * ms);
        else
          l.heal(now);
        c.reroute(now);
      }
      if (!faults || below(100) != 0) continue;
      switch (below(5)) {
        case 0: c.shutdown_write(me, now); break;
        case 1: c.close(me, now); break;
        case 2: c.vanish(me, now); break;
        case 3: c.abort(me, now); break;
        default: c.reset(now);
      }
    }
    forth.heal(now);
    back.heal(now);
    c.reroute(now);
    if (faults) continue;
    for (int i = 0; i < 200; ++i, now += s)
      for (const int me : {0, 1}) step(me, 4);
    CHECK(read[0] == written[1]);
    CHECK(read[1] == written[0]);
  }
}

TEST_CASE("what takes longer than a link is ever up for gets through in the end") {
  link l(1, 1 * s);
  l.cut_at_random(0, 100 * ms, 10 * ms);
  CHECK(l.carry(0, 100) != never);
  CHECK(l.carry_control(0) != never);
}

TEST_CASE("datagrams are lost, doubled and overtaken as often as the rates say, by the seed") {
  const auto run = [](std::uint64_t seed) {
    link l(seed, 10 * ms);
    l.rates() = {.loss = 0.1, .duplicate = 0.05, .reorder = 0.2};
    std::string story;
    for (int i = 0; i < 10'000; ++i) {
      const link::arrivals a = l.carry_datagram(i * ms, 100);
      story += std::to_string(a.first) + ' ' + std::to_string(a.second) + '\n';
    }
    const link_counts& c = l.counts();
    CHECK(c.datagrams == 10'000);
    CHECK((c.lost > 900 && c.lost < 1100));
    CHECK((c.duplicated > 380 && c.duplicated < 520));
    CHECK((c.reordered > 1650 && c.reordered < 1950));
    return story;
  };
  const std::string once = run(7);
  CHECK(once == run(7));
  CHECK(once != run(8));
}

TEST_CASE("cuts by chance begin and end by the seed, about as often as asked") {
  const auto run = [](std::uint64_t seed) {
    link l(seed, ms);
    l.cut_at_random(0, 60 * s, 5 * s);
    std::string story;
    bool up = true;
    int cuts = 0;
    std::int64_t down = 0;
    for (std::int64_t t = 0; t < 3600 * s; t += 100 * ms) {
      const bool is = l.is_up(t);
      cuts += up && !is;
      down += is ? 0 : 100 * ms;
      if (is != up) story += std::to_string(t) + '\n';
      up = is;
    }
    CHECK((cuts > 40 && cuts < 80));
    CHECK((down > 180 * s && down < 420 * s));
    CHECK(l.gives_up_at(0) == never);
    return story;
  };
  CHECK(run(1) == run(1));
  CHECK(run(1) != run(2));
}

TEST_CASE("a queue of datagrams orders them by arrival, and drops what has no room") {
  datagram_queue q;
  q.push({20, {}, "late"});
  q.push({10, {}, "early"});
  q.push({20, {}, "later"});
  CHECK(q.next(0) == 10);
  CHECK(q.front(9) == nullptr);
  CHECK(q.front(10)->bytes == "early");
  CHECK(q.take().bytes == "early");
  CHECK(q.front(10) == nullptr);
  CHECK(q.front(20)->bytes == "late");
  (void)q.take();
  CHECK(q.take().bytes == "later");
  for (int i = 0; i < 30; ++i) q.push({30, {}, std::string(10'000, 'x')});
  CHECK(q.front(30) != nullptr);
  CHECK(q.dropped() == 9);
}

}  // namespace
}  // namespace leat::net::simulated
