// SPDX-License-Identifier: BSL-1.0
//
// Streams, listeners, dial and HTTP over the network of a simulated world.
#include <sys/resource.h>
#include <unistd.h>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/net/http_client.hpp>
#include <leat/net/http_server.hpp>
#include <leat/net/testing.hpp>
#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

using namespace std::chrono_literals;
using testing::simulate;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// Sends back what comes, until the end.
void echo(stream& peer) {
  char data[16 * 1024];
  while (const std::size_t n = peer.read_some(data)) peer.write({data, n});
}

void serve_echo(const char* where = "0.0.0.0:7000") {
  listener at = listen(where);
  serve(at, [](stream& peer) { echo(peer); });
}

// The number that the next descriptor gets.
int next_descriptor() {
  const int fd = ::dup(0);
  ::close(fd);
  return fd;
}

TEST_CASE("a dial, a line and its answer take as long as the link says, and no descriptor") {
  int before = 0, inside = 0;
  simulate({}, [&] {
    auto net = testing::network();
    before = next_descriptor();
    net.link("client", "server").latency(20ms);
    net.on("server", [] { serve_echo(); });
    auto client = net.host("client").spawn([&] {
      testing::settle();
      const time_point start = now();
      stream s = dial("server:7000", 5s);
      CHECK(now() - start == 40ms);
      s.write("hello\n");
      CHECK(s.read_line(5s) == "hello");
      CHECK(now() - start == 80ms);
      CHECK(s.peer().text() == "10.0.0.3:7000");
      CHECK(s.local().text() == "10.0.0.2:32768");
      CHECK(s.handle().fd() == -1);
      inside = next_descriptor();
      s.shutdown_write();
      CHECK_FALSE(s.read_line(5s));
      CHECK(now() - start == 120ms);
    });
    client.get();
  });
  CHECK(before == inside);
}

TEST_CASE("1 MiB comes back over 20 ms in exactly as long as its windows take") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    nanoseconds took{};
    simulate({.seed = seed}, [&] {
      auto net = testing::network();
      net.link("client", "server").latency(20ms);
      net.on("server", [] { serve_echo(); });
      net.host("client").move_here();
      testing::settle();
      stream s = dial("server:7000");
      const time_point start = now();
      std::string sent(1 << 20, '\0'), got(1 << 20, '\0');
      for (std::size_t i = 0; i < sent.size(); ++i) sent[i] = static_cast<char>(i * 7 + i / 251);
      auto writer = spawn([&] { s.write(sent); });
      s.read_exactly(got, 1min);
      took = now() - start;
      writer.get();
      REQUIRE(got == sent);
    });
    // Four windows of 256 KiB: one more each 40 ms, and 40 ms for the way of the last.
    CHECK(took == 160ms);
  }
}

TEST_CASE("bandwidth is shared by the connections of a link") {
  simulate({}, [] {
    auto net = testing::network();
    net.link("client", "server").latency(10ms).bandwidth(1'000'000);
    net.on("server", [] {
      listener at = listen("0.0.0.0:7000");
      serve(at, [](stream& peer) {
        std::string all(100'000, '\0');
        peer.read_exactly(all);
        peer.write("!");
        echo(peer);
      });
    });
    net.host("client").move_here();
    testing::settle();
    const time_point start = now();
    std::vector<task<nanoseconds>> all;
    all.reserve(4);
    for (int i = 0; i < 4; ++i)
      all.push_back(spawn([&] {
        stream s = dial("server:7000");
        s.write(std::string(100'000, 'x'));
        char got[1];
        s.read_exactly(got);
        return now() - start;
      }));
    nanoseconds last{};
    for (auto& t : all) last = std::max(last, t.get());
    CHECK(last == 20ms + 400ms + 10ms + 10ms + 1us);
  });
}

TEST_CASE("a slow reader stops the writer") {
  simulate({}, [] {
    auto net = testing::network();
    net.buffer(10'000);
    net.on("server", [] {
      listener at = listen("0.0.0.0:7000");
      stream peer = at.accept();
      char data[1000];
      for (;;) {
        (void)sleep_for(1s);
        if (peer.read_some(data) == 0) return;
      }
    });
    net.host("client").move_here();
    testing::settle();
    stream s = dial("server:7000");
    const time_point start = now();
    std::error_code ec;
    s.write(std::string(10'000, 'x'), ec, 1ms);
    CHECK_FALSE(ec);
    s.write(std::string(1, 'x'), ec, 500ms);
    CHECK(ec == std::errc::timed_out);
    CHECK(now() - start == 500ms);
    s.write(std::string(20'000, 'x'));
    CHECK(now() - start > 19s);
    CHECK(now() - start < 21s);
  });
}

TEST_CASE("nobody listens: refused; at an address of nobody: unreachable; a name of nobody: not found") {
  simulate({}, [] {
    auto net = testing::network();
    (void)net.host("server");
    const time_point start = now();
    CHECK(error_of([] { (void)dial("server:7000", 5s); }) == std::errc::connection_refused);
    CHECK(now() - start == 2ms);
    CHECK(error_of([] { (void)dial("127.0.0.1:7000", 5s); }) == std::errc::connection_refused);
    CHECK(error_of([] { (void)dial("192.168.9.9:7000", 5s); }) == std::errc::host_unreachable);
    CHECK(text_of<std::system_error>([] { (void)dial("nowhere:7000", 5s); }).find("nowhere:7000") !=
          std::string::npos);
    // What listens at loopback is for its own host.
    listener at = listen("7000");
    CHECK_FALSE(error_of([] { (void)dial("localhost:7000", 5s); }));
    CHECK(error_of([] { (void)dial("10.0.0.1:7000", 5s); }) == std::errc::connection_refused);
  });
}

TEST_CASE("an address is in use once, and free again after a close") {
  simulate({}, [] {
    listener at = listen("0.0.0.0:7000");
    CHECK(error_of([] { (void)listen("127.0.0.1:7000"); }) == std::errc::address_in_use);
    CHECK(error_of([] { (void)listen("10.9.9.9:7000"); }) == std::errc::address_not_available);
    at.close();
    at = listen("127.0.0.1:7000");
    const listener any = listen("127.0.0.1:0"), other = listen("0");
    CHECK(any.local().port() != other.local().port());
    // Another host has its own ports, and its own paths.
    const listener path = listen("unix:/run/x.sock");
    CHECK(error_of([] { (void)listen("unix:/run/x.sock"); }) == std::errc::address_in_use);
    testing::network()
        .host("other")
        .spawn([] {
          const listener mine = listen("127.0.0.1:7000");
          const listener my_path = listen("unix:/run/x.sock");
          stream s = dial("unix:/run/x.sock", 1s);
          CHECK(s.is_open());
        })
        .get();
  });
}

TEST_CASE("stops and deadlines end waits as on real sockets") {
  simulate({}, [] {
    listener at = listen("7000");
    const time_point start = now();
    CHECK(error_of([&] { (void)at.accept(3s); }) == std::errc::timed_out);
    CHECK(now() - start == 3s);
    CHECK(stops_while_waiting([&] { (void)at.accept(); }));
    stream near = dial("7000"), far = at.accept();
    char data[10];
    CHECK(error_of([&] { (void)near.read_some(data, 2s); }) == std::errc::timed_out);
    CHECK(stops_while_waiting([&] { (void)near.read_some(data); }));
    CHECK(stops_while_waiting([&] { near.write(std::string(1 << 20, 'x')); }));
    at.shutdown();
    CHECK(error_of([&] { (void)at.accept(); }) == std::errc::operation_canceled);
    auto reader = spawn([&] { return far.read_some(data, 1h); });
    testing::settle();
    far.shutdown();
    (void)reader.get();
  });
}

TEST_CASE("what has not been read when a stream is closed resets its peer; a half-close does not") {
  simulate({}, [] {
    listener at = listen("7000");
    {
      stream near = dial("7000"), far = at.accept();
      near.write("unread");
      (void)sleep_for(1s);
      far.close();
      char data[10];
      CHECK(error_of([&] { (void)near.read_some(data, 1s); }) == std::errc::connection_reset);
    }
    stream near = dial("7000"), far = at.accept();
    near.write("request\n");
    near.shutdown_write();
    CHECK(far.read_line(1s) == "request");
    CHECK_FALSE(far.read_line(1s));
    far.write("answer\n");
    CHECK(near.read_line(1s) == "answer");
    CHECK(error_of([&] { near.write("more"); }) == std::errc::broken_pipe);
    far.close();
    CHECK_THROWS_AS(near.read_exactly({std::string(1, ' ').data(), 1}, 1s), end_of_stream);
  });
}

TEST_CASE("of several addresses of a name the first that answers is taken") {
  simulate({}, [] {
    auto net = testing::network();
    net.host("server").address("fd00::1").address("192.168.1.7");
    net.on("server", [] { serve_echo("192.168.1.7:7000"); });
    testing::settle();
    const time_point start = now();
    stream s = dial("server:7000", 5s);
    CHECK(s.peer().text() == "192.168.1.7:7000");
    CHECK(now() - start < 100ms);
  });
}

TEST_CASE("a dial into a cut is tried again, and ends by its deadline, or after two minutes") {
  simulate({}, [] {
    auto net = testing::network();
    net.on("server", [] { serve_echo(); });
    testing::settle();
    net.link("localhost", "server").cut_for(4s);
    const time_point start = now();
    CHECK(error_of([] { (void)dial("server:7000", 2s); }) == std::errc::timed_out);
    CHECK(now() - start == 2s);
    (void)dial("server:7000", 1min);
    CHECK(now() - start == 5s + 2ms);  // begun after 2 s, tried again after 1 and 3 more
    net.link("localhost", "server").cut();
    const time_point cut = now();
    CHECK(error_of([] { (void)dial("server:7000"); }) == std::errc::timed_out);
    CHECK(now() - cut == 127s);
  });
}

TEST_CASE("HTTP goes over it, server and client") {
  testing::for_each_seed(20, [] {
    auto net = testing::network();
    net.link("web", "client").latency(5ms);
    net.on("web", [] {
      listener at = listen("0.0.0.0:80");
      int count = 0;
      serve(at, [&](stream& peer) {
        http::serve_connection(
            peer,
            [&](const http::request& r) {
              ++count;
              return http::response{
                  .status = r.path() == "/in" && r.body == "{}" ? "200 OK" : "400 Bad Request",
                  .body = std::to_string(count)};
            },
            http::limits{.keep_body = true});
      });
    });
    net.host("client").move_here();
    testing::settle();
    const time_point start = now();
    http::client c(*http::url::parse("http://web/in"), {});
    expect(c.post("application/json", "{}") == 200, "the first is not answered");
    expect(now() - start == 20ms, "it took another time");
    expect(c.post("application/json", "{}") == 200, "the second is not answered");
    expect(now() - start == 30ms, "the connection was not kept");
    net.link("web", "client").reset();
    expect(c.post("application/json", "[]") == 400, "the third is not answered on a new connection");
  });
}

TEST_CASE("who is idle gives its place to the next; who has asked keeps it") {
  simulate({}, [] {
    auto net = testing::network();
    net.on("server", [] {
      listener at = listen("0.0.0.0:7000");
      serve(at,
            [](stream& peer, guest& who) {
              who.idle();
              while (auto line = peer.read_line()) {
                who.busy();
                (void)sleep_for(10s);
                peer.write(*line + "\n");
                who.idle();
              }
            },
            {.limit = 2, .evict_idle = true});
    });
    testing::settle();
    stream idle = dial("server:7000"), asks = dial("server:7000");
    asks.write("one\n");
    (void)sleep_for(1s);
    stream third = dial("server:7000");
    third.write("two\n");
    CHECK_FALSE(idle.read_line(1s));
    CHECK(asks.read_line(20s) == "one");
    CHECK(third.read_line(20s) == "two");
  });
}

TEST_CASE("Gs are where those are who spawned them") {
  testing::for_each_seed(50, [] {
    auto net = testing::network();
    const auto here = [] {
      return listen("0").local().port() != 0 ? dial_udp("10.0.0.1:9").local().text() : "";
    };
    std::string there, child, grandchild, outside;
    auto a = net.host("a").spawn([&] {
      there = here();
      spawn([&] {
        child = here();
        leat::yield();
        spawn([&] { grandchild = here(); }).get();
      }).get();
    });
    spawn([&] { outside = here(); }).get();
    a.get();
    expect(there.starts_with("10.0.0.2:"), "it is not on its host");
    expect(child.starts_with("10.0.0.2:") && grandchild.starts_with("10.0.0.2:"), "a child is elsewhere");
    expect(outside.starts_with("10.0.0.1:"), "another one is there too");
  });
}

TEST_CASE("a stream that outlives its world says so") {
  stream left;
  simulate({}, [&] {
    listener at = listen("7000");
    left = dial("7000");
  });
  run([&] {
    char data[1];
    CHECK_THROWS_AS((void)left.read_some(data, 1s), std::exception);
    left.close();
  });
}

}  // namespace
}  // namespace leat::net::test
