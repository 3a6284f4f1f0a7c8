// SPDX-License-Identifier: BSL-1.0
#include <doctest/doctest.h>
#include <string>

#include <leat/net/http_request.hpp>
#include <leat/net/http_response.hpp>

#include "net/http_cases.hpp"

namespace leat::net::http::test {

TEST_CASE("each request of the table is read or refused as RFC 9112 asks for") {
  for (const request_case& c : request_cases) {
    CAPTURE(std::string(c.text));
    request_parser p;
    const progress how = p.parse(c.text);
    REQUIRE(how != progress::incomplete);
    CHECK((how == progress::refused ? std::string(p.status()) : "") == c.status);
    if (how != progress::complete) continue;
    CHECK(p.get().body_size == c.body);
    CHECK(p.get().head_size == c.text.size());
  }
}

TEST_CASE("each response of the table keeps its connection only where its length is beyond doubt") {
  for (const response_case& c : response_cases) {
    CAPTURE(std::string(c.text));
    const char* why = nullptr;
    const std::optional<response_head> r = parse_response(c.text, why);
    REQUIRE(r.has_value() == (c.status != 0));
    if (!r) {
      CHECK(why != nullptr);
      continue;
    }
    CHECK(r->status == c.status);
    CHECK(r->keep_alive == c.keeps);
    CHECK(r->body_size == c.body);
  }
}

TEST_CASE("the path of an absolute target ends where its query begins") {
  static const std::string text = "GET http://a?b=/c/d HTTP/1.1\r\nHost: a\r\n\r\n";
  request_parser p;
  REQUIRE(p.parse(text) == progress::complete);
  CHECK(p.get().path() == "/");
  CHECK(p.get().query() == "b=/c/d");
}

}  // namespace leat::net::http::test
