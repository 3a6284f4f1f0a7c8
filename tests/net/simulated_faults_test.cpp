// SPDX-License-Identifier: BSL-1.0
//
// What goes wrong on a simulated network, by script and by seed; and what has no place in a simulated world.
#include <fcntl.h>
#include <sys/socket.h>
#include <unistd.h>
#include <algorithm>
#include <asio/steady_timer.hpp>
#include <chrono>
#include <csignal>
#include <set>
#include <stdexcept>
#include <string>
#include <vector>

#include <leat/net/testing.hpp>
#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

using namespace std::chrono_literals;
using testing::simulate;

void expect(bool holds, const char* what) {
  if (!holds) throw std::runtime_error(what);
}

// Answers each line.
void serve_lines() {
  listener at = listen("0.0.0.0:7000");
  serve(at, [](stream& peer) {
    while (auto line = peer.read_line()) peer.write(*line + "\n");
  });
}

TEST_CASE("a cut delays an answer; a line that is asked with a deadline is asked again on a new connection") {
  simulate({}, [] {
    auto net = testing::network();
    net.on("broker", [] { serve_lines(); });
    net.host("sensor").move_here();
    testing::settle();
    stream s = dial("broker:7000", 1s);
    net.link("sensor", "broker").cut_for(5s);
    const time_point cut = now();
    s.write("one\n");
    CHECK(s.read_line(1min) == "one");
    CHECK(now() - cut == 5s + 2ms);

    net.link("sensor", "broker").cut_for(20s);
    const time_point again = now();
    s.write("two\n");
    CHECK(error_of([&] { (void)s.read_line(3s); }) == std::errc::timed_out);
    s.close();
    nanoseconds pause = 100ms;
    int tries = 0;
    for (;; ++tries) {
      std::error_code ec = error_of([&] { s = dial("broker:7000", 2s); });
      if (!ec) break;
      CHECK(ec == std::errc::timed_out);
      (void)sleep_for(pause);
      pause = std::min<nanoseconds>(2 * pause, 5s);
    }
    s.write("two\n");
    CHECK(s.read_line(1s) == "two");
    CHECK(tries >= 4);
    CHECK(now() - again >= 20s);
    CHECK(now() - again < 30s);
    CHECK(net.link("sensor", "broker").counts().cuts == 4);  // two, both ways
  });
}

TEST_CASE("cut and heal; a cut of two minutes ends the connection at both ends") {
  simulate({}, [] {
    auto net = testing::network();
    listener at = listen("0.0.0.0:7000");
    stream near, far;
    auto client = net.host("sensor").spawn([&] { near = dial("10.0.0.1:7000"); });
    far = at.accept();
    client.get();
    auto link = net.link("localhost", "sensor");
    char data[10];
    link.cut();
    far.write("x");
    auto reader = spawn([&] { return near.read_some(data, 1h); });
    (void)sleep_for(30s);
    const time_point healed = now();
    link.heal();
    CHECK(reader.get() == 1);
    CHECK(now() - healed == 1ms);
    link.cut();
    const time_point cut = now();
    CHECK(error_of([&] { (void)near.read_some(data); }) == std::errc::timed_out);
    CHECK(now() - cut == 120s);
    CHECK(error_of([&] { far.write("x"); }) == std::errc::timed_out);
    CHECK(error_of([&] { far.write("x"); }) == std::errc::broken_pipe);
  });
}

TEST_CASE("one way alone can be cut: requests arrive, answers do not") {
  simulate({}, [] {
    auto net = testing::network();
    int heard = 0;
    net.on("broker", [&] {
      listener at = listen("0.0.0.0:7000");
      serve(at, [&](stream& peer) {
        while (auto line = peer.read_line()) {
          ++heard;
          peer.write(*line + "\n");
        }
      });
    });
    net.host("sensor").move_here();
    testing::settle();
    stream s = dial("broker:7000");
    net.one_way("broker", "sensor").cut_for(10s);
    const time_point cut = now();
    s.write("one\n");
    CHECK(error_of([&] { (void)s.read_line(5s); }) == std::errc::timed_out);
    CHECK(heard == 1);
    CHECK(s.read_line(1min) == "one");
    CHECK(now() - cut == 10s + 1ms);
  });
}

TEST_CASE("a half-open peer is found by a deadline, by a write, or after a minute") {
  simulate({}, [] {
    auto net = testing::network();
    net.on("broker", [] { serve_lines(); });
    net.host("sensor").move_here();
    testing::settle();
    stream reads = dial("broker:7000"), writes = dial("broker:7000");
    (void)sleep_for(1s);
    net.host("broker").vanish();
    const time_point gone = now();
    char data[10];
    CHECK(error_of([&] { (void)reads.read_some(data, 5s); }) == std::errc::timed_out);
    writes.write("anybody?\n");
    CHECK(error_of([&] { (void)writes.read_some(data, 5s); }) == std::errc::connection_reset);
    CHECK(now() - gone == 5s + 2ms);
    CHECK(error_of([&] { (void)reads.read_some(data, 5min); }) == std::errc::connection_reset);
    CHECK(now() - gone == 60s + 2ms);
    stream again = dial("broker:7000", 1s);
    again.write("back\n");
    CHECK(again.read_line(1s) == "back");
  });
}

TEST_CASE("connections are refused and reset by rate, and that is counted") {
  simulate({.seed = 3}, [] {
    auto net = testing::network();
    net.on("broker", [] { serve_lines(); });
    auto link = net.link("sensor", "broker");
    net.host("sensor").move_here();
    testing::settle();
    link.refuse(0.3).resets(0.1);
    unsigned refused = 0, reset = 0, answered = 0;
    for (int i = 0; i < 200; ++i) {
      try {
        stream s = dial("broker:7000", 1s);
        s.write("x\n");
        if (s.read_line(1s)) ++answered;
      } catch (const std::system_error& e) {
        if (e.code() == std::errc::connection_refused) ++refused;
        if (e.code() == std::errc::connection_reset) ++reset;
      }
    }
    CHECK((refused > 40 && refused < 80));
    CHECK((reset > 10 && reset < 45));
    CHECK(refused + reset + answered == 200);
    CHECK(link.counts().refused == refused);
    CHECK(link.counts().resets == reset);
  });
}

// Which of a thousand datagrams arrive, in order.
std::vector<int> arrived(std::uint64_t seed) {
  std::vector<int> got;
  simulate({.seed = seed}, [&] {
    auto net = testing::network();
    net.link("a", "b").loss(0.2).duplicate(0.1).reorder(0.1).jitter(3ms);
    auto receiver = net.host("b").spawn([&] {
      udp_socket s = bind_udp("0.0.0.0:9000");
      char data[100];
      for (std::error_code ec;;) {
        const datagram d = s.receive_from(data, ec, 10s);
        if (ec) return;
        got.push_back(std::stoi(std::string(data, d.size)));
      }
    });
    net.host("a")
        .spawn([] {
          testing::settle();
          udp_socket s = dial_udp("b:9000");
          for (int i = 0; i < 1000; ++i) {
            s.send(std::to_string(i));
            (void)sleep_for(1ms);
          }
        })
        .get();
    receiver.get();
    const testing::link_counts c = net.link("a", "b").counts();
    CHECK(c.datagrams == 1000);
    CHECK(got.size() == 1000 - c.lost + c.duplicated);
  });
  return got;
}

TEST_CASE("datagrams are lost, doubled and overtaken by rate, and the same ones by the same seed") {
  const std::vector<int> once = arrived(5);
  const std::set<int> different(once.begin(), once.end());
  CHECK((different.size() > 740 && different.size() < 860));
  CHECK(once.size() > different.size() + 40);
  CHECK_FALSE(std::is_sorted(once.begin(), once.end()));
  CHECK(arrived(5) == once);
  CHECK(arrived(6) != once);
}

TEST_CASE("datagrams find their peers as on real sockets") {
  simulate({}, [] {
    udp_socket a = bind_udp("127.0.0.1:0"), b = bind_udp("127.0.0.1:0");
    a.send_to("ping", b.local());
    char data[2];
    const datagram got = b.receive_from(data, 1s);
    CHECK(got.truncated());
    CHECK(got.from.text() == a.local().text());
    CHECK(error_of([&] { a.send_to(std::string(70'000, 'x'), b.local()); }) == std::errc::message_size);
    CHECK(error_of([&] { (void)a.receive_from(data, 2s); }) == std::errc::timed_out);
    CHECK(stops_while_waiting([&] { (void)a.receive_from(data); }));
    udp_socket c = dial_udp("127.0.0.1:9");
    c.send("anybody?");
    CHECK(error_of([&] { (void)c.receive_from(data, 1s); }) == std::errc::connection_refused);
    CHECK(error_of([] { (void)bind_udp("10.1.1.1:7"); }) == std::errc::address_not_available);
    const udp_socket d = bind_udp("0.0.0.0:7");
    CHECK(error_of([] { (void)bind_udp("127.0.0.1:7"); }) == std::errc::address_in_use);
  });
}

// Everything at once, as a list of what happened.
std::string story(std::uint64_t seed) {
  std::string told;
  simulate({.seed = seed}, [&] {
    const auto say = [&](const std::string& what) {
      told += std::to_string((now() - time_point{}).count()) + ' ' + what + '\n';
    };
    auto net = testing::network();
    net.link("sensor", "broker")
        .latency(3ms)
        .jitter(2ms)
        .resets(0.05)
        .refuse(0.1)
        .loss(0.1)
        .cut_at_random(2s, 500ms);
    net.on("broker", [&] {
      listener at = listen("0.0.0.0:7000");
      serve(at, [&](stream& peer) {
        while (auto line = peer.read_line()) {
          say("broker " + *line);
          peer.write(*line + "\n");
        }
      });
    });
    net.on("broker", [&] {
      udp_socket s = bind_udp("0.0.0.0:9000");
      char data[10];
      for (;;) say("datagram " + std::string(data, s.receive_from(data).size));
    });
    std::vector<task<void>> all;
    all.reserve(3);
    for (int i = 0; i < 3; ++i)
      all.push_back(net.host("sensor").spawn([&, i] {
        udp_socket beat = dial_udp("broker:9000");
        for (int k = 0; k < 10; ++k) {
          const std::string what = std::to_string(i) + "." + std::to_string(k);
          try {
            beat.send(what);
            stream s = dial("broker:7000", 300ms);
            s.write(what + "\n");
            say("answer " + s.read_line(300ms).value_or("none"));
          } catch (const std::system_error& e) {
            say(what + " " + e.code().message());
          }
          (void)sleep_for(100ms);
        }
      }));
    for (auto& t : all) t.get();
  });
  return told;
}

TEST_CASE("one seed gives one list of events, two hundred times; others give others") {
  const std::string first = story(42);
  CHECK(first.size() > 1000);
  int differ = 0, same = 0;
  for (int i = 0; i < 200; ++i) differ += story(42) != first;
  CHECK(differ == 0);
  for (std::uint64_t seed = 1; seed <= 20; ++seed) same += story(seed) == first;
  CHECK(same == 0);
}

// Reports once a second for a minute. The faulty one takes a refusal for good news of its own: it never tries again.
void reports(bool gives_up) {
  auto net = testing::network();
  net.link("sensor", "broker").refuse(0.02).cut_at_random(20s, 2s);
  time_point last = now();
  net.on("broker", [&] {
    listener at = listen("0.0.0.0:7000");
    serve(at, [&](stream& peer) {
      while (peer.read_line()) last = now();
    });
  });
  net.on("sensor", [gives_up] {
    testing::settle();
    stream s;
    for (;;) {
      try {
        if (!s.is_open()) s = dial("broker:7000", 1s);
        s.write("alive\n", 1s);
        (void)sleep_for(1s);
        // A connection for ten reports, so that many are made.
        if (now().time_since_epoch().count() / 1'000'000'000 % 10 == 0) s.close();
      } catch (const std::system_error& e) {
        s.close();
        if (gives_up && e.code() == std::errc::connection_refused) return;
        (void)sleep_for(500ms);
      }
    }
  });
  for (int i = 0; i < 60; ++i) {
    (void)sleep_for(1s);
    expect(now() - last < 10s, "the sensor has fallen silent");
  }
}

TEST_CASE("a reconnect that gives up is found by some seed; the right one by none") {
  CHECK_THROWS_WITH(testing::for_each_seed(1000, [] { reports(true); }), "the sensor has fallen silent");
  testing::for_each_seed(300, [] { reports(false); });
}

TEST_CASE("what comes from outside is refused, by name, with what to do") {
  simulate({}, [] {
    const auto refuses = [](const char* what, auto call) {
      const std::string text = text_of<std::logic_error>(call);
      CHECK(text.find(what) != std::string::npos);
      CHECK(text.find("simulated world") != std::string::npos);
      CHECK(text.find(".real_io = true") != std::string::npos);
    };
    refuses("a descriptor of the system", [] { (void)descriptor(::open("/dev/null", O_RDONLY)); });
    refuses("an Asio operation", [] {
      asio::steady_timer t(leat::io(), 1s);
      t.async_wait(leat::await);
    });
    refuses("a child process", [] { (void)child({"true"}); });
    refuses("leat::signals", [] { (void)signals(SIGUSR1); });
    refuses("standard input", [] { (void)open_standard(standard::input); });
  });
  run([] { CHECK_THROWS_AS((void)testing::network(), std::logic_error); });
}

TEST_CASE("with real_io a pipe can be waited for, and time passes meanwhile") {
  simulate({.real_io = true}, [] {
    int ends[2];
    REQUIRE(::pipe2(ends, O_CLOEXEC) == 0);
    stream in{descriptor(ends[0])}, out{descriptor(ends[1])};
    auto writer = spawn([&] {
      (void)sleep_for(30ms);
      out.write("x");
    });
    const time_point start = now();
    char data[1];
    CHECK(in.read_some(data) == 1);
    CHECK(now() - start >= 30ms);
    writer.get();
    CHECK(error_of([&] { (void)in.read_some(data, 10ms); }) == std::errc::timed_out);
    child c({"true"});
    CHECK(c.wait(45s).ok());
    // Nobody waits for it now: an hour takes no time.
    CHECK(sleep_for(1h) == sleep_result::elapsed);
    listener at = listen("7000");
    const stream s = dial("7000");
    CHECK(s.handle().fd() == -1);
  });
}

TEST_CASE("wrong wishes are refused with a word") {
  simulate({}, [] {
    auto net = testing::network();
    CHECK_THROWS_AS((void)net.host(""), std::invalid_argument);
    CHECK_THROWS_AS((void)net.host("a:1"), std::invalid_argument);
    CHECK_THROWS_AS(net.host("a").address("300.1.1.1"), std::invalid_argument);
    CHECK_THROWS_AS(net.link("a", "b").loss(1.5), std::invalid_argument);
    CHECK_THROWS_AS(net.link("a", "b").latency(-1ms), std::invalid_argument);
    CHECK_THROWS_AS(net.link("a", "b").cut_at_random(1s, 2min), std::invalid_argument);
    CHECK_THROWS_AS(net.buffer(0), std::invalid_argument);
  });
}

}  // namespace
}  // namespace leat::net::test
