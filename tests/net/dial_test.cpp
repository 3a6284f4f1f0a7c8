// SPDX-License-Identifier: BSL-1.0
#include <dlfcn.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <atomic>
#include <cstring>
#include <thread>
#include <vector>

#include "net/fixture.hpp"

namespace {

// Of this name the addresses of IPv4 are known at once, and an answer with those of both families comes when it may.
constexpr const char* half_known = "half-known.test";
std::atomic<bool> may_answer{false};

}  // namespace

extern "C" int getaddrinfo(const char* name, const char* service, const addrinfo* hints, addrinfo** found) {
  static const auto real = reinterpret_cast<decltype(&getaddrinfo)>(::dlsym(RTLD_NEXT, "getaddrinfo"));
  if (name && std::strcmp(name, half_known) == 0) {
    while (hints->ai_family != AF_INET && !may_answer)
      std::this_thread::sleep_for(std::chrono::milliseconds(1));
    if (hints->ai_family != AF_INET) return EAI_AGAIN;
    name = "127.0.0.1";
  }
  return real(name, service, hints, found);
}

namespace leat::net::test {
namespace {

using namespace std::chrono_literals;

// An address whose packets are dropped: its queue is full, and nobody accepts.
class silent_place {
 public:
  silent_place() : at_(listen("127.0.0.1:0", 0)) {
    const address to = at_.local();
    for (int& fd : fds_) {
      fd = ::socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
      (void)::connect(fd, to.data(), to.size());
    }
  }
  ~silent_place() {
    for (const int fd : fds_) ::close(fd);
  }
  silent_place(const silent_place&) = delete;
  address where() const { return at_.local(); }

 private:
  listener at_;
  int fds_[4] = {};
};

address refusing_place() {
  const listener gone = listen("127.0.0.1:0");
  return gone.local();
}

int option(const stream& s, int level, int name) {
  int v = 0;
  socklen_t size = sizeof v;
  REQUIRE(::getsockopt(s.handle().fd(), level, name, &v, &size) == 0);
  return v;
}

TEST_CASE("an address that drops what is sent to it does not keep the next from being tried") {
  at_procs([] {
    const silent_place silent;
    listener good = listen("127.0.0.1:0");
    const time_point begin = now();
    const stream s = dial(std::vector<address>{silent.where(), good.local()}, patience);
    CHECK(s.peer().text() == good.local().text());
    CHECK(now() - begin < patience / 2);
  });
}

TEST_CASE("a short deadline is long enough for each address to be tried") {
  at_procs([] {
    // At 250 ms each, the last one's turn would come after the deadline.
    const silent_place a, b, c, d, e;
    listener good = listen("127.0.0.1:0");
    const stream s = dial(
        std::vector<address>{a.where(), b.where(), c.where(), d.where(), e.where(), good.local()}, 1200ms);
    CHECK(s.peer().text() == good.local().text());
  });
}

TEST_CASE("an answer about IPv6 that does not come holds up nobody who can be reached by IPv4") {
  at_procs([] {
    may_answer = false;
    listener good = listen("127.0.0.1:0");
    const std::string port = std::to_string(good.local().port());
    const stream s = dial(std::string(half_known) + ':' + port, patience);
    CHECK(s.peer().text() == good.local().text());
    CHECK_FALSE(may_answer);
    may_answer = true;
  });
}

TEST_CASE("one that refuses is followed by the next at once") {
  at_procs([] {
    listener good = listen("[::1]:0");
    std::vector<address> all(20);  // of which nobody listens
    for (std::size_t i = 0; i < all.size(); ++i)
      all[i] = *address::parse("127.0.0.1:" + std::to_string(i + 1));
    all.push_back(good.local());
    const time_point begin = now();
    const stream s = dial(all, deadline::never());
    CHECK(s.peer().text() == good.local().text());
    CHECK(now() - begin < 20 * 250ms);
  });
}

TEST_CASE("the other family is tried second, however many addresses the first one has") {
  at_procs([] {
    const std::vector<silent_place> silent(15);
    listener good = listen("[::1]:0");
    std::vector<address> all;
    for (const silent_place& s : silent) all.push_back(s.where());
    all.push_back(good.local());
    const time_point begin = now();
    const stream s = dial(all, patience);
    CHECK(s.peer().text() == good.local().text());
    CHECK(now() - begin < 12 * 250ms);  // as the last one it would take longer
  });
}

TEST_CASE("when none answers, the last error or the deadline is told") {
  at_procs([] {
    const address gone = refusing_place();
    CHECK(error_of([&] { (void)dial(std::vector<address>{gone, gone, refusing_place()}, patience); }) ==
          std::errc::connection_refused);
    const silent_place a, b;
    CHECK(error_of([&] { (void)dial(std::vector<address>{a.where(), b.where()}, 20ms); }) ==
          std::errc::timed_out);
    CHECK(error_of([&] { (void)dial(std::vector<address>{}, patience); }) == std::errc::host_unreachable);
  });
}

TEST_CASE("a stop ends all attempts") {
  at_procs([] {
    const silent_place a, b;
    auto t =
        start_waiting([&] { CHECK(stops([&] { (void)dial(std::vector<address>{a.where(), b.where()}); })); });
    t.request_stop();
    (void)t.join();
  });
}

TEST_CASE("a name is dialled by any of its addresses") {
  at_procs([] {
    listener at = listen("127.0.0.1:0");
    const stream s = dial("localhost:" + std::to_string(at.local().port()), patience);
    CHECK(s.peer().port() == at.local().port());
    CHECK(error_of([] { (void)dial("no-such-host.invalid:80", patience); }));
  });
}

TEST_CASE("a peer that has lost its power will be noticed, on both sides") {
  at_procs([] {
    listener at = listen("127.0.0.1:0");
    const stream near = dial(at.local(), patience), far = at.accept(patience);
    for (const stream* s : {&near, &far}) {
      CHECK(option(*s, SOL_SOCKET, SO_KEEPALIVE) == 1);
      CHECK(option(*s, IPPROTO_TCP, TCP_KEEPIDLE) == 60);
      CHECK(option(*s, IPPROTO_TCP, TCP_USER_TIMEOUT) == 120'000);
    }
  });
}

}  // namespace
}  // namespace leat::net::test
