// SPDX-License-Identifier: BSL-1.0
//
// The head of an HTTP/1.x request, strictly: what two readers could understand in two ways is refused, since
// that is how requests are smuggled past proxies.
#pragma once
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace leat::net::http {

struct request {
  std::string_view method, target;  // into the text that was parsed
  int minor_version = 1;            // of HTTP/1.x
  bool keep_alive = true;
  bool expects_continue = false;
  std::uint64_t body_size = 0;
  std::size_t head_size = 0;  // with the empty line at its end
  std::string_view fields;    // the lines between the first and the empty one
  std::string_view body;      // if the server keeps it

  // The target without scheme, host and query.
  std::string_view path() const noexcept;
  // What is behind the '?'; empty if there is none.
  std::string_view query() const noexcept;
  // The first field of this name, in lower case; empty if there is none.
  std::string_view field(std::string_view name) const noexcept;
};

// The value of `name=value` in a query, decoded. Empty: it is not there, or is no text.
std::optional<std::string> query_value(std::string_view query, std::string_view name);

enum class progress : std::uint8_t { complete, incomplete, refused };

class request_parser {
 public:
  // `text` begins where the request begins, and has at least what it had at the last call. After `complete`
  // and `refused`: reset.
  progress parse(std::string_view text);
  void reset() noexcept { *this = {}; }

  const request& get() const noexcept { return request_; }
  // Why it was refused: "400 Bad Request" and so on.
  const char* status() const noexcept { return status_; }

 private:
  progress refuse(const char* status) noexcept;
  bool take_line(std::string_view line);
  bool take_request_line(std::string_view line);
  bool take_field(std::string_view name, std::string_view value);
  bool finish();

  request request_;
  const char* status_ = "400 Bad Request";
  std::size_t line_begin_ = 0, seen_ = 0;
  unsigned hosts_ = 0, lengths_ = 0;
  bool first_line_done_ = false, encoded_ = false, asked_to_keep_ = false;
};

}  // namespace leat::net::http
