// SPDX-License-Identifier: BSL-1.0
// Broadcast channels in selects.

#include <doctest/doctest.h>

#include "csp/broadcast_fixture.hpp"

using namespace leat::csp::test;
using namespace std::chrono_literals;
using leat::channel;
using leat::full;
using leat::send_status;

namespace {

struct two_hubs {
  channel<int> one = hub<int>(), two = hub<int>();
  leat::in<int> a = one.subscribe(1), b = two.subscribe(1);
};

}  // namespace

TEST_CASE("a select takes a value that is there") {
  at_procs([] {
    two_hubs h;
    h.two.send(5);
    recv_test_case<int> x(h.a), y(h.b);
    CHECK(choose({&x, &y}) == 1);
    CHECK(y.take() == 5);
  });
}

TEST_CASE("a select is given a value that comes, and no other") {
  at_procs([] {
    two_hubs h;
    auto t = spawn_and_let_wait([&] {
      recv_test_case<int> x(h.a), y(h.b);
      const int i = choose({&x, &y});
      return 10 * i + (i ? y : x).take();
    });
    CHECK(h.two.send(5) == send_status::sent);
    CHECK(h.one.send(6) == send_status::sent);  // into the ring: the select has withdrawn
    CHECK(t.get() == 15);
    CHECK(h.a.recv() == 6);
  });
}

TEST_CASE("a select sends when there is room, and only once") {
  at_procs([] {
    two_hubs h;
    h.one.send(1);
    h.two.send(1);
    auto t = spawn_and_let_wait([&] {
      send_test_case<int> x(h.one, 2), y(h.two, 3);
      return choose({&x, &y});
    });
    CHECK(h.b.recv() == 1);
    CHECK(t.get() == 1);
    CHECK(h.b.recv() == 3);
    CHECK(h.a.recv() == 1);
    CHECK(h.a.size() == 0);
  });
}

TEST_CASE("a reader that fails makes a select wait") {
  at_procs([] {
    two_hubs h;
    auto strict = h.one.subscribe(1, full::fail);
    h.one.send(1);
    CHECK(h.a.recv() == 1);
    auto t = spawn_and_let_wait([&] {
      send_test_case<int> x(h.one, 2);
      return choose({&x});
    });
    CHECK(strict.recv() == 1);
    CHECK(t.get() == 0);
    CHECK(strict.recv() == 2);
  });
}

TEST_CASE("a close ends a select") {
  at_procs([] {
    two_hubs h;
    auto t = spawn_and_let_wait([&] {
      recv_test_case<int> x(h.a), y(h.b);
      return choose({&x, &y});
    });
    h.one.close();
    CHECK(t.get() == -1);
  });
}

TEST_CASE("a select sends what it receives itself") {
  at_procs([] {
    two_hubs h;
    send_test_case<int> x(h.one, 2);
    recv_test_case<int> y(h.a);
    CHECK(choose({&x, &y}) == 0);
    CHECK(choose({&y, &x}) == 0);
    CHECK(y.take() == 2);
  });
}

TEST_CASE("a select that gave up gets nothing later") {
  at_procs([] {
    two_hubs h;
    recv_test_case<int> x(h.a), y(h.b);
    CHECK(choose({&x, &y}, leat::now_ns() + 1'000'000) == -2);
    CHECK(h.two.send(1) == send_status::sent);
    CHECK(h.b.recv() == 1);
  });
}
