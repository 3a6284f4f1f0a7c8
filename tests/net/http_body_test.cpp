// SPDX-License-Identifier: BSL-1.0
//
// Bodies that the handler gets (limits::keep_body).
#include <string>

#include <doctest/doctest.h>

#include <leat/leat.hpp>
#include <leat/net.hpp>
#include <leat/net/http_server.hpp>

#include "fixture.hpp"

using namespace leat;
using namespace std::chrono_literals;
namespace http = leat::net::http;

namespace {

// What a server that echoes bodies answers to these bytes, sent in pieces of `piece`.
std::string answers_to(const std::string& bytes, std::size_t piece) {
  std::string all;
  (void)leat::run([&] {
    net::listener at = net::listen("127.0.0.1:0");
    task_group group;
    group.go([&] {
      http::limits l;
      l.body = 1000;
      l.keep_body = true;
      l.for_body = 200ms;
      net::serve(at, [&](net::stream& peer) {
        http::serve_connection(
            peer,
            [](const http::request& r) -> http::response {
              return {.body = std::string(r.path()) + '=' + std::string(r.body)};
            },
            l);
      });
    });
    net::stream peer = net::dial(at.local().text(), 5s);
    for (std::size_t i = 0; i < bytes.size(); i += piece) {
      peer.write(bytes.substr(i, piece), 5s);
      yield();
    }
    peer.shutdown_write();
    char text[256];
    std::error_code ec;
    while (const std::size_t n = peer.read_some({text, sizeof text}, ec, 10s)) all.append(text, n);
    at.shutdown();
  });
  return all;
}

std::string post(const std::string& path, const std::string& body, const std::string& fields = {}) {
  return "POST " + path + " HTTP/1.1\r\nHost: x\r\n" + fields +
         "Content-Length: " + std::to_string(body.size()) + "\r\n\r\n" + body;
}

bool has(const std::string& text, const std::string& part) { return text.find(part) != std::string::npos; }

}  // namespace

TEST_CASE("a handler gets the body, however it is cut, and the next request comes after it") {
  const std::string big(990, 'b');
  for (const std::size_t piece : {1u, 7u, 100000u}) {
    const std::string text = answers_to(
        post("/a", "one") + "GET /none HTTP/1.1\r\nHost: x\r\n\r\n" + post("/b", big) + post("/c", ""),
        piece);
    CHECK(has(text, "\r\n\r\n/a=one"));
    CHECK(has(text, "\r\n\r\n/none="));
    CHECK(has(text, "\r\n\r\n/b=" + big));
    CHECK(has(text, "\r\n\r\n/c="));
  }
}

TEST_CASE("a body that is too large is refused before it is read, one that does not come is not waited for") {
  CHECK(has(answers_to("POST / HTTP/1.1\r\nHost: x\r\nContent-Length: 1001\r\n\r\n", 1000), "413 "));
  CHECK_FALSE(has(answers_to("POST /x HTTP/1.1\r\nHost: x\r\nContent-Length: 10\r\n\r\nhalf", 1000), "/x="));
}

TEST_CASE("who waits for a word to go on gets it") {
  const std::string text = answers_to(post("/e", "later", "Expect: 100-continue\r\n"), 1000);
  CHECK(has(text, "HTTP/1.1 100 Continue\r\n\r\n"));
  CHECK(has(text, "\r\n\r\n/e=later"));
}
