// SPDX-License-Identifier: BSL-1.0
//
// The server's side of HTTP/1.1: keep-alive, pipelining, limits.
//
//   namespace http = leat::net::http;
//   leat::net::serve(at, [](leat::net::stream& peer) {
//     http::serve_connection(peer, [](const http::request& r) -> http::response {
//       if (r.path() != "/") return http::not_found();
//       return {.body = "Hello, world!\n"};
//     });
//   });
//
// What is wrong or too much is answered here: 400, 408, 413, 431, 501, 505, and the connection ends. A body
// is read and dropped, unless limits::keep_body is set. HEAD gets the response of GET without its body.
#pragma once
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>
#include <leat/net/http_request.hpp>
#include <leat/net/listener.hpp>
#include <leat/net/stream.hpp>

namespace leat::net::http {

struct response {
  std::string_view status = "200 OK";
  std::string_view type = "text/plain";
  std::string fields = {};  // further ones, each with its "\r\n"
  std::string body = {};
  // Instead of a body: called after the head has gone out, to write what it likes. When it returns or throws
  // std::system_error, the connection ends.
  std::function<void(stream&)> then = {};
  std::shared_ptr<void> until_sent = {};  // kept until the client has taken the body
};

// A status as a response of its own, with its text as body.
response plain(std::string_view status);
response not_found();
response method_not_allowed();  // but GET and HEAD

struct limits {
  std::size_t head = 8192;
  std::uint64_t body = 1 << 20;
  bool keep_body = false;                        // the handler is called when it is there: request::body
  timespan between = std::chrono::seconds(60);   // requests
  timespan for_head = std::chrono::seconds(10);  // the first one's: from the beginning of the connection
  timespan for_body = std::chrono::seconds(30);
  timespan to_write = std::chrono::seconds(10);
  // How the server tells what it refuses by itself, by its status: "413 Content Too Large".
  response (*refusal)(std::string_view status) = plain;
};

// Until one side ends it. The handler is called for each request, in order; its views are good until it
// returns. Throws what the stream's writes throw. `who` is idle while no request has begun (listener.hpp).
void serve_connection(stream& peer, const std::function<response(const request&)>& handler,
                      const limits& l = {}, guest* who = nullptr);

}  // namespace leat::net::http
