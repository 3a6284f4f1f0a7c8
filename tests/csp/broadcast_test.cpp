// SPDX-License-Identifier: BSL-1.0
#include <memory>
#include <optional>
#include <string>
#include <thread>
#include <vector>

#include <doctest/doctest.h>

#include "csp/broadcast_fixture.hpp"

using namespace leat::csp::test;
using namespace std::chrono_literals;
using leat::channel;
using leat::channel_error;
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

TEST_CASE("misuse is told by exceptions that say what to do") {
  run_clean(with_procs(1), [] {
    auto c = hub<int>();
    try {
      (void)c.recv();
      FAIL("it received");
    } catch (const channel_error& e) {
      CHECK(std::string(e.what()).find("subscribe") != std::string::npos);
      CHECK(std::string(e.what()).find("'hub'") != std::string::npos);
    }
    CHECK_THROWS_AS((void)c.try_recv(), channel_error);
    CHECK_THROWS_AS((void)channel<int>(3).subscribe(1), channel_error);
    CHECK_THROWS_AS((void)c.subscribe(~std::size_t{0} / 2), channel_error);
    CHECK(c.subscribe(0).capacity() == 1);
    CHECK(c.send(1) == send_status::dropped);  // no reader was left behind
  });
}

TEST_CASE("a copy that throws loses nothing, also when the ring has filled meanwhile") {
  at_procs([] {
    {
      auto c = hub<fragile>();
      auto a = c.subscribe(2);
      auto b = c.subscribe(4);
      for (std::uint64_t i = 1; i <= 2; ++i) c.send(fragile(0, i));
      auto sender = spawn_and_let_wait([=] { return c.send(fragile(0, 3)); });
      fragile::throw_next = 2;
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);  // makes room, which the third value takes
      CHECK(sender.get() == send_status::sent);
      CHECK(a.size() == 3);
      CHECK(c.try_send(fragile(0, 4)) == send_status::full);
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);
      CHECK(a.stats().received == 0);
      CHECK(a.stats().left == 3);
      for (std::uint64_t i = 1; i <= 3; ++i) CHECK(a.recv()->number == i);
      for (std::uint64_t i = 1; i <= 3; ++i) CHECK(b.recv()->number == i);
      CHECK(adds_up(a.stats()));
      CHECK(adds_up(b.stats()));
    }
    CHECK(fragile::alive == 0);
  });
}

TEST_CASE("a value that was given back is the oldest, and the first that a policy drops") {
  run_clean(with_procs(1), [] {
    {
      auto c = hub<fragile>();
      auto a = c.subscribe(2, full::drop_oldest);
      auto other = c.subscribe(8);  // so that values are copied, not moved
      for (std::uint64_t i = 1; i <= 2; ++i) c.send(fragile(0, i));
      fragile::throw_next = 1;
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);
      CHECK(a.size() == 2);
      c.send(fragile(0, 3));
      CHECK(a.stats().dropped == 1);
      CHECK(a.recv()->number == 2);
      CHECK(a.recv()->number == 3);
      fragile::throw_next = 1;
      c.send(fragile(0, 4));
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);
    }
    CHECK(fragile::alive == 0);  // also the one that was given back and never taken
  });
}

TEST_CASE("the last reader moves the value") {
  run_clean(with_procs(2), [] {
    {
      auto c = hub<fragile>();
      std::vector<leat::in<fragile>> readers;
      for (int i = 0; i < 3; ++i) readers.push_back(c.subscribe(2));
      fragile::copied = 0;
      c.send(fragile(0, 7));
      for (const auto& r : readers) CHECK(r.recv()->number == 7);
      CHECK(fragile::copied == 2);
    }
    CHECK(fragile::alive == 0);
  });
}

TEST_CASE("values with throwing moves are carried, and come back when they are not sent") {
  struct stubborn {
    explicit stubborn(int n) : value(std::make_unique<int>(n)) {}
    stubborn(const stubborn& o) : value(std::make_unique<int>(*o.value)) {}
    stubborn(stubborn&& o) noexcept(false) : value(std::move(o.value)) {}
    stubborn& operator=(stubborn&& o) noexcept(false) {
      value = std::move(o.value);
      return *this;
    }
    std::unique_ptr<int> value;
  };
  run_clean(with_procs(2), [] {
    auto c = hub<stubborn>();
    auto a = c.subscribe(1);
    auto b = c.subscribe(1);
    CHECK(c.send(stubborn(1)) == send_status::sent);
    stubborn v(2);
    CHECK(c.try_send(v) == send_status::full);
    CHECK(*v.value == 2);
    CHECK(*a.recv()->value == 1);
    CHECK(*b.recv()->value == 1);
  });
}

TEST_CASE("types that cannot be copied, or only seem to, still have channels") {
  run_clean(with_procs(1), [] {
    // The compiler takes its word for it that this one can be copied, until it tries.
    struct message {
      std::vector<std::unique_ptr<int>> parts;
    };
    static_assert(std::is_copy_constructible_v<message>);
    channel<message> c(1);
    CHECK(c.send(message{}) == send_status::sent);
    CHECK(leat::in<message>(c).recv().has_value());
    CHECK(leat::select(leat::on_send(c, message{}, [] {}), leat::on_recv(c, [](message) {})) == 0);
    CHECK(leat::select(leat::on_send(c, message{}, [] {}), leat::on_recv(c, [](message) {})) == 1);
  });
}

TEST_CASE("destructors of dropped values may use the runtime") {
  struct chatty {
    explicit chatty(std::shared_ptr<channel<int>> r) : reports(std::move(r)) {}
    chatty(const chatty&) = default;
    chatty(chatty&&) = default;
    chatty& operator=(chatty&&) = default;
    ~chatty() {
      if (!reports) return;
      leat::yield();
      reports->send(1);
    }
    std::shared_ptr<channel<int>> reports;
  };
  at_procs([] {
    auto reports = std::make_shared<channel<int>>(100);
    auto c = hub<chatty>();
    std::optional<leat::in<chatty>> a = c.subscribe(2, full::drop_oldest);
    std::optional<leat::in<chatty>> b = c.subscribe(1, full::latest);
    std::optional<leat::in<chatty>> d = c.subscribe(1, full::drop_newest);
    for (int i = 0; i < 6; ++i) c.send(chatty(reports));
    a.reset();
    b.reset();
    d.reset();
    CHECK(reports->size() == 6);
  });
}

TEST_CASE("plain threads send and receive") {
  at_procs([] {
    const leat::keep_alive threads_will_wake_us;
    auto c = hub<int>(2);
    leat::in<int> on_g = c;
    leat::in<int> on_thread = c;
    long sum = 0;
    std::thread reader([&] {
      while (auto v = on_thread.recv()) sum += *v;
    });
    std::thread writer([&] {
      for (int i = 1; i <= 300; ++i) c.send(i);
      c.close();
    });
    long mine = 0;
    for (const int v : on_g) mine += v;
    leat::blocking([&] {
      writer.join();
      reader.join();
    });
    CHECK(mine == 300 * 301 / 2);
    CHECK(sum == mine);
  });
}

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
