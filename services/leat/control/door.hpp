// SPDX-License-Identifier: BSL-1.0
//
// The control door: HTTP by a Unix socket, for this user and root, who may do everything; and by TCP, if that
// is configured, for whoever connects, who may look, and with the token do everything.
//
// It runs as Gs of its own beside the deployment, and no process has anything to do with it: a service that
// is stuck is seen as well as any. What a client costs is bounded: connections, sizes, time to read and to
// write.
#pragma once
#include <memory>
#include <string>
#include <vector>

#include <leat/control/deployment.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/net/listener.hpp>

namespace leat::control {

struct door_options {
  std::string name;    // of the deployment
  bool socket = true;  // the Unix door
  std::string listen;  // the TCP door; empty: none
  std::vector<std::string> hosts;
  std::string token;  // empty: nobody may change anything by TCP
  std::size_t clients = 64;
};

class door {
 public:
  // Opens what is wanted. What cannot be had is logged: the deployment runs without it.
  door(deployment& d, door_options o);
  ~door();
  door(const door&) = delete;
  door& operator=(const door&) = delete;

  // As Gs of the group, until that is stopped.
  void serve(task_group& in);

  const std::string& socket_path() const noexcept { return path_; }
  std::string tcp_address() const;

 private:
  void serve_socket();
  void serve_tcp();

  deployment& deployment_;
  const door_options options_;
  std::string path_;
  net::listener socket_, tcp_;
};

// The first line of a file that nobody but us and root can read. Throws std::runtime_error with what to do.
std::string read_token(const std::string& file);

}  // namespace leat::control
