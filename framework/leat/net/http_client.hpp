// SPDX-License-Identifier: BSL-1.0
//
// The client's side of HTTP/1.1, as far as a program needs it that hands in data: POST, and the status of the
// response. The connection is kept while both sides want it.
//
//   namespace http = leat::net::http;
//   http::client c(*http::url::parse("http://127.0.0.1:8080/in"), {});
//   if (c.post("application/json", text) == 200) ...
#pragma once
#include <chrono>
#include <cstddef>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>
#include <leat/net/http_response.hpp>
#include <leat/net/stream.hpp>

namespace leat::net::http {

struct url {
  std::string host;     // with its port, as dial takes it and the field Host says it
  std::string path;     // with the query; at least "/"
  bool secure = false;  // https

  // "http://host:port/path", "https://host/path". Empty: it is none, and `why` says what is wrong with it.
  static std::optional<url> parse(std::string_view text, std::string* why = nullptr);
};

class client {
 public:
  struct options {
    timespan to_connect = std::chrono::seconds(5);
    timespan to_answer = std::chrono::seconds(10);  // from the first byte sent
    std::size_t head = 16 * 1024;                   // of a response
    // A body is read and dropped; a larger one, or one whose size is not known, costs the connection.
    std::size_t body = 64 * 1024;
    std::string fields = {};  // further ones of each request, each with its "\r\n"
    // What makes a new connection to "host:port" safe: for https, within what is left of to_connect. TLS is
    // in a layer above (leat/tls/stream.hpp).
    std::function<void(stream&, const std::string& host, deadline until)> secure = {};
  };

  client(url to, options o) : to_(std::move(to)), o_(std::move(o)) {}

  // The status, 200 to 599. Throws std::system_error: protocol_error for what is not HTTP, the stream's and
  // dial's errors, and those of options::secure. std::invalid_argument: https without that. A connection that
  // was kept and turns out to have ended is dialled again once.
  int post(std::string_view type, std::string_view body);
  void close() noexcept { peer_.close(); }

 private:
  int exchange(const std::string& request, deadline until);
  response_head read_head(deadline until);
  bool drop_body(const response_head& r, deadline until);

  url to_;
  options o_;
  stream peer_;
};

}  // namespace leat::net::http
