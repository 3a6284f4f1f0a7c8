// SPDX-License-Identifier: BSL-1.0
#include <vector>

#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

TEST_CASE("a datagram arrives whole, with its sender, and can be answered") {
  for (const char* const where : {"127.0.0.1:0", "[::1]:0"}) {
    at_procs([&] {
      udp_socket a = bind_udp(where), b = bind_udp(where);
      a.send_to("ping", b.local());
      char data[100];
      const datagram got = b.receive_from(data, patience);
      CHECK(std::string(data, got.size) == "ping");
      CHECK(got.from.text() == a.local().text());
      CHECK_FALSE(got.truncated());
      b.send_to({data, got.size}, got.from);
      CHECK(a.receive_from(data, patience).size == 4);
    });
  }
}

TEST_CASE("a datagram that does not fit is cut, and that is told") {
  run_clean(with_procs(1), [] {
    udp_socket a = bind_udp("127.0.0.1:0"), b = bind_udp("127.0.0.1:0");
    a.send_to("0123456789", b.local());
    a.send_to("next", b.local());
    char data[4];
    const datagram cut = b.receive_from(data, patience);
    CHECK(cut.truncated());
    CHECK(cut.size == 4);
    CHECK(cut.length == 10);
    CHECK(std::string(data, 4) == "0123");
    const datagram next = b.receive_from(data, patience);
    CHECK_FALSE(next.truncated());
    CHECK(std::string(data, next.size) == "next");
  });
}

TEST_CASE("an empty datagram is one") {
  run_clean(with_procs(1), [] {
    udp_socket a = bind_udp("127.0.0.1:0"), b = bind_udp("127.0.0.1:0");
    a.send_to("", b.local());
    char data[4];
    const datagram got = b.receive_from(data, patience);
    CHECK(got.size == 0);
    CHECK(got.from.text() == a.local().text());
  });
}

TEST_CASE("a connected socket talks to its peer alone") {
  run_clean(with_procs(2), [] {
    udp_socket server = bind_udp("127.0.0.1:0"), stranger = bind_udp("127.0.0.1:0");
    udp_socket client = dial_udp(server.local().text(), patience);
    CHECK(client.peer().text() == server.local().text());
    client.send("hello", patience);
    char data[100];
    const datagram got = server.receive_from(data, patience);
    stranger.send_to("not for you", got.from);
    server.send_to("answer", got.from);
    const datagram answer = client.receive_from(data, patience);
    CHECK(std::string(data, answer.size) == "answer");
  });
}

TEST_CASE("a peer that is not there is told to a connected socket") {
  run_clean(with_procs(2), [] {
    std::string where;
    {
      udp_socket gone = bind_udp("127.0.0.1:0");
      where = gone.local().text();
    }
    udp_socket client = dial_udp(where, patience);
    client.send("anybody?");
    char data[1];
    CHECK(error_of([&] { (void)client.receive_from(data, patience); }) == std::errc::connection_refused);
  });
}

TEST_CASE("what is too long for a datagram is an error, and nothing is sent") {
  run_clean(with_procs(1), [] {
    udp_socket a = bind_udp("127.0.0.1:0"), b = bind_udp("127.0.0.1:0");
    const std::string much(70000, 'x');
    CHECK(error_of([&] { a.send_to(much, b.local()); }) == std::errc::message_size);
    std::error_code ec;
    a.send_to(much, b.local(), ec);
    CHECK(ec == std::errc::message_size);
    a.send_to("short", b.local(), ec);
    CHECK_FALSE(ec);
    char data[10];
    CHECK(b.receive_from(data, patience).length == 5);
  });
}

TEST_CASE("receiving ends at the deadline, and by a stop, also when something is there") {
  at_procs([] {
    udp_socket a = bind_udp("127.0.0.1:0");
    char data[10];
    CHECK(error_of([&] { (void)a.receive_from(data, 5ms); }) == std::errc::timed_out);
    std::error_code ec;
    (void)a.receive_from(data, ec, 1ms);
    CHECK(ec == std::errc::timed_out);
    CHECK(stops_while_waiting([&] { (void)a.receive_from(data); }));
    stop_source asked;
    asked.request_stop();
    spawn({.stop = asked}, [&] {
      a.send_to("x", a.local());  // does not wait, so it goes out
      CHECK(stops([&] { (void)a.receive_from(data); }));
    }).get();
    CHECK(a.receive_from(data, patience).size == 1);
  });
}

TEST_CASE("a datagram socket with a unix path waits for room, until the deadline or the stop") {
  run_clean(with_procs(2), [] {
    const std::string where = abstract_name("udp-test");
    udp_socket b = bind_udp(where);
    udp_socket a = dial_udp(where);
    std::error_code ec;
    int sent = 0;
    for (; !ec && sent < 100000; ++sent) a.send("x", ec, 5ms);
    CHECK(ec == std::errc::timed_out);
    CHECK(stops_while_waiting([&] { a.send("x"); }));
    auto sender = start_waiting([&] { a.send("last", patience); });
    char data[10];
    std::size_t size = 0;
    for (int i = 0; i < sent; ++i) size = b.receive_from(data, patience).size;
    CHECK(size == 4);
    sender.get();
  });
}

TEST_CASE("an address in use, and text that is none, are errors") {
  run_clean(with_procs(1), [] {
    udp_socket a = bind_udp("127.0.0.1:0");
    CHECK(error_of([&] { (void)bind_udp(a.local().text()); }) == std::errc::address_in_use);
    CHECK_THROWS_AS((void)bind_udp("nowhere"), std::invalid_argument);
    CHECK_THROWS_AS((void)dial_udp("nowhere"), std::invalid_argument);
  });
}

TEST_CASE("many senders and one receiver lose nothing while there is room") {
  at_procs([] {
    udp_socket to = bind_udp("127.0.0.1:0");
    constexpr int senders = 8, each = 10;
    int got = 0;
    {
      task_group group;
      for (int i = 0; i < senders; ++i) {
        group.go([&] {
          udp_socket s = dial_udp(to.local().text());
          for (int k = 0; k < each; ++k) s.send("x", patience);
        });
      }
      char data[10];
      for (; got < senders * each; ++got) (void)to.receive_from(data, patience);
      group.wait();
    }
    CHECK(got == senders * each);
  });
}

}  // namespace
}  // namespace leat::net::test
