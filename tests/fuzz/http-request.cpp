// SPDX-License-Identifier: BSL-1.0
//
// Any bytes read as the head of a request: in pieces as at once, with nothing in it that another reader could
// take for something else.
#include <algorithm>

#include <leat/net/http_request.hpp>

#include "fuzz/fuzz.hpp"
#include "net/http_cases.hpp"

namespace leat::fuzz {
namespace {

using net::http::progress;
using net::http::request;

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + 32);
  return out;
}
std::size_t count(std::string_view in, std::string_view what) {
  std::size_t n = 0;
  for (std::size_t at = in.find(what); at != in.npos; at = in.find(what, at + 1)) ++n;
  return n;
}

void check_complete(std::string_view text, const request& r) {
  const std::string_view head = text.substr(0, r.head_size);
  require(head.ends_with("\r\n\r\n"), "a head ends with an empty line");
  require(count(head, "\r") == count(head, "\r\n") && count(head, "\n") == count(head, "\r\n"),
          "a head has no half line ends");
  require(head.find('\0') == head.npos, "a head has no zero byte");
  const std::string fields = "\r\n" + lower(r.fields);
  require(count(fields, "\r\ntransfer-encoding:") == 0, "no coding is accepted");
  require(count(fields, "\r\nhost:") == 1 || (r.minor_version == 0 && count(fields, "\r\nhost:") == 0),
          "there is one host");
  require(count(fields, "\r\ncontent-length:") <= 1, "there is one length at most");
  require((r.body_size == 0) || count(fields, "\r\ncontent-length:") == 1, "a body has a length");
  require(count(fields, "\r\n ") == 0 && count(fields, "\r\n\t") == 0, "no line is folded");
  require(r.path() == "*" || r.path().starts_with('/'), "a path begins with a slash");
  (void)net::http::query_value(r.query(), "a");
  (void)r.field("host");
}

void run(std::string_view input) {
  const unsigned step = choice(input, 7) + 1;
  net::http::request_parser whole;
  const progress how = whole.parse(input);
  if (how == progress::complete) check_complete(input, whole.get());

  // Elsewhere in memory each time, as it is when a buffer moves.
  net::http::request_parser pieces;
  progress so_far = progress::incomplete;
  std::string moved;
  for (std::size_t n = 0; n < input.size() && so_far == progress::incomplete;) {
    n = std::min(n + step, input.size());
    moved = std::string(input.substr(0, n));
    so_far = pieces.parse(moved);
  }
  require(so_far == how, "pieces come to the same end");
  if (how == progress::complete) {
    const request &a = whole.get(), &b = pieces.get();
    require(a.head_size == b.head_size && a.body_size == b.body_size && a.keep_alive == b.keep_alive &&
                a.target == b.target && a.method == b.method && a.fields == b.fields,
            "pieces are read as the whole");
    // What follows does not matter, and what was accepted is accepted once more.
    net::http::request_parser again;
    require(again.parse(input.substr(0, a.head_size)) == progress::complete, "a head stands for itself");
  } else if (how == progress::refused) {
    require(std::string_view(whole.status()) == pieces.status(), "pieces are refused for the same reason");
  }
}

inputs seeds() {
  inputs all;
  for (const auto& c : net::http::test::request_cases)
    all.push_back(chosen(static_cast<unsigned>(all.size() % 7), c.text));
  all.push_back(chosen(2,
                       "GET /a/b?n=5&name=a%20b+c&bad=%4 HTTP/1.1\r\nHost: a\r\nExpect: "
                       "100-continue\r\nConnection: x, close\r\n\r\nrest"));
  return all;
}

LEAT_FUZZ_TARGET("http-request", run, seeds);

}  // namespace
}  // namespace leat::fuzz
