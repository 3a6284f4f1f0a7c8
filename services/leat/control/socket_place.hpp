// SPDX-License-Identifier: BSL-1.0
//
// Where the control sockets of this machine are: $LEAT_SOCKETS alone, or the first of these folders that can be used:
// $RUNTIME_DIRECTORY, $XDG_RUNTIME_DIR/leat, /run/leat for root, /tmp/leat-UID. It must be a folder of ours that nobody
// else can enter: in /tmp others may have put something of that name there before us.
#pragma once
#include <string>
#include <string_view>
#include <vector>

namespace leat::control {

// In their order, whether they are there or not.
std::vector<std::string> socket_folders();

// Ours, or root's, and nobody else can enter it. "" or why not; a folder that is not there is not an error with
// `make`, which makes it.
std::string folder_error(const std::string& folder, bool make);

// One program at a time chooses a path in a folder and begins to listen there: else two that start together see the
// same socket of a dead one, and the second removes that of the first. Held as a lock on the folder itself, so nothing
// is left behind. Who holds it for longer than a second does so for another reason: then it is not waited for.
class socket_turn {
 public:
  socket_turn() = default;
  ~socket_turn() { take({}); }
  socket_turn(const socket_turn&) = delete;
  socket_turn& operator=(const socket_turn&) = delete;
  // Lets go of the one that it has; "": takes no other.
  void take(const std::string& folder);

 private:
  int fd_ = -1;
};

// A path in the first folder that can be used, for a deployment of this name: NAME.sock, or NAME-2.sock if
// somebody listens there. It stays free while the turn is held. Empty: there is none, and `why` says so.
std::string free_socket_path(std::string_view name, std::string& why, socket_turn& turn);

}  // namespace leat::control
