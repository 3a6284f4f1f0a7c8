// SPDX-License-Identifier: BSL-1.0
//
// One request to a deployment and its answer, over a connection of its own: a Unix socket, or TCP. An exchange never
// waits by itself, so that a screen polls it beside its keys; `ask` is the whole of one for those who wait.
#pragma once

#include <sys/types.h>
#include <string>
#include <string_view>

#include <leat/base/clock.hpp>
#include <leat/remote/http_response.hpp>

namespace leat::remote {

// Where a deployment listens.
struct endpoint {
  std::string name;  // for people
  std::string path = {};
  std::string host = {}, port = {};  // if there is no path
  std::string token = {};            // for a TCP door; never shown
};

struct http_request {
  std::string target;  // "/v1/state"
  bool post = false;
  std::string body = {};    // JSON
  std::string accept = {};  // the type of answer that is wanted, if there are several
};

class exchange {
 public:
  // Connects; waits for no longer than a second, and that only if the other side does not accept.
  exchange(const endpoint& to, const http_request& request);
  ~exchange();
  exchange(const exchange&) = delete;
  exchange& operator=(const exchange&) = delete;

  // What to poll for, until done() or failed().
  int fd() const noexcept { return fd_; }
  short wants() const noexcept;
  // Does what can be done without waiting.
  void advance();

  bool done() const noexcept { return failed() || answer_.complete(); }
  bool failed() const noexcept { return !error_.empty(); }
  // Nobody listens there (any more).
  bool nobody() const noexcept { return nobody_; }
  const std::string& error() const noexcept { return error_; }
  http_response& answer() noexcept { return answer_; }

 private:
  void connect_unix(const endpoint& to);
  void connect_tcp(const endpoint& to);
  void fail(std::string_view what, int error);
  void send_some();
  void receive_some();

  int fd_ = -1;
  std::string out_;  // what is still to be sent
  bool connecting_ = false, nobody_ = false;
  http_response answer_;
  std::string error_;
};

struct asked {
  int status = 0;  // 0: see error
  std::string body = {};
  std::string error = {};  // a whole sentence, without the name
  bool nobody = false;
};
// Waits for the whole answer, for so long.
asked ask(const endpoint& to, const http_request& request, nanoseconds patience = std::chrono::seconds(5));

// What went wrong, as the deployment says it: the "error" of its answer, or its status.
std::string error_of(int status, std::string_view body);
// The same for an order, with what to do about a door that only shows.
std::string error_of(const endpoint& to, int status, std::string_view body);

// For the value of a query.
std::string escaped_for_query(std::string_view text);

}  // namespace leat::remote
