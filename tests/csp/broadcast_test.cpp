// SPDX-License-Identifier: BSL-1.0
// A channel whose readers each get every value: policies, waiting, closing.
#include <optional>
#include <string>
#include <vector>

#include <doctest/doctest.h>

#include "csp/broadcast_fixture.hpp"

using namespace leat::csp::test;
using namespace std::chrono_literals;
using leat::channel;
using leat::full;
using leat::recv_status;
using leat::send_status;

using ints = std::vector<int>;

TEST_CASE("every reader gets every value, in order") {
  at_procs([] {
    auto c = hub<int>(3);
    std::vector<leat::task<ints>> readers;
    for (int r = 0; r < 3; ++r)
      readers.push_back(leat::spawn([in = leat::in<int>(c)] {
        ints got;
        for (const int v : in) got.push_back(v);
        return got;
      }));
    ints all;
    for (int i = 0; i < 200; ++i) {
      all.push_back(i);
      if (c.send(i) != send_status::sent) FAIL("not sent");
    }
    c.close();
    for (auto& r : readers) CHECK(r.get() == all);
    CHECK(c.stats().sent == 200);
    CHECK(c.stats().dropped == 0);
  });
}

TEST_CASE(
    "a reader gets what is sent after it subscribed, and keeps it when the channel's handles are gone") {
  at_procs([] {
    auto c = hub<int>();
    auto early = c.subscribe(8);
    c.send(1);
    auto late = c.subscribe(8);
    c.send(2);
    c = hub<int>();
    CHECK(drain(early) == ints{1, 2});
    CHECK(drain(late) == ints{2});
  });
}

TEST_CASE("an in made from a broadcast channel has the channel's capacity and policy") {
  run_clean(with_procs(2), [] {
    auto c = hub<int>(2, full::drop_oldest);
    leat::in<int> a = c;
    CHECK(a.capacity() == 2);
    CHECK(a.flavour() == leat::flavour::broadcast_reader);
    CHECK(c.flavour() == leat::flavour::broadcast);
    for (int i = 0; i < 5; ++i) CHECK(c.send(i) == send_status::sent);
    CHECK(drain(a) == ints{3, 4});
    CHECK(a.stats().dropped == 3);
    CHECK(adds_up(a.stats()));
  });
}

TEST_CASE("copies of an in share one reader, and each value goes to one of them") {
  at_procs([] {
    auto c = hub<int>(2);
    leat::in<int> a = c;
    std::atomic<int> sum{0}, n{0};
    std::vector<leat::task<void>> readers;
    for (int r = 0; r < 3; ++r)
      readers.push_back(leat::spawn([a, &sum, &n] {
        for (const int v : a) {
          sum += v;
          ++n;
        }
      }));
    for (int i = 1; i <= 100; ++i) c.send(i);
    c.close();
    for (auto& r : readers) r.get();
    CHECK(n == 100);
    CHECK(sum == 5050);
  });
}

TEST_CASE("without readers a value is dropped, counted, and stays with the sender") {
  run_clean(with_procs(2), [] {
    auto c = hub<std::string>();
    std::string v = "a value too long for the small string optimization";
    CHECK(c.send(std::move(v)) == send_status::dropped);
    CHECK(v == "a value too long for the small string optimization");
    CHECK(c.stats().sent == 1);
    CHECK(c.stats().dropped == 1);
    CHECK(adds_up(c.stats()));
    CHECK(c.size() == 0);
  });
}

TEST_CASE("one send, every policy") {
  run_clean(with_procs(2), [] {
    auto c = hub<int>();
    auto newest = c.subscribe(2, full::drop_newest);
    auto oldest = c.subscribe(2, full::drop_oldest);
    auto latest = c.subscribe(7, full::latest);
    auto all = c.subscribe(5, full::block);
    CHECK(latest.capacity() == 1);
    for (int i = 1; i <= 5; ++i) CHECK(c.try_send(i) == send_status::sent);
    CHECK(c.try_send(6) == send_status::full);
    CHECK(c.size() == 5);
    CHECK(drain(newest) == ints{1, 2});
    CHECK(drain(oldest) == ints{4, 5});
    CHECK(drain(latest) == ints{5});
    CHECK(drain(all) == ints{1, 2, 3, 4, 5});
    CHECK(newest.stats().dropped == 3);
    CHECK(oldest.stats().dropped == 3);
    CHECK(latest.stats().dropped == 4);
    CHECK(all.stats().high_water == 5);
    for (const auto& r : {newest, oldest, latest, all}) {
      CHECK(adds_up(r.stats()));
      CHECK(r.stats().sent == 5);
    }
    CHECK(c.stats().sent == 5);
  });
}

TEST_CASE("a value that all readers drop counts as dropped") {
  run_clean(with_procs(1), [] {
    auto c = hub<int>();
    auto a = c.subscribe(1, full::drop_newest);
    CHECK(c.send(1) == send_status::sent);
    CHECK(c.send(2) == send_status::dropped);
    CHECK(c.stats().dropped == 1);
    CHECK(drain(a) == ints{1});
  });
}

TEST_CASE("when a reader that fails is full, nobody gets the value") {
  run_clean(with_procs(2), [] {
    auto c = hub<std::string>();
    auto strict = c.subscribe(1, full::fail);
    auto other = c.subscribe(1, full::block);
    CHECK(c.send("first") == send_status::sent);
    std::string v = "second, which is a longer one than fits into the object";
    CHECK(c.send(std::move(v)) == send_status::full);  // although `other` would make it wait
    CHECK(v == "second, which is a longer one than fits into the object");
    CHECK(other.recv() == "first");
    CHECK(c.send(std::move(v)) == send_status::full);
    CHECK(other.size() == 0);
    CHECK(strict.recv() == "first");
    CHECK(c.send(std::move(v)) == send_status::sent);
    CHECK(strict.size() == 1);
    CHECK(other.size() == 1);
  });
}

TEST_CASE("a send waits for the slowest reader that blocks") {
  at_procs([] {
    auto c = hub<int>();
    auto slow = c.subscribe(1);
    auto slower = c.subscribe(1);
    c.send(1);
    auto sender = spawn_and_let_wait([=] { return c.send(2); });
    CHECK(slow.recv() == 1);
    CHECK(slow.size() == 0);
    CHECK_FALSE(sender.done());
    CHECK(slower.recv() == 1);
    CHECK(sender.get() == send_status::sent);
    CHECK(slow.recv() == 2);
    CHECK(slower.recv() == 2);
    CHECK(c.stats().sent == 2);
  });
}

TEST_CASE("waiting senders are served in the order in which they came") {
  run_clean(undisturbed(1), [] {
    auto c = hub<int>();
    auto a = c.subscribe(1);
    c.send(0);
    std::vector<leat::task<send_status>> senders;
    for (int i = 1; i <= 5; ++i) senders.push_back(spawn_and_let_wait([=] { return c.send(i); }));
    for (int i = 0; i <= 5; ++i) CHECK(a.recv() == i);
    for (auto& s : senders) CHECK(s.get() == send_status::sent);
  });
}

TEST_CASE("a reader that leaves frees the senders that wait for it") {
  at_procs([] {
    auto c = hub<int>();
    auto stays = c.subscribe(4);
    std::optional<leat::in<int>> leaves = c.subscribe(1);
    c.send(0);
    std::vector<leat::task<send_status>> senders;
    for (int i = 1; i <= 3; ++i) senders.push_back(spawn_and_let_wait([=] { return c.send(i); }));
    leaves.reset();
    for (auto& s : senders) CHECK(s.get() == send_status::sent);
    CHECK(drain(stays).size() == 4);
  });
}

TEST_CASE("a sender that waited and then meets a full reader that fails is told so") {
  at_procs([] {
    auto c = hub<int>();
    auto strict = c.subscribe(2, full::fail);
    std::optional<leat::in<int>> slow = c.subscribe(1, full::block);
    CHECK(c.send(0) == send_status::sent);
    auto first = spawn_and_let_wait([=] { return c.send(1); });
    auto second = spawn_and_let_wait([=] { return c.send(2); });
    slow.reset();  // the first fills the other reader
    const auto a = first.get(), b = second.get();
    CHECK(a != b);
    CHECK((a == send_status::sent || b == send_status::sent));
    CHECK((a == send_status::full || b == send_status::full));
    CHECK(strict.size() == 2);
  });
}

TEST_CASE("after a close all readers still get what they have") {
  at_procs([] {
    auto c = hub<int>();
    auto a = c.subscribe(4);
    auto b = c.subscribe(4);
    c.send(1);
    c.send(2);
    CHECK(a.recv() == 1);
    c.close();
    CHECK(a.closed());
    std::optional<int> v;
    CHECK(a.recv(v) == recv_status::received);
    CHECK(v == 2);
    CHECK(a.recv(v) == recv_status::closed);
    CHECK(drain(b) == ints{1, 2});
    CHECK(b.try_recv(v) == recv_status::closed);
    int kept = 3;
    CHECK(c.try_send(kept) == send_status::closed);
    CHECK(kept == 3);
    auto late = c.subscribe(1);
    CHECK(late.recv(v) == recv_status::closed);
  });
}

TEST_CASE("a close wakes all who wait") {
  at_procs([] {
    auto c = hub<int>();
    auto full_one = c.subscribe(1);
    auto empty_one = c.subscribe(2);
    c.send(1);
    CHECK(empty_one.recv() == 1);
    auto sender = spawn_and_let_wait([=] { return c.send(2); });
    auto timed_sender = spawn_and_let_wait([=] { return c.send_until(3, 1h); });
    auto receiver = spawn_and_let_wait([=] { return empty_one.recv(); });
    auto timed_receiver = spawn_and_let_wait([=] { return empty_one.recv_until(1h); });
    c.close();
    CHECK(sender.get() == send_status::closed);
    CHECK(timed_sender.get() == send_status::closed);
    CHECK(receiver.get() == std::nullopt);
    CHECK(timed_receiver.get() == std::nullopt);
    CHECK(full_one.recv() == 1);
  });
}

TEST_CASE("stop and deadline end a wait, and the value stays with the sender") {
  at_procs([] {
    auto c = hub<std::string>();
    auto a = c.subscribe(1);
    auto nothing = hub<std::string>().subscribe(1);
    c.send("first");
    std::string v = "second, which is a longer one than fits into the object";
    CHECK(c.send_until(std::move(v), 1ms) == send_status::timeout);
    CHECK(v.size() > 20);
    CHECK(c.send_until(std::move(v), leat::now() - 1s) == send_status::timeout);
    CHECK(nothing.recv_until(1ms) == std::nullopt);
    auto sender = spawn_and_let_wait([=]() mutable {
      const auto s = c.send(std::move(v));
      return s == send_status::stopped && v.size() > 20 && c.send(std::move(v)) == send_status::stopped;
    });
    auto receiver = spawn_and_let_wait([=] {
      std::optional<std::string> to;
      return nothing.recv(to);
    });
    sender.request_stop();
    receiver.request_stop();
    CHECK(sender.get());
    CHECK(receiver.get() == recv_status::stopped);
    CHECK(a.stats().sent == 1);
    CHECK(c.stats().sent == 1);
  });
}
