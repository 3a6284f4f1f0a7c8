// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <string>

#include <leat/net/http_request.hpp>

namespace leat::net::http {
namespace {

const std::string get = "GET / HTTP/1.1\r\nHost: a\r\n";

struct result {
  progress how;
  request r;
  std::string status;
};
result parsed(const std::string& text) {
  request_parser p;
  const progress how = p.parse(text);
  return {how, p.get(), how == progress::refused ? p.status() : ""};
}
std::string refusal(const std::string& text) { return parsed(text).status; }

TEST_CASE("a request gives its parts") {
  static const std::string text = "GET /a/b?x=1 HTTP/1.1\r\nHost: example.org\r\nX-Other:  y \r\n\r\nrest";
  const result a = parsed(text);
  REQUIRE(a.how == progress::complete);
  CHECK(a.r.method == "GET");
  CHECK(a.r.target == "/a/b?x=1");
  CHECK(a.r.path() == "/a/b");
  CHECK(a.r.minor_version == 1);
  CHECK(a.r.keep_alive);
  CHECK(a.r.head_size == text.size() - 4);
}

TEST_CASE("a head that comes byte by byte is the same as one that comes at once") {
  const std::string text = get + "Content-Length: 12\r\nConnection: close\r\n\r\n";
  request_parser p;
  for (std::size_t n = 0; n < text.size(); ++n) {
    const std::string moved(text, 0, n);  // elsewhere each time
    REQUIRE(p.parse(moved) == progress::incomplete);
  }
  REQUIRE(p.parse(text) == progress::complete);
  CHECK(p.get().body_size == 12);
  CHECK_FALSE(p.get().keep_alive);
  p.reset();
  CHECK(p.parse(get + "\r\n") == progress::complete);
  CHECK(p.get().body_size == 0);
  CHECK(p.get().keep_alive);
}

TEST_CASE("whether the connection stays follows from version and fields") {
  const auto keeps = [](const std::string& text) {
    const result a = parsed(text);
    REQUIRE(a.how == progress::complete);
    return a.r.keep_alive;
  };
  CHECK(keeps(get + "\r\n"));
  CHECK_FALSE(keeps(get + "Connection: close\r\n\r\n"));
  CHECK_FALSE(keeps(get + "connection: foo , Close\r\n\r\n"));
  CHECK(keeps(get + "Connection: closed\r\n\r\n"));
  CHECK_FALSE(keeps("GET / HTTP/1.0\r\n\r\n"));
  CHECK(keeps("GET / HTTP/1.0\r\nConnection: Keep-Alive\r\n\r\n"));
}

TEST_CASE("a target may be a path, absolute, or a star") {
  static const std::string absolute = "GET http://a/b?c HTTP/1.1\r\nHost: a\r\n\r\n";
  CHECK(parsed(absolute).r.path() == "/b");
  static const std::string bare = "GET http://a HTTP/1.1\r\nHost: a\r\n\r\n";
  CHECK(parsed(bare).r.path() == "/");
  static const std::string star = "OPTIONS * HTTP/1.1\r\nHost: a\r\n\r\n";
  CHECK(parsed(star).r.path() == "*");
}

TEST_CASE("a request tells its query and its fields") {
  static const std::string text =
      "GET /a?n=5&name=a%20b+c&bad=%4&flag HTTP/1.1\r\nHost: example.org:80\r\nLast-Event-ID:  7-9 "
      "\r\nX:\r\n\r\n";
  const request r = parsed(text).r;
  CHECK(r.query() == "n=5&name=a%20b+c&bad=%4&flag");
  CHECK(query_value(r.query(), "n") == "5");
  CHECK(query_value(r.query(), "name") == "a b c");
  CHECK_FALSE(query_value(r.query(), "bad").has_value());
  CHECK_FALSE(query_value(r.query(), "flag").has_value());
  CHECK_FALSE(query_value(r.query(), "na").has_value());
  CHECK(r.field("host") == "example.org:80");
  CHECK(r.field("last-event-id") == "7-9");
  CHECK(r.field("x") == "");
  CHECK(r.field("y") == "");
}

TEST_CASE("empty lines before a request are passed over") {
  CHECK(parsed("\r\n\r\n" + get + "\r\n").how == progress::complete);
  CHECK(parsed("\r\n").how == progress::incomplete);
}

TEST_CASE("what is wrong or can be read in two ways is refused") {
  for (const std::string& text : {
           std::string("\n"),
           std::string("GET / HTTP/1.1\n\n"),
           std::string("GET /\r\n\r\n"),
           std::string("GET  HTTP/1.1\r\n\r\n"),
           std::string(" GET / HTTP/1.1\r\n\r\n"),
           std::string("GET / HTTP/1.1 \r\n\r\n"),
           std::string("G@T / HTTP/1.1\r\nHost: a\r\n\r\n"),
           std::string("GET nowhere HTTP/1.1\r\nHost: a\r\n\r\n"),
           std::string("GET / a HTTP/1.1\r\nHost: a\r\n\r\n"),
           std::string("GET / HTTP/11\r\nHost: a\r\n\r\n"),
           std::string("GET / http/1.1\r\nHost: a\r\n\r\n"),
           std::string("GET /\x01 HTTP/1.1\r\nHost: a\r\n\r\n"),
           std::string("GET / HTTP/1.1\r\n\r\n"),  // no host
           get + "Host: b\r\n\r\n",
           get + "No colon\r\n\r\n",
           get + "Blank : x\r\n\r\n",
           get + " folded\r\n\r\n",
           get + ": x\r\n\r\n",
           get + "X: a\rb\r\n\r\n",
           get + "X: a\x01\r\n\r\n",
           get + std::string("X: a\0b\r\n\r\n", 10),
           get + "Content-Length: 1\r\nContent-Length: 1\r\n\r\n",
           get + "Content-Length: -1\r\n\r\n",
           get + "Content-Length: +1\r\n\r\n",
           get + "Content-Length: 1, 1\r\n\r\n",
           get + "Content-Length:\r\n\r\n",
           get + "Content-Length: 99999999999999999999\r\n\r\n",
           get + "Content-Length: 1\r\nTransfer-Encoding: chunked\r\n\r\n",
       }) {
    CAPTURE(text);
    CHECK(refusal(text) == "400 Bad Request");
  }
  CHECK(refusal(get + "Transfer-Encoding: chunked\r\n\r\n") == "501 Not Implemented");
  CHECK(refusal("GET / HTTP/2.0\r\nHost: a\r\n\r\n") == "505 HTTP Version Not Supported");
}

TEST_CASE("no input makes the parser read past it") {
  // Every prefix and every changed byte of a request, in memory of its own so that sanitizers see a step
  // over.
  const std::string text = get + "Content-Length: 5\r\nConnection: a,b\r\n\r\n";
  int complete = 0;
  for (std::size_t i = 0; i <= text.size(); ++i)
    complete += parsed(text.substr(0, i)).how == progress::complete;
  CHECK(complete == 1);
  int differs = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    for (const char c : {'\0', '\r', '\n', ' ', ':', '\t', '/', '\x7f', '\xff'}) {
      std::string changed = text;
      changed[i] = c;
      differs += parsed(changed).how != progress::complete;
    }
  }
  CHECK(differs > 0);
}

}  // namespace
}  // namespace leat::net::http
