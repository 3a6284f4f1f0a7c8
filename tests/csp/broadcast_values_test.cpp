// SPDX-License-Identifier: BSL-1.0
// What a broadcast channel carries, and who may use it.
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
using leat::send_status;

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
      auto c = hub<throwing_copy>();
      auto a = c.subscribe(2);
      auto b = c.subscribe(4);
      for (std::uint64_t i = 1; i <= 2; ++i) c.send(throwing_copy(0, i));
      auto sender = spawn_and_let_wait([=] { return c.send(throwing_copy(0, 3)); });
      throwing_copy::throw_next = 2;
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);  // makes room, which the third value takes
      CHECK(sender.get() == send_status::sent);
      CHECK(a.size() == 3);
      CHECK(c.try_send(throwing_copy(0, 4)) == send_status::full);
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);
      CHECK(a.stats().received == 0);
      CHECK(a.stats().left == 3);
      for (std::uint64_t i = 1; i <= 3; ++i) CHECK(a.recv()->number == i);
      for (std::uint64_t i = 1; i <= 3; ++i) CHECK(b.recv()->number == i);
      CHECK(adds_up(a.stats()));
      CHECK(adds_up(b.stats()));
    }
    CHECK(throwing_copy::alive == 0);
  });
}

TEST_CASE("a value that was given back is the oldest, and the first that a policy drops") {
  run_clean(with_procs(1), [] {
    {
      auto c = hub<throwing_copy>();
      auto a = c.subscribe(2, full::drop_oldest);
      auto other = c.subscribe(8);  // so that values are copied, not moved
      for (std::uint64_t i = 1; i <= 2; ++i) c.send(throwing_copy(0, i));
      throwing_copy::throw_next = 1;
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);
      CHECK(a.size() == 2);
      c.send(throwing_copy(0, 3));
      CHECK(a.stats().dropped == 1);
      CHECK(a.recv()->number == 2);
      CHECK(a.recv()->number == 3);
      throwing_copy::throw_next = 1;
      c.send(throwing_copy(0, 4));
      CHECK_THROWS_AS((void)a.recv(), std::runtime_error);
    }
    CHECK(throwing_copy::alive == 0);  // also the one that was given back and never taken
  });
}

TEST_CASE("the last reader moves the value") {
  run_clean(with_procs(2), [] {
    {
      auto c = hub<throwing_copy>();
      std::vector<leat::in<throwing_copy>> readers;
      for (int i = 0; i < 3; ++i) readers.push_back(c.subscribe(2));
      throwing_copy::copied = 0;
      c.send(throwing_copy(0, 7));
      for (const auto& r : readers) CHECK(r.recv()->number == 7);
      CHECK(throwing_copy::copied == 2);
    }
    CHECK(throwing_copy::alive == 0);
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
