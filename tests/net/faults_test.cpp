// SPDX-License-Identifier: BSL-1.0
#include <sys/socket.h>
#include <algorithm>
#include <cstring>
#include <functional>

#include "core_fixture.hpp"
#include "support/figure.hpp"
#include "support/own_process.hpp"
#include "support/soak.hpp"

using namespace leat;
using namespace leat::net::test;

namespace {

void echo(net::stream& s) {
  char data[4096];
  for (std::size_t n = 0; (n = s.read_some(data)) > 0;) s.write({data, n});
}

// A server in a G of its own, until it goes.
class server {
 public:
  explicit server(std::function<void(net::stream&)> handler, net::serve_options o = {})
      : at(net::listen("127.0.0.1:0", 4096)),
        g_(spawn("server", [this, handler, o] { net::serve(at, handler, o); })) {}
  ~server() {
    g_.request_stop();
    g_.get();
  }
  net::stream dial() { return net::dial(at.local(), 20s); }
  bool answers() {
    net::stream s = dial();
    s.write("hello\n", 20s);
    return s.read_line(20s) == "hello";
  }
  net::listener at;

 private:
  task<void> g_;
};

// Closed, it resets its connection.
void reset_on_close(const net::stream& s) {
  const linger at_once{1, 0};
  REQUIRE(::setsockopt(s.handle().fd(), SOL_SOCKET, SO_LINGER, &at_once, sizeof at_once) == 0);
}

class descriptor_limit {
 public:
  descriptor_limit() { ::getrlimit(RLIMIT_NOFILE, &was_); }
  ~descriptor_limit() { ::setrlimit(RLIMIT_NOFILE, &was_); }
  // So many more than are open.
  void leave(int n) const {
    const int next = ::dup(0);
    ::close(next);
    rlimit r = was_;
    r.rlim_cur = static_cast<rlim_t>(next + n);
    REQUIRE(::setrlimit(RLIMIT_NOFILE, &r) == 0);
  }

 private:
  rlimit was_{};
};

void serve_without_descriptors() {
#if defined(LEAT_ASAN) && defined(__clang__)
  MESSAGE("left out: before it says what type an object has, Clang's UBSan makes a pipe");
  return;
#endif
  if (!leat::test::in_own_process()) return;
  log_catcher log;
  at_procs([] {
    net::listener at = net::listen("127.0.0.1:0");
    std::vector<net::stream> clients;
    for (int i = 0; i < 12; ++i) clients.push_back(net::dial(at.local()));
    std::atomic<int> served{0};
    descriptor_limit limit;
    limit.leave(4);
    auto g = spawn([&] {
      net::serve(at, [&](net::stream& s) {
        ++served;
        echo(s);
      });
    });
    CHECK(eventually([&] { return served == 4; }));
    const auto before = cpu_time();
    const auto begin = now();
    (void)sleep_for(300ms);
    if (leat::test::soaking())
      CHECK(leat::test::at_most("CPU time of 300 ms without descriptors", cpu_time() - before,
                                (now() - begin) / 3));
    CHECK(served == 4);
    // Each that goes makes room for one.
    clients.erase(clients.begin(), clients.begin() + 4);
    CHECK(eventually([&] { return served >= 8; }));
    clients.clear();
    CHECK(eventually([&] { return served == 12; }));
    g.request_stop();
    g.get();
  });
  CHECK(log.said("trying again more slowly"));
}

}  // namespace

TEST_CASE("a server that is out of descriptors slows down, and goes on when there are some again") {
  serve_without_descriptors();
}
TEST_CASE("a server that is out of descriptors hardly uses the CPU" * leat::test::soak) {
  serve_without_descriptors();
}

TEST_CASE("a storm of connections is served to the last one") {
  at_procs([] {
    server s(echo);
    constexpr int gs = 40, each = 50 / slow_build;
    std::atomic<int> answered{0};
    {
      task_group group;
      for (int i = 0; i < gs; ++i)
        group.go([&] {
          for (int k = 0; k < each; ++k) answered += s.answers();
        });
      group.wait();
    }
    CHECK(answered == gs * each);
  });
}

TEST_CASE("a server can be stopped while connections keep coming") {
  at_procs([] {
    net::listener at = net::listen("127.0.0.1:0", 4096);
    std::atomic<bool> over{false};
    std::vector<task<void>> clients;
    for (int i = 0; i < 4; ++i)
      clients.push_back(spawn([&] {
        while (!over) {
          try {
            (void)net::dial(at.local(), 20s);
          } catch (const std::system_error&) {
            yield();
          }
        }
      }));
    std::atomic<int> served{0};
    auto g = spawn([&] { net::serve(at, [&](net::stream&) { ++served; }); });
    CHECK(eventually([&] { return served > 100; }));
    g.request_stop();
    g.get();
    over = true;
    for (auto& c : clients) c.get();
  });
}

TEST_CASE("a reset in the middle is an error for its connection only") {
  at_procs([] {
    server s(echo);
    for (int i = 0; i < 50; ++i) {
      net::stream c = s.dial();
      c.write("some");
      reset_on_close(c);
      c.close();
    }
    CHECK(s.answers());
    connection c;
    char data[16];
    auto reader = spawn([&] {
      std::error_code ec;
      (void)c.far.read_some(data, ec);
      return ec;
    });
    reset_on_close(c.near);
    c.near.close();
    CHECK(reader.get() == std::errc::connection_reset);
  });
}

TEST_CASE("a half-closed connection can still be answered") {
  at_procs([] {
    connection c;
    for (int i = 0; i < 100; ++i) {
      connection pair;
      pair.near.write("question");
      pair.near.shutdown_write();
      // A reader that asks for more than there is must see the end, which came with the last bytes.
      char data[64];
      std::string got;
      for (std::size_t n = 0; (n = pair.far.read_some(data, 20s)) > 0;) got.append(data, n);
      CHECK(got == "question");
      pair.far.write("answer\n");
      CHECK(pair.near.read_line(20s) == "answer");
    }
  });
}

TEST_CASE("bytes that come one at a time make lines and blocks") {
  at_procs([] {
    connection c;
    auto slow = spawn([&] {
      const std::string text = "first line\r\n0123456789";
      for (const char b : text) {
        c.near.write({&b, 1});
        yield();
      }
    });
    CHECK(c.far.read_line(20s) == "first line");
    char block[10];
    c.far.read_exactly(block, 20s);
    CHECK(std::string_view(block, 10) == "0123456789");
    slow.get();
  });
}

TEST_CASE("a peer that stalls is ended by the idle deadline, and others are not held up") {
  at_procs([] {
    std::atomic<int> ended{0};
    server s([&](net::stream& peer) {
      std::error_code ec;
      char one = 0;
      (void)peer.read_some({&one, 1}, ec, 20ms);
      if (ec == std::errc::timed_out) ++ended;
    });
    std::vector<net::stream> stalled;
    for (int i = 0; i < 10; ++i) stalled.push_back(s.dial());
    CHECK(eventually([&] { return ended == 10; }));
    for (auto& c : stalled) CHECK_FALSE(c.read_line(20s));
  });
}

TEST_CASE("a server holds its limit of connections, and serves the rest later") {
  at_procs([] {
    std::atomic<int> here{0}, most{0}, served{0};
    server s(
        [&](net::stream& peer) {
          const int n = ++here;
          for (int m = most; n > m && !most.compare_exchange_weak(m, n);) {
          }
          echo(peer);
          ++served;
          --here;
        },
        {.limit = 3});
    std::vector<net::stream> clients;
    for (int i = 0; i < 12; ++i) clients.push_back(s.dial());
    CHECK(eventually([&] { return here == 3; }));
    for (auto& c : clients) c.close();
    CHECK(eventually([&] { return served == 12; }));
    CHECK(most == 3);
  });
}

TEST_CASE("a handler that throws, whatever it is, ends its own connection only") {
  log_catcher log;
  at_procs([] {
    std::atomic<int> which{0};
    server s([&](net::stream& peer) {
      switch (which++) {
        case 0: return echo(peer);
        case 1: throw std::runtime_error("of the handler");
        case 2: throw 7;
        case 3: throw stopped{};
        default: echo(peer);
      }
    });
    net::stream first = s.dial();
    first.write("a\n");
    CHECK(first.read_line(20s) == "a");
    for (int i = 0; i < 3; ++i) {
      net::stream c = s.dial();
      CHECK_FALSE(c.read_line(20s));
    }
    first.write("b\n");
    CHECK(first.read_line(20s) == "b");
    CHECK(s.answers());
  });
  CHECK(log.said("of the handler"));
  CHECK(log.said("not a std::exception"));
}

TEST_CASE("what follows a message with descriptors on a Unix socket is read without a further event") {
  at_procs([] {
    int ends[2];
    REQUIRE(::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) == 0);
    net::stream near{net::descriptor(ends[0])}, far{net::descriptor(ends[1])};
    alignas(cmsghdr) char control[CMSG_SPACE(sizeof(int))] = {};
    char a = 'a';
    iovec part{&a, 1};
    msghdr m{};
    m.msg_iov = &part;
    m.msg_iovlen = 1;
    m.msg_control = control;
    m.msg_controllen = sizeof control;
    cmsghdr* const c = CMSG_FIRSTHDR(&m);
    c->cmsg_level = SOL_SOCKET;
    c->cmsg_type = SCM_RIGHTS;
    c->cmsg_len = CMSG_LEN(sizeof(int));
    const int passed = 0;
    std::memcpy(CMSG_DATA(c), &passed, sizeof passed);
    whereabouts who;
    auto reader = spawn([&] {
      who.here();
      char data[64];
      std::string got;
      while (got.size() < 4) got.append(data, far.read_some(data, 20s));
      return got;
    });
    CHECK(who.will_wait());
    REQUIRE(::sendmsg(near.handle().fd(), &m, 0) == 1);
    REQUIRE(::send(near.handle().fd(), "bcd", 3, 0) == 3);
    CHECK(reader.get() == "abcd");
  });
}
