// SPDX-License-Identifier: BSL-1.0
//
// The deployments that run here, found by their sockets: DIR/NAME.sock in $LEAT_SOCKETS alone, or in
// $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/leat, /run/leat and /tmp/leat-UID, in this order. A folder that others
// may write to could hold anybody's socket: it is passed over. So is a socket that nobody listens at, or
// that is neither ours, root's nor that of the folder's owner, and a link to one.
#pragma once

#include <stdexcept>
#include <string>
#include <vector>

#include <leat/remote/exchange.hpp>

namespace leat::remote {

inline constexpr int exit_failed = 1, exit_usage = 2, exit_no_deployment = 3;

// What a verb ends with; text is a whole sentence, without the program's name.
class failure : public std::runtime_error {
 public:
  failure(int status, const std::string& text) : std::runtime_error(text), status_(status) {}
  int status() const noexcept { return status_; }

 private:
  int status_;
};

struct socket_folder {
  std::string path;
  std::string passed_over = {};  // why; empty: it is looked into
  unsigned owner = 0;            // its user
};
// Those that there are.
std::vector<socket_folder> socket_folders();

// All that somebody listens at, by folder and name.
std::vector<endpoint> running_deployments();

// The one that `-d` names: a name, a path with '/', HOST:PORT of a TCP door. Empty: the only one that there is. Throws
// a failure with exit_no_deployment that says what to do.
endpoint find_deployment(const std::string& chosen);

}  // namespace leat::remote
