// SPDX-License-Identifier: BSL-1.0
//
// Programs of the kinds that Asio ships as examples (echo, chat, timers), with leat::await in the place of
// their handlers, against standard clients where those are installed.
#include <doctest/doctest.h>
#include <asio.hpp>
#include <cstdio>
#include <cstdlib>
#include <list>
#include <mutex>
#include <string>
#include <vector>

#include <leat/leat.hpp>
#include <leat/net.hpp>

using namespace leat;
using namespace std::chrono_literals;
using asio::ip::tcp;

namespace {

std::string output_of(const std::string& command) {
  return blocking([&] {
    std::string out;
    std::FILE* const f = ::popen(command.c_str(), "r");
    REQUIRE(f);
    char data[4096];
    while (const std::size_t n = std::fread(data, 1, sizeof data, f)) out.append(data, n);
    ::pclose(f);
    return out;
  });
}

// False, and says so, if it is not installed: then our own client has to do.
bool have(const char* program) {
  const bool found = std::system(("command -v " + std::string(program) + " >/dev/null 2>&1").c_str()) == 0;
  if (!found) MESSAGE("not installed, so not asked: ", program);
  return found;
}

std::string talk_by_socket(unsigned short port, const std::string& text) {
  tcp::socket s(io());
  s.async_connect({asio::ip::address_v4::loopback(), port}, leat::await(20s));
  asio::async_write(s, asio::buffer(text), leat::await(20s));
  s.shutdown(tcp::socket::shutdown_send);
  std::string back;
  const auto [ec, n] = asio::async_read(s, asio::dynamic_buffer(back), leat::await_tuple(20s));
  CHECK(ec == asio::error::eof);
  CHECK(n == back.size());
  return back;
}

// --- echo ---------------------------------------------------------------------------------------------

void echo_session(tcp::socket peer) {
  char data[1024];
  for (;;) {
    const auto [ec, n] = peer.async_read_some(asio::buffer(data), leat::await_tuple);
    if (ec) return;
    asio::async_write(peer, asio::buffer(data, n), leat::await);
  }
}

void echo_server(tcp::acceptor& acceptor) {
  task_group sessions;
  for (;;)
    sessions.go([peer = acceptor.async_accept(leat::await)]() mutable { echo_session(std::move(peer)); });
}

// --- chat: what one says, all hear; a newcomer hears the last lines -------------------------------------

class chat_room {
 public:
  using member = channel<std::string>;

  void join(member& m) {
    for (const std::string& line : recent_) (void)m.try_send(line);
    members_.push_back(&m);
  }
  void leave(member& m) { members_.remove(&m); }
  void deliver(const std::string& line) {
    recent_.push_back(line);
    if (recent_.size() > 100) recent_.pop_front();
    for (member* m : members_) (void)m->try_send(line);
  }

 private:
  std::list<member*> members_;
  std::list<std::string> recent_;
};

void chat_session(tcp::socket peer, chat_room& room, leat::mutex& door) {
  // One G reads while another writes: so neither of them may be the one that makes it so.
  peer.non_blocking(true);
  chat_room::member heard(100);
  {
    std::scoped_lock in(door);
    room.join(heard);
  }
  task_group writer;
  writer.go([&] {
    for (const std::string& line : heard) asio::async_write(peer, asio::buffer(line), leat::await);
  });
  std::string text;
  for (;;) {
    const auto [ec, n] =
        asio::async_read_until(peer, asio::dynamic_buffer(text, 4096), '\n', leat::await_tuple);
    if (ec) break;
    std::scoped_lock in(door);
    room.deliver(text.substr(0, n));
    text.erase(0, n);
  }
  {
    std::scoped_lock in(door);
    room.leave(heard);
  }
  heard.close();
  (void)writer.wait();
}

}  // namespace

TEST_CASE("an echo server of awaited Asio operations gives back what standard clients send") {
  for (const unsigned procs : {1u, 2u, 4u}) {
    CAPTURE(procs);
    run({.procs = procs}, [&] {
      tcp::acceptor acceptor(io(), {asio::ip::address_v4::loopback(), 0});
      const unsigned short port = acceptor.local_endpoint().port();
      task_group server;
      server.go("server", [&] { echo_server(acceptor); });
      CHECK(talk_by_socket(port, "hello\n") == "hello\n");
      std::string large(1 << 20, 'x');
      for (std::size_t i = 0; i < large.size(); ++i) large[i] = static_cast<char>('a' + i % 26);
      // Written and read at once: neither side's buffers hold it.
      tcp::socket s(io());
      s.async_connect({asio::ip::address_v4::loopback(), port}, leat::await(20s));
      auto writer = spawn([&] { asio::async_write(s, asio::buffer(large), leat::await(20s)); });
      std::string back(large.size(), '\0');
      asio::async_read(s, asio::buffer(back), leat::await(20s));
      writer.get();
      CHECK(back == large);
      if (have("nc"))
        CHECK(output_of("printf 'one\\ntwo\\n' | nc -N -w 30 127.0.0.1 " + std::to_string(port)) ==
              "one\ntwo\n");
      if (have("socat"))
        CHECK(output_of("printf 'three' | socat -t 20 - TCP:127.0.0.1:" + std::to_string(port)) == "three");
    });
  }
}

TEST_CASE("a chat server of awaited Asio operations tells everybody what one said") {
  run({.procs = 2}, [&] {
    tcp::acceptor acceptor(io(), {asio::ip::address_v4::loopback(), 0});
    const unsigned short port = acceptor.local_endpoint().port();
    chat_room room;
    leat::mutex door;
    task_group server;
    server.go("server", [&] {
      task_group sessions;
      for (;;)
        sessions.go([&, peer = acceptor.async_accept(leat::await)]() mutable {
          chat_session(std::move(peer), room, door);
        });
    });
    std::vector<tcp::socket> members;
    for (int i = 0; i < 3; ++i) {
      members.emplace_back(io());
      members.back().async_connect({asio::ip::address_v4::loopback(), port}, leat::await(20s));
    }
    std::vector<std::string> rest(members.size());
    const auto line_of = [&](std::size_t i) {
      const std::size_t n =
          asio::async_read_until(members[i], asio::dynamic_buffer(rest[i]), '\n', leat::await(20s));
      std::string line = rest[i].substr(0, n);
      rest[i].erase(0, n);
      return line;
    };
    // A member that has joined late hears it from the record, so no order of joining matters.
    asio::async_write(members[1], asio::buffer(std::string_view("hello from one\n")), leat::await(20s));
    for (std::size_t i = 0; i < members.size(); ++i) CHECK(line_of(i) == "hello from one\n");
    if (have("nc")) {
      CHECK(output_of("printf 'from nc\\n' | nc -q 5 -w 30 127.0.0.1 " + std::to_string(port))
                .starts_with("hello from one\nfrom nc\n"));
      for (std::size_t i = 0; i < members.size(); ++i) CHECK(line_of(i) == "from nc\n");
    }
  });
}

TEST_CASE("Asio's timers, awaited, go off in order and can be moved and cancelled") {
  run({.procs = 2}, [] {
    asio::steady_timer late(io(), 40ms), early(io(), 10ms);
    std::vector<int> order;
    leat::mutex door;
    task_group group;
    group.go([&] {
      late.async_wait(leat::await);
      std::scoped_lock in(door);
      order.push_back(2);
    });
    group.go([&] {
      early.async_wait(leat::await);
      std::scoped_lock in(door);
      order.push_back(1);
    });
    (void)group.wait();
    CHECK(order == std::vector<int>{1, 2});
    const auto begin = leat::now();
    asio::steady_timer far_off(io(), 1h);
    const auto [ec] = far_off.async_wait(leat::await_tuple(20ms));
    CHECK(ec == asio::error::timed_out);
    CHECK(leat::now() - begin >= 20ms);
    CHECK(leat::now() - begin < 20s);
  });
}
