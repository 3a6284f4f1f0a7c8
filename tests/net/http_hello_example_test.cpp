// SPDX-License-Identifier: BSL-1.0
#include "net/example_fixture.hpp"

namespace leat::net::test {
namespace {

const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n\r\n";
const std::string page = "Hello, world!\n";

struct answer {
  std::string status, head, body;
};
answer read_answer(stream& s, bool with_body = true) {
  answer a;
  CHECK(s.read_until(a.head, "\r\n\r\n", patience));
  a.status = a.head.substr(0, a.head.find("\r\n"));
  const std::size_t at = a.head.find("Content-Length: ");
  REQUIRE(at != std::string::npos);
  if (!with_body) return a;
  a.body.resize(std::stoul(a.head.substr(at + 16)));
  s.read_exactly(a.body, patience);
  return a;
}
answer ask(stream& s, const std::string& text, bool with_body = true) {
  s.write(text, patience);
  return read_answer(s, with_body);
}
bool ends(stream& s) {
  char c = 0;
  return s.read_some({&c, 1}, patience) == 0;
}

TEST_CASE("one connection carries many requests, one after the other and in a row") {
  run_clean(with_procs(2), [] {
    server s;
    stream c = s.dial();
    for (int i = 0; i < 100; ++i) {
      const answer a = ask(c, get);
      CHECK(a.status == "HTTP/1.1 200 OK");
      CHECK(a.body == page);
    }
    std::string row;
    for (int i = 0; i < 1000; ++i) row += get;  // more than the server's buffer
    auto writer = spawn([&] { c.write(row, patience); });
    for (int i = 0; i < 1000; ++i) CHECK(read_answer(c).body == page);
    writer.get();
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("a request that comes byte by byte is answered") {
  run_clean(with_procs(2), [] {
    server s;
    stream c = s.dial();
    for (const char byte : get) {
      c.write({&byte, 1});
      yield();
    }
    CHECK(read_answer(c).body == page);
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("methods, paths and bodies get their answers and the connection stays in step") {
  run_clean(with_procs(2), [] {
    server s;
    stream c = s.dial();
    const answer head = ask(c, "HEAD / HTTP/1.1\r\nHost: a\r\n\r\n", false);
    CHECK(head.status == "HTTP/1.1 200 OK");
    CHECK(head.head.find("Content-Length: 14\r\n") != std::string::npos);
    CHECK(ask(c, "GET /other HTTP/1.1\r\nHost: a\r\n\r\n").status == "HTTP/1.1 404 Not Found");
    const answer post = ask(c, "POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 27\r\n\r\n" + get);
    CHECK(post.status == "HTTP/1.1 405 Method Not Allowed");
    CHECK(post.head.find("\r\nAllow: GET, HEAD\r\n") != std::string::npos);
    const std::string body(20'000, 'x');
    CHECK(ask(c, "GET / HTTP/1.1\r\nHost: a\r\nContent-Length: 20000\r\n\r\n" + body + get).body == page);
    CHECK(read_answer(c).body == page);
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("what is refused gets a clear answer and the end of the connection") {
  run_clean(with_procs(2), [] {
    server s;
    const auto refused = [&](const std::string& text) {
      stream c = s.dial();
      const answer a = ask(c, text);
      CHECK(a.head.find("\r\nConnection: close\r\n") != std::string::npos);
      CHECK(ends(c));
      return a.status;
    };
    CHECK(refused("nonsense\r\n\r\n") == "HTTP/1.1 400 Bad Request");
    CHECK(refused("GET / HTTP/1.1\r\n\r\n") == "HTTP/1.1 400 Bad Request");
    CHECK(refused("GET / HTTP/1.1\r\nHost: a\r\nX: " + std::string(9000, 'x') + "\r\n\r\n") ==
          "HTTP/1.1 431 Request Header Fields Too Large");
    CHECK(refused("PUT / HTTP/1.1\r\nHost: a\r\nContent-Length: 9999999\r\n\r\n") ==
          "HTTP/1.1 413 Content Too Large");
    CHECK(refused("GET / HTTP/1.1\r\nHost: a\r\nTransfer-Encoding: chunked\r\n\r\n") ==
          "HTTP/1.1 501 Not Implemented");
    CHECK(refused("GET / HTTP/3.0\r\nHost: a\r\n\r\n") == "HTTP/1.1 505 HTTP Version Not Supported");
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("a connection ends when the client asks for it, half-closes or resets") {
  run_clean(with_procs(2), [] {
    server s;
    stream a = s.dial();
    CHECK(ask(a, "GET / HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n").body == page);
    CHECK(ends(a));
    stream b = s.dial();
    CHECK(ask(b, "GET / HTTP/1.0\r\n\r\n").body == page);
    CHECK(ends(b));
    stream c = s.dial();
    c.write(get);
    c.shutdown_write();
    CHECK(read_answer(c).body == page);
    CHECK(ends(c));
    stream d = s.dial();
    d.write(get + get);
    reset(d);
    stream e = s.dial();
    CHECK(ask(e, get).body == page);
    CHECK(s.end(SIGTERM).text() == "exited with 0");
  });
}

TEST_CASE("curl is served, by GET, HEAD and POST, twice on one connection") {
  if (!has_program("curl")) return;
  run_clean(with_procs(2), [] {
    server s;
    const std::string url = "http://" + s.where() + "/";
    CHECK(run_client({"curl", "-sS", url, url}).text == page + page);
    CHECK(run_client({"curl", "-sS", "-o", "/dev/null", "-w", "%{http_code} %{num_connects}\n", url, "-o",
                      "/dev/null", url})
              .text == "200 1\n200 0\n");
    CHECK(run_client({"curl", "-sSI", url}).text.starts_with("HTTP/1.1 200 OK\r\n"));
    CHECK(run_client({"curl", "-sS", "-w", "%{http_code}", "-d", "x=1", url}).text ==
          "405 Method Not Allowed\n405");
    CHECK(s.end().text() == "exited with 0");
  });
}

TEST_CASE("wrk finds no error") {
  if (!has_program("wrk")) return;
  run_clean(with_procs(2), [] {
    server s;
    const output o = run_client({"wrk", "-t1", "-c64", "-d1s", "http://" + s.where() + "/"});
    CHECK(o.status.ok());
    CHECK(o.text.find("requests in") != std::string::npos);
    CHECK(o.text.find("Non-2xx") == std::string::npos);
    CHECK(o.text.find("Socket errors") == std::string::npos);
    const std::size_t at = o.text.find("Requests/sec:");
    REQUIRE(at != std::string::npos);
    CHECK(std::stod(o.text.substr(at + 13)) > 0);
    std::printf("wrk -t1 -c64: %s", o.text.substr(at).c_str());
    CHECK(s.end().text() == "exited with 0");
  });
}

}  // namespace
}  // namespace leat::net::test
