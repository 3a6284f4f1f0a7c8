// SPDX-License-Identifier: BSL-1.0
// Whole programs of the kind that Go's channels are known for. Power series are in
// conformance_series_test.cpp.
#include <vector>

#include "csp/fixture.hpp"

using namespace leat;
using namespace leat::csp::test;

TEST_CASE("go: the prime sieve finds the first 100 primes") {
  // A filter tells its prime and starts the next one when that is needed: each side of a channel has one
  // user.
  struct sieve {
    task_group& group;
    const std::size_t capacity;
    const channel_options& options;
    const channel<int> primes;

    void filter(const channel<int>& from) {
      group.go([this, from] {
        const auto prime = from.recv();
        if (!prime || primes.send(*prime) != send_status::sent) return;
        const channel<int> to(capacity, options);
        filter(to);
        for (const int i : from)
          if (i % *prime != 0 && to.send(i) != send_status::sent) return;
      });
    }
  };
  at_procs_both_flavours([](const channel_options& o) {
    for (const std::size_t capacity : {0u, 1u, 10u}) {
      task_group group;
      sieve s{group, capacity, o, channel<int>()};
      const channel<int> numbers(capacity, o);
      group.go([=] {
        for (int i = 2; numbers.send(i) == send_status::sent; ++i) {
        }
      });
      s.filter(numbers);
      std::vector<int> primes;
      while (primes.size() < 100) primes.push_back(s.primes.recv().value());
      CHECK(primes.front() == 2);
      CHECK(primes[24] == 97);
      CHECK(primes.back() == 541);
      for (const int p : primes)
        for (int d = 2; d * d <= p; ++d) CHECK(p % d != 0);
      group.stop();
      (void)group.wait();
    }
  });
}

TEST_CASE("go: ping-pong: two Gs pass one token, one at a time") {
  at_procs_both_flavours([](const channel_options& o) {
    for (const std::size_t capacity : {0u, 1u}) {
      const int n = scaled(5000);
      const channel<int> ping(capacity, o), pong(capacity, o);
      auto other = spawn([=] {
        for (const int v : ping) CHECK(pong.send(v + 1) == send_status::sent);
        pong.close();
      });
      int token = 0;
      for (int i = 0; i < n; ++i) {
        CHECK(ping.send(token) == send_status::sent);
        token = pong.recv().value();
      }
      ping.close();
      CHECK(!pong.recv());
      CHECK(token == n);
      other.get();
    }
  });
}

TEST_CASE("go: fan-in: many producers into one channel") {
  at_procs([] {
    const channel<std::pair<int, int>> merged;
    constexpr int producers = 10;
    const int each = scaled(500);
    task_group group;
    for (int p = 0; p < producers; ++p)
      group.go([=] {
        for (int i = 0; i < each; ++i) CHECK(merged.send({p, i}) == send_status::sent);
      });
    std::vector<int> next(producers);
    for (int i = 0; i < producers * each; ++i) {
      const auto [p, n] = merged.recv().value();
      CHECK(n == next[static_cast<std::size_t>(p)]++);
    }
    CHECK(group.wait() == wait_status::done);
    CHECK(!merged.try_recv());
  });
}

TEST_CASE("go: fan-in by a select over a span merges channels until all are closed") {
  at_procs_both_flavours([](const channel_options& o) {
    constexpr int producers = 8;
    const int each = scaled(500);
    std::vector<channel<int>> sources;
    task_group group;
    for (int p = 0; p < producers; ++p) {
      sources.emplace_back(static_cast<std::size_t>(1 + p % 3), o);
      group.go([=, c = sources.back()] {
        for (int i = 0; i < each; ++i) CHECK(c.send(i) == send_status::sent);
        c.close();
      });
    }
    std::vector<int> next(producers);
    std::vector<select_case> cases;
    for (std::size_t p = 0; p < producers; ++p)
      cases.emplace_back(on_recv(sources[p], [&next, p](int v) { CHECK(v == next[p]++); }));
    int last = 0;
    while ((last = select(cases)) >= 0) {
    }
    CHECK(last == select_closed);
    for (const int n : next) CHECK(n == each);
  });
}

TEST_CASE("go: worker pool: jobs out to many, results back to one") {
  at_procs([] {
    const int jobs = scaled(2000);
    const channel<int> todo(4);
    const channel<std::pair<int, int>> results(4);
    task_group group;
    std::atomic<int> workers{5};
    for (int w = 0; w < 5; ++w)
      group.go([&, todo, results] {
        for (const int j : todo) results.send({j, j * j});
        if (--workers == 0) results.close();
      });
    group.go([=] {
      for (int j = 0; j < jobs; ++j) todo.send(j);
      todo.close();
    });
    std::vector<int> seen(static_cast<std::size_t>(jobs));
    for (const auto& [j, square] : results) {
      CHECK(square == j * j);
      ++seen[static_cast<std::size_t>(j)];
    }
    for (const int times : seen) CHECK(times == 1);
  });
}

TEST_CASE("go: a buffered channel as a semaphore lets n in, and no more") {
  at_procs([] {
    constexpr int places = 3;
    const channel<char> tickets(places);
    std::atomic<int> inside{0}, most{0}, entries{0};
    task_group group;
    for (int g = 0; g < 10; ++g)
      group.go([&, tickets] {
        for (int i = 0; i < scaled(200); ++i) {
          CHECK(tickets.send('x') == send_status::sent);
          const int now_in = ++inside;
          for (int m = most; now_in > m && !most.compare_exchange_weak(m, now_in);) {
          }
          CHECK(now_in <= places);
          // The first ones stay until all places are taken.
          do yield();
          while (most < places);
          ++entries;
          --inside;
          CHECK(tickets.recv());
        }
      });
    CHECK(group.wait() == wait_status::done);
    CHECK(entries == 10 * scaled(200));
    CHECK(most == places);
  });
}

TEST_CASE("go: the first answer of several wins, the late ones do not block") {
  at_procs([] {
    for (int round = 0; round < scaled(200); ++round) {
      const channel<int> answer(3);  // room for all: nobody is left waiting
      task_group group;
      for (int replica = 0; replica < 3; ++replica)
        group.go([=] { CHECK(answer.send(replica) == send_status::sent); });
      const auto first_one = answer.recv();
      REQUIRE(first_one);
      CHECK(*first_one >= 0);
      CHECK(*first_one < 3);
      CHECK(group.wait() == wait_status::done);
      CHECK(answer.size() == 2);
    }
  });
}

TEST_CASE("go: a quit channel ends a generator that sends for ever") {
  at_procs([] {
    const channel<int> numbers, quit;
    auto generator = spawn([=] {
      int n = 0;
      for (bool on = true; on;)
        select(on_send(numbers, n, [&] { ++n; }), on_recv(quit, [&](std::optional<int>) { on = false; }));
      return n;
    });
    for (int i = 0; i < 100; ++i) CHECK(numbers.recv() == i);
    quit.close();
    CHECK(generator.get() == 100);
  });
}

TEST_CASE("go: a chain of daisies: each adds one") {
  at_procs([] {
    const int length = fiber::under_tsan ? 200 : 2000;
    const channel<int> leftmost;
    channel<int> left = leftmost;
    task_group group;
    for (int i = 0; i < length; ++i) {
      const channel<int> right;
      group.go([=] { CHECK(left.send(right.recv().value() + 1) == send_status::sent); });
      left = right;
    }
    group.go([=] { CHECK(left.send(0) == send_status::sent); });
    CHECK(leftmost.recv() == length);
    CHECK(group.wait() == wait_status::done);
  });
}

TEST_CASE("go: a concurrent tree walk compares two trees by their leaves") {
  struct tree {
    int value = 0;
    std::unique_ptr<tree> left, right;
    void insert(int v) {
      auto& side = v < value ? left : right;
      if (side) {
        side->insert(v);
      } else {
        side = std::make_unique<tree>();
        side->value = v;
      }
    }
    void walk(const out<int>& to) const {
      if (left) left->walk(to);
      (void)to.send(value);
      if (right) right->walk(to);
    }
  };
  at_procs([] {
    const auto grow = [](int step, int n) {
      auto t = std::make_unique<tree>();
      t->value = 0;
      for (int i = 1; i < n; ++i) t->insert(i * step % n);
      return t;
    };
    const auto same = [](const tree& a, const tree& b) {
      const channel<int> from_a, from_b(1);
      task_group group;
      group.go([&, from_a] {
        a.walk(from_a);
        from_a.close();
      });
      group.go([&, from_b] {
        b.walk(from_b);
        from_b.close();
      });
      for (;;) {
        const auto x = from_a.recv(), y = from_b.recv();
        if (x != y) return false;
        if (!x) return true;
      }
    };
    const auto a = grow(7, 101), b = grow(31, 101), c = grow(7, 97);
    CHECK(same(*a, *b));
    CHECK(!same(*a, *c));
  });
}

TEST_CASE("a loop of selects with a timeout ticks while values come and go") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(2, o);
    auto sender = spawn([=] {
      for (int i = 0; i < 5; ++i) {
        (void)sleep_for(2ms);
        c.send(i);
      }
      c.close();
    });
    int ticks = 0, values = 0;
    for (bool open = true; open;)
      select(on_recv(c,
                     [&](std::optional<int> v) {
                       if (v) {
                         CHECK(*v == values++);
                       } else {
                         open = false;
                       }
                     }),
             on_timeout(200us, [&] { ++ticks; }));
    CHECK(values == 5);
    CHECK(ticks > 0);
    sender.get();
  });
}

TEST_CASE("deadlines: in time, late, and long past") {
  at_procs_both_flavours([](const channel_options& o) {
    const channel<int> c(1, o);
    std::optional<int> v;
    const auto start = now();
    CHECK(c.recv(v, 2ms) == recv_status::timeout);
    CHECK(now() - start >= 2ms);
    CHECK(!c.recv_until(2ms));
    CHECK(c.recv(v, start) == recv_status::timeout);
    CHECK(c.recv(v, time_point::min()) != recv_status::received);
    CHECK(c.recv(v, time_point{}) == recv_status::timeout);
    CHECK(c.send_until(1, start) == send_status::sent);  // room needs no time
    CHECK(c.send_until(2, start) == send_status::timeout);
    CHECK(c.send_until(2, 2ms) == send_status::timeout);
    CHECK(c.recv(v, start) == recv_status::received);  // nor does a value
    CHECK(v == 1);
    CHECK(c.recv(v, nanoseconds::min()) != recv_status::received);
    CHECK(c.try_recv(v) == recv_status::empty);
    const channel<int> later(1, o);
    auto sender = spawn([=] { later.send(3); });
    CHECK(later.recv_until(deadline::never()) == 3);
    sender.get();
    CHECK(adds_up(c));
  });
}
