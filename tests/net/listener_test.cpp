// SPDX-License-Identifier: BSL-1.0
#include <malloc.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <fstream>

#include <leat/net/http_server.hpp>

#include "net/fixture.hpp"

namespace leat::net::test {
namespace {

bool exists(const std::string& path) {
  struct stat s{};
  return ::lstat(path.c_str(), &s) == 0;
}

// A socket file that a dead server left behind.
void leave_socket_at(const std::string& path) {
  const address a = *address::parse("unix:" + path);
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  REQUIRE(::bind(fd, a.data(), a.size()) == 0);
  ::close(fd);
}

TEST_CASE("port 0 is any that is free, and local tells which") {
  run_clean(with_procs(1), [] {
    listener a = listen("127.0.0.1:0"), b = listen("[::1]:0");
    CHECK(a.local().port() != 0);
    CHECK(b.local().text().starts_with("[::1]:"));
    stream s = dial(a.local().text(), patience);
    CHECK(a.accept(patience).peer().text() == s.local().text());
  });
}

TEST_CASE("an address in use, and text that is none, are told with the text") {
  run_clean(with_procs(1), [] {
    listener a = listen("127.0.0.1:0");
    const std::string where = a.local().text();
    CHECK(error_of([&] { (void)listen(where); }) == std::errc::address_in_use);
    CHECK(text_of<std::system_error>([&] { (void)listen(where); }).find(where) != std::string::npos);
    CHECK(text_of<std::invalid_argument>([] { (void)listen("nowhere"); }).find("nowhere") !=
          std::string::npos);
  });
}

TEST_CASE("a unix path on which nobody listens any more is replaced") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    const std::string path = dir / "socket";
    leave_socket_at(path);
    {
      listener at = listen("unix:" + path);
      stream s = dial("unix:" + path, patience);
      stream peer = at.accept(patience);
      s.write("hello\n");
      CHECK(peer.read_line(patience) == "hello");
    }
    CHECK_FALSE(exists(path));
  });
}

TEST_CASE("a unix path on which somebody listens is left alone") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    const std::string where = "unix:" + (dir / "socket");
    listener first = listen(where);
    CHECK(error_of([&] { (void)listen(where); }) == std::errc::address_in_use);
    stream s = dial(where, patience);
    CHECK(first.accept(patience).is_open());
  });
}

TEST_CASE("of many who find a dead unix path at once one gets it") {
  run_clean(with_procs(4), [] {
    scratch_directory dir;
    for (int round = 0; round < 200; ++round) {
      const std::string path = dir / ("socket" + std::to_string(round));
      leave_socket_at(path);
      constexpr int many = 4;
      std::atomic<int> ready{0}, got{0}, in_use{0};
      std::array<listener, many> all;  // none is closed before all have tried
      task_group tries;
      for (listener& mine : all)
        tries.go([&] {
          ++ready;
          while (ready < many) yield();
          try {
            mine = listen("unix:" + path);
            ++got;
          } catch (const std::system_error& e) {
            if (e.code() == std::errc::address_in_use) ++in_use;
          }
        });
      tries.wait();
      CHECK(got == 1);
      CHECK(in_use == many - 1);
      CHECK(exists(path));
    }
  });
}

TEST_CASE("what has taken the place of its unix path is not removed at its end") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    const std::string path = dir / "socket";
    listener second;
    {
      listener first = listen("unix:" + path);
      REQUIRE(::unlink(path.c_str()) == 0);
      second = listen("unix:" + path);
    }
    stream s = dial("unix:" + path, patience);
    CHECK(second.accept(patience).is_open());
    second.close();
    CHECK_FALSE(exists(path));
    {
      listener third = listen("unix:" + path);
      REQUIRE(::unlink(path.c_str()) == 0);
      std::ofstream(path) << "data";
    }
    CHECK(exists(path));
  });
}

TEST_CASE("a file that is no socket is never replaced") {
  run_clean(with_procs(1), [] {
    scratch_directory dir;
    const std::string path = dir / "precious";
    std::ofstream(path) << "data";
    CHECK(error_of([&] { (void)listen("unix:" + path); }) == std::errc::address_in_use);
    CHECK(exists(path));
  });
}

TEST_CASE("an accept ends at its deadline, by a stop, and by a shutdown") {
  for (const std::string& where : {std::string("127.0.0.1:0"), abstract_name("listener-test")}) {
    at_procs([&] {
      listener at = listen(where);
      CHECK(error_of([&] { (void)at.accept(5ms); }) == std::errc::timed_out);
      CHECK(stops_while_waiting([&] { (void)at.accept(); }));
      auto waiting = start_waiting(
          [&] { CHECK(error_of([&] { (void)at.accept(); }) == std::errc::operation_canceled); });
      at.shutdown();
      waiting.get();
    });
  }
}

TEST_CASE("nobody there is refused at once") {
  run_clean(with_procs(2), [] {
    std::string where;
    {
      listener gone = listen("127.0.0.1:0");
      where = gone.local().text();
    }
    CHECK(error_of([&] { (void)dial(where, patience); }) == std::errc::connection_refused);
    CHECK(error_of([] { (void)dial("unix:/nonexistent/socket"); }) == std::errc::no_such_file_or_directory);
  });
}

TEST_CASE("serve handles connections side by side, no more than its limit, and ends with a shutdown") {
  at_procs([] {
    listener at = listen("127.0.0.1:0");
    std::atomic<int> inside{0}, most{0}, served{0};
    auto server = spawn([&] {
      serve(at,
            [&](stream& peer) {
              const int n = ++inside;
              for (int m = most; n > m && !most.compare_exchange_weak(m, n);) {
              }
              while (auto line = peer.read_line(patience)) peer.write(*line + "\n", patience);
              --inside;
              ++served;
            },
            {.limit = 3});
    });
    {
      task_group clients;
      for (int i = 0; i < 12; ++i) {
        clients.go([&] {
          stream s = dial(at.local(), patience);
          s.write("ping\n", patience);
          CHECK(s.read_line(patience) == "ping");
        });
      }
      clients.wait();
    }
    CHECK(eventually([&] { return served == 12; }));
    CHECK(most <= 3);
    at.shutdown();
    server.get();
  });
}

// Of large pieces; a sanitizer's allocator tells nothing.
std::size_t bytes_mapped() { return ::mallinfo2().hblkhd; }

TEST_CASE("an answer that its client does not take is kept once") {
  run_clean(with_procs(2), [] {
    constexpr std::size_t size = 40 << 20;
    const auto large = [](const http::request&) -> http::response {
      return {.body = std::string(size, 'x')};
    };
    const http::limits patient{.for_head = patience, .to_write = patience};
    listener at = listen("127.0.0.1:0");
    task<void> server =
        spawn([&] { serve(at, [&](stream& peer) { http::serve_connection(peer, large, patient); }); });
    for (const char* kept : {"close", "keep-alive"}) {
      const std::size_t before = bytes_mapped();
      stream client = dial(at.local().text(), patience);
      client.write("GET / HTTP/1.1\r\nHost: a\r\nConnection: " + std::string(kept) + "\r\n\r\n", patience);
      char first = 0;
      REQUIRE(client.read_some({&first, 1}, patience) == 1);
      CHECK(bytes_mapped() < before + size + size / 2);
      // Nor is its memory kept for the next one.
      std::string part;
      REQUIRE(client.read_until(part, "\r\n\r\n", patience));
      part.resize(1 << 20);
      for (std::size_t left = size; left > 0; left -= part.size()) client.read_exactly(part, patience);
      CHECK(eventually([&] { return bytes_mapped() < before + size / 2; }));
      client.close();
    }
    at.shutdown();
    server.get();
  });
}

TEST_CASE("an exception out of a handler ends its connection and no other") {
  run_clean(with_procs(2), [] {
    log_catcher log;
    listener at = listen("127.0.0.1:0");
    auto server = spawn([&] {
      serve(at, [](stream& peer) {
        const auto line = peer.read_line(patience);
        if (line == "bad") throw std::runtime_error("handler says no");
        peer.write("fine\n", patience);
      });
    });
    stream bad = dial(at.local(), patience), good = dial(at.local(), patience);
    bad.write("bad\n");
    CHECK(bad.read_line(patience) == std::nullopt);
    good.write("good\n");
    CHECK(good.read_line(patience) == "fine");
    CHECK(log.said("handler says no"));
    at.shutdown();
    server.get();
  });
}

}  // namespace
}  // namespace leat::net::test
