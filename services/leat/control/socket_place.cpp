// SPDX-License-Identifier: BSL-1.0
#include <leat/control/socket_place.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace leat::control {
namespace {

std::string variable(const char* name) {
  const char* const text = std::getenv(name);
  return text && text[0] == '/' ? text : "";
}

// Somebody listens there.
bool is_alive(const std::string& path) {
  sockaddr_un to{};
  if (path.size() >= sizeof to.sun_path) return false;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path.c_str(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return true;
  const int done = ::connect(fd, reinterpret_cast<const sockaddr*>(&to), sizeof to);
  const bool alive = done == 0 || errno == EAGAIN || errno == EINPROGRESS;
  (void)::close(fd);
  return alive;
}

}  // namespace

std::vector<std::string> socket_folders() {
  if (const char* const only = std::getenv("LEAT_SOCKETS"); only && *only) return {only};
  std::vector<std::string> all;
  // systemd gives several with ':' between.
  if (const std::string own = variable("RUNTIME_DIRECTORY"); !own.empty())
    all.push_back(own.substr(0, own.find(':')));
  if (const std::string user = variable("XDG_RUNTIME_DIR"); !user.empty()) all.push_back(user + "/leat");
  if (::geteuid() == 0) all.emplace_back("/run/leat");
  all.push_back("/tmp/leat-" + std::to_string(::geteuid()));
  return all;
}

std::string folder_error(const std::string& folder, bool make) {
  if (make && ::mkdir(folder.c_str(), 0700) != 0 && errno != EEXIST)
    return folder + ": " + std::strerror(errno);
  struct stat s = {};
  if (::lstat(folder.c_str(), &s) != 0) return folder + ": " + std::strerror(errno);
  if (!S_ISDIR(s.st_mode)) return folder + " is not a folder";
  if (s.st_uid != ::geteuid() && s.st_uid != 0) return folder + " belongs to another user";
  // systemd makes $RUNTIME_DIRECTORY readable by all: the socket's own mode keeps them out.
  if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0) return folder + " can be written by others";
  if (make && ::access(folder.c_str(), W_OK | X_OK) != 0) return folder + ": " + std::strerror(errno);
  return {};
}

std::string free_socket_path(std::string_view name, std::string& why) {
  why.clear();
  for (const std::string& folder : socket_folders()) {
    std::string error = folder_error(folder, true);
    for (int n = 1; error.empty() && n <= 100; ++n) {
      std::string path = folder + '/' + std::string(name) + (n == 1 ? "" : "-" + std::to_string(n)) + ".sock";
      if (path.size() >= sizeof(sockaddr_un::sun_path)) {
        error = path + " is too long for a socket";
        break;
      }
      struct stat s = {};
      if (::lstat(path.c_str(), &s) == 0) {
        // A link, or a file, is not ours to remove, or to follow.
        if (!S_ISSOCK(s.st_mode)) {
          error = path + " exists and is not a socket: remove it";
          break;
        }
        if (is_alive(path)) continue;
      }
      return path;
    }
    if (error.empty()) error = folder + ": a hundred deployments of this name run here";
    why += (why.empty() ? "" : "; ") + error;
  }
  return {};
}

placed_listener listen_at_free_path(std::string_view name, int backlog) {
  placed_listener found;
  for (int tries = 1;; ++tries) {
    found.path = free_socket_path(name, found.why);
    if (found.path.empty()) return found;
    try {
      found.at = net::listen("unix:" + found.path, backlog);
      return found;
    } catch (const std::system_error& e) {
      // Somebody else was first at this one, and listens there by now.
      if (e.code() == std::errc::address_in_use && tries < 100) continue;
      found.why = found.path + ": " + e.code().message();
      found.path.clear();
      return found;
    }
  }
}

}  // namespace leat::control
