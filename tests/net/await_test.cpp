// SPDX-License-Identifier: BSL-1.0
#include <asio/connect.hpp>
#include <asio/ip/tcp.hpp>
#include <asio/ip/udp.hpp>
#include <asio/local/connect_pair.hpp>
#include <asio/local/stream_protocol.hpp>
#include <asio/posix/stream_descriptor.hpp>
#include <asio/read.hpp>
#include <asio/read_until.hpp>
#include <asio/signal_set.hpp>
#include <asio/steady_timer.hpp>
#include <asio/thread_pool.hpp>
#include <asio/write.hpp>
#include <csignal>
#include <memory>
#include <thread>

#include "core_fixture.hpp"
#include "support/figure.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::net::test;
using asio::ip::tcp;
using asio::ip::udp;

namespace {

const auto loopback = asio::ip::address_v4::loopback();

// The error that f throws.
template <class F>
asio::error_code thrown_by(F f) {
  try {
    f();
  } catch (const asio::system_error& e) {
    return e.code();
  }
  return {};
}

// An operation that does with its handler what `act` does.
template <class Signature, class Token, class Act>
auto operation_of(Act act, Token token) {
  return asio::async_initiate<Token, Signature>([act](auto handler) { act(std::move(handler)); }, token);
}

struct tcp_pair {
  tcp_pair() : near(io()), far(io()) {
    tcp::acceptor at(io(), {loopback, 0});
    near.connect(at.local_endpoint());
    at.accept(far);
  }
  tcp::socket near, far;
};

}  // namespace

TEST_CASE("TCP: accept, connect, read, write and composed operations give their results") {
  at_procs([] {
    tcp::acceptor at(io(), {loopback, 0});
    auto server = spawn([&] {
      tcp::socket s = at.async_accept(await);
      std::string text;
      const std::size_t line = asio::async_read_until(s, asio::dynamic_buffer(text), '\n', await);
      CHECK(text.substr(0, line) == "hello\n");
      text.erase(0, line);
      std::string rest(100'000 - text.size(), '.');
      CHECK(asio::async_read(s, asio::buffer(rest), await) == rest.size());
      CHECK((text + rest).find_first_not_of('x') == std::string::npos);
      CHECK(asio::async_write(s, asio::buffer(rest), await) == rest.size());
      s.shutdown(tcp::socket::shutdown_send);
      char c = 0;
      const auto [ec, n] = s.async_read_some(asio::buffer(&c, 1), await_tuple);
      CHECK(ec == asio::error::eof);
      CHECK(n == 0);
      return rest.size();
    });
    tcp::socket s(io());
    s.async_connect(at.local_endpoint(), await);
    const std::string big(100'000, 'x');
    CHECK(asio::async_write(s, std::array{asio::buffer(std::string_view("hello\n")), asio::buffer(big)},
                            await) == big.size() + 6);
    std::string back(200'000, ' ');
    const auto [ec, n] = asio::async_read(s, asio::buffer(back), await_tuple);
    CHECK(ec == asio::error::eof);
    s.close();
    CHECK(server.get() == n);
  });
}

TEST_CASE("an error is thrown by await and returned by await_tuple") {
  at_procs([] {
    // One read each: Asio 1.22 may wait for ever in a read after the end of file, since it tries no read that
    // the last one said to be pointless, and no further event comes.
    tcp_pair p, q;
    p.far.close();
    q.far.close();
    char c = 0;
    CHECK(thrown_by([&] { (void)p.near.async_read_some(asio::buffer(&c, 1), await); }) == asio::error::eof);
    const auto [ec, n] = q.near.async_read_some(asio::buffer(&c, 1), await_tuple);
    CHECK(ec == asio::error::eof);
    CHECK(n == 0);
    tcp::acceptor nobody(io(), {loopback, 0});
    const auto where = nobody.local_endpoint();
    nobody.close();
    tcp::socket s(io());
    CHECK(thrown_by([&] { s.async_connect(where, await); }) == asio::error::connection_refused);
    tcp::socket again(io());
    const std::tuple<asio::error_code> r = again.async_connect(where, await_tuple);
    CHECK(std::get<0>(r) == asio::error::connection_refused);
  });
}

TEST_CASE("UDP, Unix streams, pipes and timers can be awaited") {
  at_procs([] {
    udp::socket a(io(), {loopback, 0}), b(io(), {loopback, 0});
    char got[16] = {};
    auto receiver = spawn([&] {
      udp::endpoint from;
      const std::size_t n = b.async_receive_from(asio::buffer(got), from, await);
      CHECK(from == a.local_endpoint());
      return n;
    });
    CHECK(a.async_send_to(asio::buffer("datagram", 8), b.local_endpoint(), await) == 8);
    CHECK(receiver.get() == 8);
    CHECK(std::string_view(got) == "datagram");

    asio::local::stream_protocol::socket u(io()), v(io());
    asio::local::connect_pair(u, v);
    auto unix_writer = spawn([&] { (void)asio::async_write(u, asio::buffer("unix", 4), await); });
    char four[5] = {};
    CHECK(asio::async_read(v, asio::buffer(four, 4), await) == 4);
    CHECK(std::string_view(four) == "unix");
    unix_writer.get();

    int ends[2];
    REQUIRE(::pipe(ends) == 0);
    asio::posix::stream_descriptor in(io(), ends[0]), out(io(), ends[1]);
    auto pipe_writer = spawn([&] { (void)asio::async_write(out, asio::buffer("pipe", 4), await); });
    CHECK(asio::async_read(in, asio::buffer(four, 4), await) == 4);
    CHECK(std::string_view(four) == "pipe");
    pipe_writer.get();

    const auto start = now();
    asio::steady_timer t(io(), 3ms);
    static_assert(std::is_void_v<decltype(t.async_wait(await))>);
    t.async_wait(await);
    CHECK(now() - start >= 3ms);
  });
}

TEST_CASE("signals, look-ups and foreign executors can be awaited") {
  at_procs([] {
    asio::signal_set set(io(), SIGUSR2);
    whereabouts who;
    auto waiter = spawn([&] {
      who.here();
      return set.async_wait(await);
    });
    CHECK(who.will_wait());
    ::raise(SIGUSR2);
    CHECK(waiter.get() == SIGUSR2);

    tcp::resolver names(io());
    const auto found = names.async_resolve("127.0.0.1", "80", await);
    REQUIRE_FALSE(found.empty());
    CHECK(found.begin()->endpoint() == tcp::endpoint(loopback, 80));

    asio::thread_pool pool(1);
    for (int i = 0; i < 100; ++i) asio::post(pool, await);
    asio::steady_timer on_pool(pool, 1ms);
    on_pool.async_wait(await);
    on_pool.expires_after(1h);
    const auto [ec] = on_pool.async_wait(await_tuple(1ms));
    CHECK(ec == asio::error::timed_out);
    pool.join();
  });
}

TEST_CASE("any signature is understood: nothing, one value, several, with and without an error") {
  at_procs([] {
    operation_of<void()>([](auto h) { h(); }, await);
    CHECK(operation_of<void(int)>([](auto h) { h(7); }, await) == 7);
    CHECK(operation_of<void(int, std::string)>([](auto h) { h(7, std::string("x")); }, await) ==
          std::tuple(7, std::string("x")));
    using with_two = void(asio::error_code, int, std::string);
    const auto two = [](auto h) { h(asio::error_code{}, 7, std::string("x")); };
    CHECK(operation_of<with_two>(two, await) == std::tuple(7, std::string("x")));
    CHECK(operation_of<with_two>(two, await_tuple) == std::tuple(asio::error_code{}, 7, std::string("x")));
    using with_exception = void(std::exception_ptr, int);
    CHECK(operation_of<with_exception>([](auto h) { h(nullptr, 7); }, await) == 7);
    CHECK_THROWS_AS((void)operation_of<with_exception>(
                        [](auto h) { h(std::make_exception_ptr(std::out_of_range("x")), 7); }, await),
                    std::out_of_range);
    // A result that can only be moved.
    using owned = std::unique_ptr<int>;
    CHECK(*operation_of<void(asio::error_code, owned)>(
              [](auto h) { h(asio::error_code{}, std::make_unique<int>(7)); }, await) == 7);
  });
}

TEST_CASE("an operation may be complete before its G waits, or while it is about to") {
  at_procs([] {
    for (int i = 0; i < 200; ++i) {
      std::thread racer;
      const int v = operation_of<void(int)>(
          [&, i](auto h) {
            racer = std::thread([h = std::move(h), i]() mutable { h(i); });
            if (i % 2 == 0) racer.join();
          },
          await);
      if (racer.joinable()) racer.join();
      CHECK(v == i);
    }
  });
}

TEST_CASE("a handler that is destroyed without having been called counts as aborted") {
  at_procs([] {
    const auto drop = [](auto h) { (void)std::move(h); };
    CHECK(thrown_by([&] { operation_of<void(asio::error_code)>(drop, await); }) ==
          asio::error::operation_aborted);
    const auto [ec, n] = operation_of<void(asio::error_code, int)>(drop, await_tuple);
    CHECK(ec == asio::error::operation_aborted);
    CHECK(n == 0);
    CHECK(thrown_by([&] { (void)operation_of<void(int)>(drop, await); }) == asio::error::operation_aborted);
  });
}

namespace {

struct thrower {
  thrower() = default;
  explicit thrower(int) : armed(true) {}
  thrower(const thrower& other) : armed(other.armed) {
    if (armed) throw std::runtime_error("copied");
  }
  bool armed = false;
};

}  // namespace

TEST_CASE("an initiation that throws, and a result that throws on its way, reach the caller") {
  log_catcher log;
  at_procs([] {
    CHECK_THROWS_WITH(operation_of<void()>(
                          [](auto h) {
                            const auto kept = std::move(h);
                            throw std::runtime_error("not started");
                          },
                          await),
                      "not started");
    const auto result = operation_of<void(asio::error_code, thrower)>(
        [](auto h) { asio::post(io(), [h = std::move(h)]() mutable { h(asio::error_code{}, thrower(1)); }); },
        await_tuple);
    CHECK(std::get<0>(result) == asio::error::operation_aborted);
  });
}

TEST_CASE("a deadline ends the operation with timed_out, and not before its time") {
  at_procs([] {
    asio::steady_timer t(io(), 1h);
    const auto start = now();
    CHECK(thrown_by([&] { t.async_wait(await(3ms)); }) == asio::error::timed_out);
    CHECK(now() - start >= 3ms);
    const auto [ec] = t.async_wait(with_deadline(3ms, await_tuple));
    CHECK(ec == asio::error::timed_out);
    tcp_pair p;
    std::string text(100, ' ');
    p.far.send(asio::buffer("abc", 3));
    // A composed one says what it got.
    const auto [error, n] = asio::async_read(p.near, asio::buffer(text), await_tuple(20ms));
    CHECK(error == asio::error::timed_out);
    CHECK(n == 3);
    // One in the past: the operation is tried all the same.
    p.far.send(asio::buffer("abc", 3));
    CHECK(eventually([&] { return p.near.available() == 3; }));
    (void)p.near.async_read_some(asio::buffer(text), await_tuple(now() - 1s));
  });
}

TEST_CASE("a stop ends the operation: await throws leat::stopped, await_tuple says operation_aborted") {
  at_procs([] {
    for (const bool tuple : {false, true}) {
      whereabouts who;
      bool aborted = false;
      auto t = spawn([&] {
        asio::steady_timer timer(io(), 1h);
        who.here();
        if (tuple) {
          aborted = std::get<0>(timer.async_wait(await_tuple)) == asio::error::operation_aborted;
        } else {
          timer.async_wait(await);
        }
      });
      CHECK(who.will_wait());
      t.request_stop();
      bool stopped_by_exception = false;
      try {
        t.get();
      } catch (const stopped&) {
        stopped_by_exception = true;
      }
      CHECK(stopped_by_exception == !tuple);
      CHECK(aborted == tuple);
    }
  });
}

TEST_CASE("after a stop no operation is started, and one that is insisted on throws") {
  at_procs([] {
    stop_source source;
    std::atomic<int> step{0}, started{0};
    auto t = spawn(spawn_options{.stop = source}, [&] {
      step = 1;
      while (!stop_requested()) yield();
      const auto count = [&](auto h) {
        ++started;
        h(asio::error_code{});
      };
      CHECK(std::get<0>(operation_of<void(asio::error_code)>(count, await_tuple)) ==
            asio::error::operation_aborted);
      bool thrown = false;
      try {
        operation_of<void(asio::error_code)>(count, await);
      } catch (const stopped&) {
        thrown = true;
      }
      CHECK(thrown);
      step = 2;
      for (;;) (void)operation_of<void(asio::error_code)>(count, await_tuple);
    });
    CHECK(eventually([&] { return step == 1; }));
    source.request_stop();
    CHECK(eventually([&] { return step == 2; }));
    source.insist();
    CHECK_THROWS_AS(t.get(), stopped);
    CHECK(started == 0);
  });
}

TEST_CASE("a stop that is insisted on while the operation is pending ends await_tuple too") {
  at_procs([] {
    stop_source source;
    whereabouts who;
    auto t = spawn(spawn_options{.stop = source}, [&] {
      asio::steady_timer timer(io(), 1h);
      who.here();
      (void)timer.async_wait(await_tuple);
    });
    CHECK(who.will_wait());
    source.insist();
    CHECK_THROWS_AS(t.get(), stopped);
  });
}

TEST_CASE("a plain thread may await while a runtime is under way") {
  at_procs([] {
    keep_alive alive;
    tcp_pair p;
    blocking([&] {
      std::thread([&] {
        char c = 0;
        const auto [ec, n] = p.near.async_read_some(asio::buffer(&c, 1), await_tuple(2ms));
        CHECK(ec == asio::error::timed_out);
        CHECK(asio::async_write(p.far, asio::buffer("x", 1), await) == 1);
        CHECK(p.near.async_read_some(asio::buffer(&c, 1), await) == 1);
        CHECK(c == 'x');
      }).join();
    });
  });
}

TEST_CASE("a plain thread is served while all Ps compute") {
  run_clean(with_procs(1), [] {
    tcp_pair p;
    std::atomic<bool> over{false};
    std::thread t([&] {
      char c = 0;
      CHECK(p.near.async_read_some(asio::buffer(&c, 1), await) == 1);
      over = true;
    });
    p.far.send(asio::buffer("x", 1));
    CHECK(eventually_without_entering([&] { return over.load(); }));
    t.join();
  });
}

TEST_CASE("without a runtime nothing is started") {
  bool started = false;
  CHECK_THROWS_AS(operation_of<void(asio::error_code)>(
                      [&](auto h) {
                        started = true;
                        h(asio::error_code{});
                      },
                      await),
                  std::logic_error);
  CHECK_FALSE(started);
}

TEST_CASE("a plain thread whose runtime ends meanwhile still gets its deadline") {
  std::thread t;
  run_clean(with_procs(1), [&] {
    std::atomic<bool> begun{false};
    t = std::thread([&] {
      asio::steady_timer timer(io(), 1h);
      begun = true;
      const auto [ec] = timer.async_wait(await_tuple(100ms));
      CHECK(ec == asio::error::timed_out);
    });
    CHECK(eventually([&] { return begun.load() && sched::plain_io_waits.load() == 1; }));
  });
  t.join();
}

namespace {

void stop_the_context() {
  at_procs([] {
    io().stop();
    asio::steady_timer timer(io(), 1ms);
    timer.async_wait(await);
    io().stop();
    const auto before = cpu_time();
    (void)sleep_for(50ms);
    if (leat::test::soaking())
      CHECK(leat::test::at_most("CPU time of 50 ms with a stopped io_context", cpu_time() - before, 40ms));
    timer.expires_after(1ms);
    timer.async_wait(await);
  });
}

}  // namespace

TEST_CASE("a program that stops the io_context does not stop the runtime") { stop_the_context(); }
TEST_CASE("a runtime whose io_context was stopped uses no CPU" * leat::test::soak) { stop_the_context(); }

TEST_CASE("handlers of the program's own may throw, and ready Gs") {
  log_catcher log;
  at_procs([] {
    channel<int> c(1);
    asio::post(io(), [] { throw std::runtime_error("of a handler"); });
    asio::post(io(), [=] { (void)c.try_send(7); });
    CHECK(c.recv() == 7);
  });
  CHECK(log.said("of a handler"));
}
