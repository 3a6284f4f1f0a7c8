// SPDX-License-Identifier: BSL-1.0
//
// The head of an HTTP/1.x response, as a client needs it that wants the status and drops the body. It is read
// strictly: where two readers could disagree about the length of the body, the connection is not used again,
// because one of them would take the rest of the body for the next response.
#pragma once
#include <cstdint>
#include <optional>
#include <string_view>

namespace leat::net::http {

struct response_head {
  int status = 0;           // 100 to 599
  bool keep_alive = false;  // after body_size bytes the next response follows
  std::uint64_t body_size = 0;
};

// `head`: up to and with the empty line. Empty: it is no response, and `why` says so: "has no status".
// A head whose fields are malformed still has its status; its connection is not kept.
std::optional<response_head> parse_response(std::string_view head, const char*& why);

}  // namespace leat::net::http
