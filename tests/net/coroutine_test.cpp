// SPDX-License-Identifier: BSL-1.0
// Asio's coroutines, awaited by a G; and await as the token that is taken when none is given.
#include <asio/associated_cancellation_slot.hpp>
#include <asio/awaitable.hpp>
#include <asio/co_spawn.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/read.hpp>
#include <asio/steady_timer.hpp>
#include <asio/use_awaitable.hpp>
#include <asio/write.hpp>

#include "core_fixture.hpp"

using namespace leat;
using namespace leat::net::test;

namespace {

asio::awaitable<int> sleeper(std::chrono::hours d) {
  asio::steady_timer t(co_await asio::this_coro::executor, d);
  co_await t.async_wait(asio::use_awaitable);
  co_return 1;
}
asio::awaitable<int> at_once(int n) { co_return n; }
asio::awaitable<int> fails() {
  throw std::runtime_error("broken");
  co_return 0;
}

}  // namespace

TEST_CASE("a coroutine's value and its exception reach the G that awaits it") {
  at_procs([] {
    CHECK(asio::co_spawn(io(), at_once(7), await) == 7);
    CHECK_THROWS_AS((void)asio::co_spawn(io(), fails(), await), std::runtime_error);
    // Under a deadline too, if it comes in time.
    CHECK(asio::co_spawn(io(), at_once(7), await(1h)) == 7);
  });
}

TEST_CASE("a deadline that ends a coroutine is told as timed_out") {
  at_procs([] {
    asio::error_code ec;
    try {
      (void)asio::co_spawn(io(), sleeper(1h), await(1ms));
    } catch (const asio::system_error& e) {
      ec = e.code();
    }
    CHECK(ec == asio::error::timed_out);
    const auto [e, n] = asio::co_spawn(io(), sleeper(1h), await_tuple(1ms));
    REQUIRE(e);
    try {
      std::rethrow_exception(e);
    } catch (const asio::system_error& x) {
      ec = x.code();
    }
    CHECK(ec == asio::error::timed_out);
  });
}

TEST_CASE("a stop that ends a coroutine is leat::stopped, which fails no group") {
  at_procs([] {
    whereabouts w;
    task_group group;
    group.go([&] {
      w.here();
      (void)asio::co_spawn(io(), sleeper(1h), await);
    });
    CHECK(w.will_wait());
    group.stop();
    CHECK(group.wait() == wait_status::done);
  });
}

TEST_CASE("a handler that is destroyed because of a deadline or a stop is told as that") {
  at_procs([] {
    // An operation whose canceller drops the handler without a call.
    const auto dropped_when_cancelled = [](auto token) {
      return asio::async_initiate<decltype(token), void(asio::error_code)>(
          [](auto handler) {
            auto slot = asio::get_associated_cancellation_slot(handler);
            auto kept = std::make_shared<std::optional<decltype(handler)>>(std::move(handler));
            slot.assign([kept](asio::cancellation_type_t) { kept->reset(); });
          },
          token);
    };
    const auto [ec] = dropped_when_cancelled(await_tuple(1ms));
    CHECK(ec == asio::error::timed_out);
    whereabouts w;
    bool stopped_it = false;
    auto t = spawn([&] {
      w.here();
      try {
        dropped_when_cancelled(await);
      } catch (const stopped&) {
        stopped_it = true;
      }
    });
    CHECK(w.will_wait());
    t.request_stop();
    t.get();
    CHECK(stopped_it);
  });
}

TEST_CASE("sockets and timers take await by themselves when it is their default") {
  at_procs([] {
    using asio::ip::tcp;
    using acceptor = await_t::as_default_on_t<tcp::acceptor>;
    using socket = await_t::as_default_on_t<tcp::socket>;
    acceptor at(io(), {asio::ip::address_v4::loopback(), 0});
    socket near(io());
    auto far = spawn([&] {
      socket s = at.async_accept();
      char c = 0;
      CHECK(asio::async_read(s, asio::buffer(&c, 1)) == 1);
      return c;
    });
    near.async_connect(at.local_endpoint());
    CHECK(asio::async_write(near, asio::buffer("x", 1)) == 1);
    CHECK(far.get() == 'x');
    auto timer = await.as_default_on(asio::steady_timer(io(), 1ms));
    timer.async_wait();
    await_tuple_t::as_default_on_t<asio::steady_timer> quiet(io(), 1ms);
    const auto [ec] = quiet.async_wait();
    CHECK_FALSE(ec);
  });
}
