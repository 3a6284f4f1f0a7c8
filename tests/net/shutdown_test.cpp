// SPDX-License-Identifier: BSL-1.0
#include <asio/ip/tcp.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <memory>

#include "core_fixture.hpp"

using namespace leat;
using namespace leat::net::test;
using asio::ip::tcp;

namespace {

// Gs in every kind of wait; what they use belongs to them.
void start_waiters(bool with_asio) {
  go([] {
    connection c;
    char one = 0;
    (void)c.near.read_some({&one, 1});
  });
  go([] {
    connection c;
    c.near.write(std::string(std::size_t{8} << 20, 'x'));
  });
  go([] {
    net::listener at = net::listen("127.0.0.1:0");
    (void)at.accept(1h);
  });
  go([] {
    net::listener at = net::listen("127.0.0.1:0");
    net::stream peer = net::dial(at.local());
    net::serve(at, [](net::stream& s) {
      while (s.read_line()) {
      }
    });
  });
  if (!with_asio) return;
  go([] {
    asio::steady_timer t(io(), 1h);
    t.async_wait(await);
  });
  go([] {
    tcp::acceptor at(io(), {asio::ip::address_v4::loopback(), 0});
    (void)at.async_accept(await(1h));
  });
  go([] {
    tcp::acceptor at(io(), {asio::ip::address_v4::loopback(), 0});
    tcp::socket near(io());
    near.connect(at.local_endpoint());
    char data[100];
    (void)asio::async_read(near, asio::buffer(data), await_tuple);
  });
}

void end_repeatedly(bool with_asio, bool at_once) {
  for (int i = 0; i < 200 / slow_build; ++i) {
    const auto procs = static_cast<unsigned>(1 << (i % 3));
    runtime_options o = with_procs(procs);
    o.grace = 20s;
    time_point end{};
    leat::run(o, [&] {
      start_waiters(with_asio);
      if (!at_once) {
        const std::uint64_t waits = with_asio ? 8 : 5;
        CHECK(eventually([&] { return sched::scheduler::current()->io_waits() >= waits; }));
      }
      end = now();
    });
    CHECK(now() - end < 10s);
  }
}

}  // namespace

TEST_CASE("run returns although streams, listeners and servers wait" * doctest::timeout(300)) {
  end_repeatedly(false, false);
}

TEST_CASE("run returns although operations of Asio are pending" * doctest::timeout(300)) {
  end_repeatedly(true, false);
}

TEST_CASE("run returns although operations are just being started" * doctest::timeout(300)) {
  end_repeatedly(true, true);
}

TEST_CASE("what one runtime has left in the io_context, the next one finds") {
  auto timer = std::make_shared<asio::steady_timer>(io(), 1ms);
  std::atomic<int> fired{0};
  leat::run(with_procs(2), [&] { timer->async_wait([&fired, timer](const asio::error_code&) { ++fired; }); });
  leat::run(with_procs(2), [&] { CHECK(eventually([&] { return fired == 1; })); });
}

TEST_CASE("streams may outlive the runtime that made them and serve the next") {
  std::unique_ptr<connection> c;
  leat::run(with_procs(2), [&] { c = std::make_unique<connection>(); });
  leat::run(with_procs(2), [&] {
    auto t = spawn([&] { return c->near.read_line(); });
    c->far.write("hello\n");
    CHECK(t.get() == "hello");
  });
  c.reset();
}
