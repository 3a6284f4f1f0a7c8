// SPDX-License-Identifier: BSL-1.0
//
// Where the control sockets of this machine are: $LEAT_SOCKETS alone, or the first of these folders that can be used:
// $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/leat, /run/leat for root, /tmp/leat-UID. It must be a folder of ours that nobody
// else can enter: in /tmp others may have put something of that name there before us.
#pragma once
#include <string>
#include <string_view>
#include <vector>

#include <leat/net/listener.hpp>

namespace leat::control {

// In their order, whether they are there or not.
std::vector<std::string> socket_folders();

// Ours, or root's, and nobody else can enter it. "" or why not; a folder that is not there is not an error with
// `make`, which makes it.
std::string folder_error(const std::string& folder, bool make);

// A path in the first folder that can be used, for a deployment of this name: NAME.sock, or NAME-2.sock if
// somebody listens there. Empty: there is none, and `why` says so.
std::string free_socket_path(std::string_view name, std::string& why);

// Listens at such a path, of which programs that start together get one each. Not open: `why`.
struct placed_listener {
  net::listener at;
  std::string path, why;
};
placed_listener listen_at_free_path(std::string_view name, int backlog);

}  // namespace leat::control
