// SPDX-License-Identifier: BSL-1.0
//
// The server's side of HTTP/1.1: keep-alive, pipelining, limits.
//
//   leat::net::serve(at, [](stream& peer) {
//     http::serve_connection(peer, [](const http::request& r) -> http::answer {
//       if (r.path() != "/") return http::not_found();
//       return {.body = "Hello, world!\n"};
//     });
//   });
//
// What is wrong or too much is answered here: 400, 408, 413, 431, 501, 505, and the connection ends. A body
// is read and dropped. HEAD gets the answer of GET without its body.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>
#include <leat/net/http_request.hpp>
#include <leat/net/stream.hpp>

namespace leat::net::http {

struct answer {
  std::string_view status = "200 OK";
  std::string_view type = "text/plain";
  std::string fields = {};  // further ones, each with its "\r\n"
  std::string body = {};
  // Instead of a body: called after the head has gone out, to write what it likes. When it returns or throws
  // std::system_error, the connection ends.
  std::function<void(stream&)> then = {};
};

// A status as an answer of its own, with its text as body.
answer plain(std::string_view status);
answer not_found();
answer method_not_allowed();  // but GET and HEAD

struct limits {
  std::size_t head = 8192;
  std::uint64_t body = 1 << 20;
  nanoseconds between = std::chrono::seconds(60);  // requests
  nanoseconds for_head = std::chrono::seconds(10);
  nanoseconds for_body = std::chrono::seconds(30);
  nanoseconds to_write = std::chrono::seconds(10);
};

// Until one side ends it. The handler is called for each request, in order; its views are good until it
// returns. Throws what the stream's writes throw.
void serve_connection(stream& peer, const std::function<answer(const request&)>& handler,
                      const limits& l = {});

}  // namespace leat::net::http
