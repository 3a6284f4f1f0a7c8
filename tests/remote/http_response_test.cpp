// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>

#include <leat/remote/http_response.hpp>

#include <algorithm>

namespace leat::remote {
namespace {

struct seen {
  bool good = true, complete = false;
  int status = 0;
  std::string body, error;
  friend bool operator==(const seen&, const seen&) = default;
};

seen read(std::string_view bytes, std::size_t at_once, bool closes = true) {
  http_response a;
  seen s;
  for (; s.good && !bytes.empty(); bytes.remove_prefix(std::min(at_once, bytes.size())))
    s.good = a.feed(bytes.substr(0, at_once));
  if (s.good && closes && !a.complete()) s.good = a.close();
  s.complete = a.complete();
  s.status = a.status();
  s.body = a.body();
  s.error = a.error();
  return s;
}

}  // namespace

TEST_CASE("bodies with a length, in chunks and up to the end are read, in any pieces") {
  for (const std::string text : {
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhe\r\n3;x=y\r\nllo\r\n0\r\n\r\n",
           "HTTP/1.1 200 OK\r\ntransfer-encoding: Chunked\r\n\r\n5\r\nhello\r\n0\r\nx: y\r\n\r\n",
           "HTTP/1.0 200 OK\r\n\r\nhello",
           "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
           "HTTP/1.1 200 OK\nContent-Length: 5\n\nhello",
       })
    for (const std::size_t at_once : {1u, 2u, 3u, 7u, 1000u}) {
      CAPTURE(text);
      CAPTURE(at_once);
      CHECK(read(text, at_once) == seen{true, true, 200, "hello", ""});
    }
}

TEST_CASE("an answer without a body is whole at once") {
  CHECK(read("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", 1000, false).complete);
  CHECK(read("HTTP/1.1 204 No Content\r\n\r\n", 1000, false).complete);
  CHECK(read("HTTP/1.1 404 x\r\nContent-Length: 2\r\n\r\n{}", 1000, false) ==
        seen{true, true, 404, "{}", ""});
}

TEST_CASE("a stream gives its parts as they come") {
  http_response a;
  CHECK(a.feed(
      "HTTP/1.1 200 OK\r\nContent-Type: application/x-ndjson\r\nTransfer-Encoding: chunked\r\n\r\n3\r\none"));
  CHECK(a.body() == "one");
  CHECK(a.content_type() == "application/x-ndjson");
  a.body().clear();
  CHECK(a.feed("\r\n3\r\ntwo\r\n"));
  CHECK(a.body() == "two");
  CHECK_FALSE(a.complete());
}

TEST_CASE("what ends too early, or is no answer, is told") {
  for (const std::string text : {
           "",
           "HTTP/1.1 200 OK\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhell",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
           "SSH-2.0-OpenSSH_9.2\r\n\r\n",
           "HTTP/2 200 OK\r\n\r\n",
           "HTTP/1.1 99 x\r\n\r\n",
           "HTTP/1.1 200 OK\r\nno colon\r\n\r\n",
           "HTTP/1.1 200 OK\r\nContent-Length: -5\r\n\r\nhello",
           "HTTP/1.1 200 OK\r\nContent-Length: 5\r\nContent-Length: 6\r\n\r\nhello",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: gzip\r\n\r\nhello",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nx\r\nhello\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nhello\r\n",
           "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nfffffffffffffffff\r\n",
       })
    for (const std::size_t at_once : {1u, 1000u}) {
      CAPTURE(text);
      const seen s = read(text, at_once);
      CHECK_FALSE(s.good);
      CHECK_FALSE(s.complete);
      CHECK_FALSE(s.error.empty());
    }
}

TEST_CASE("heads and bodies have bounds") {
  CHECK_FALSE(read("HTTP/1.1 200 OK\r\nx: " + std::string(http_response::longest_head, 'x'), 5000).good);
  CHECK_FALSE(
      read("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n" + std::string(5000, '1'), 5000).good);
  http_response a;
  CHECK(a.feed("HTTP/1.1 200 OK\r\n\r\n"));
  const std::string much(std::size_t{8} << 20, 'x');
  bool good = true;
  for (int i = 0; i < 9 && good; ++i) good = a.feed(much);
  CHECK_FALSE(good);
  CHECK(a.body().size() <= http_response::longest_body);
}

}  // namespace leat::remote
