// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/deployments.hpp>

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <system_error>
#include <utility>

#include <leat/config/suggest.hpp>
#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

constexpr std::string_view socket_suffix = ".sock";

std::string environment_text(const char* name) {
  const char* const v = std::getenv(name);
  return v ? v : "";
}

// systemd gives several folders as one text.
std::vector<std::string> possible_folders() {
  if (std::string only = environment_text("LEAT_SOCKETS"); !only.empty()) return {std::move(only)};
  std::vector<std::string> all;
  std::string given = environment_text("RUNTIME_DIRECTORY");
  while (!given.empty()) {
    const std::size_t end = std::min(given.find(':'), given.size());
    if (end > 0) all.push_back(given.substr(0, end));
    given.erase(0, end + 1);
  }
  if (const std::string user = environment_text("XDG_RUNTIME_DIR"); !user.empty())
    all.push_back(user + "/leat");
  all.emplace_back("/run/leat");
  // Units have a folder there each, of a user of their own; only root makes them.
  std::error_code error;
  if (::geteuid() == 0)
    for (std::filesystem::directory_iterator i("/run/leat", error), end; !error && i != end;
         i.increment(error))
      if (i->is_directory(error)) all.push_back(i->path().string());
  all.push_back("/tmp/leat-" + std::to_string(::geteuid()));
  return all;
}

bool somebody_listens(const std::string& path, unsigned owner) {
  struct stat s{};
  if (::lstat(path.c_str(), &s) != 0 || !S_ISSOCK(s.st_mode)) return false;
  if (s.st_uid != ::geteuid() && s.st_uid != 0 && s.st_uid != owner) return false;
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (path.size() >= sizeof at.sun_path) return false;
  std::memcpy(at.sun_path, path.c_str(), path.size());
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  // One that accepts no more is there all the same.
  const bool there = ::connect(fd, reinterpret_cast<const sockaddr*>(&at), sizeof at) == 0 || errno == EAGAIN;
  ::close(fd);
  return there;
}

std::string names_of(const std::vector<endpoint>& all) {
  std::vector<std::string> names;
  names.reserve(all.size());
  for (const endpoint& e : all) names.push_back(printable(e.name));
  return joined(names, ", ");
}

[[noreturn]] void none_runs() {
  std::string looked;
  for (const socket_folder& f : socket_folders())
    looked += "\n  " + printable(f.path) + (f.passed_over.empty() ? "" : ": passed over, " + f.passed_over);
  throw failure(
      exit_no_deployment,
      "no deployment runs here: start one with `leat run FILE...`, or give its socket with -d PATH" +
          (looked.empty() ? std::string() : "\nlooked in:" + looked));
}

endpoint at_path(const std::string& path) {
  const std::string name = std::filesystem::path(path).stem().string();
  return {.name = name.empty() ? path : name, .path = path};
}

}  // namespace

std::vector<socket_folder> socket_folders() {
  std::vector<socket_folder> all;
  for (const std::string& path : possible_folders()) {
    struct stat s{};
    if (::lstat(path.c_str(), &s) != 0) continue;
    if (std::any_of(all.begin(), all.end(), [&](const socket_folder& f) { return f.path == path; })) continue;
    socket_folder f{.path = path, .owner = s.st_uid};
    if (!S_ISDIR(s.st_mode)) {
      f.passed_over = "it is not a folder";
    } else if (s.st_uid != ::geteuid() && s.st_uid != 0 && !path.starts_with("/run/leat/")) {
      f.passed_over = "it belongs to user " + std::to_string(s.st_uid);
    } else if ((s.st_mode & (S_IWGRP | S_IWOTH)) != 0) {
      f.passed_over = "others may write to it; `chmod 700` mends that";
    } else if (::access(path.c_str(), R_OK | X_OK) != 0) {
      f.passed_over = "only root may look into it";
    }
    all.push_back(std::move(f));
  }
  return all;
}

std::vector<endpoint> running_deployments() {
  std::vector<endpoint> all;
  for (const socket_folder& f : socket_folders()) {
    if (!f.passed_over.empty()) continue;
    std::vector<std::string> names;
    std::error_code error;
    for (std::filesystem::directory_iterator i(f.path, error), end; !error && i != end; i.increment(error))
      if (const std::string name = i->path().filename().string();
          name.size() > socket_suffix.size() && name.ends_with(socket_suffix))
        names.push_back(name);
    std::sort(names.begin(), names.end());
    for (const std::string& name : names)
      if (const std::string path = f.path + '/' + name; somebody_listens(path, f.owner))
        all.push_back(at_path(path));
  }
  return all;
}

endpoint find_deployment(const std::string& chosen) {
  if (chosen.find('/') != std::string::npos) return at_path(chosen);
  if (const std::size_t colon = chosen.rfind(':'); colon != std::string::npos) {
    std::string host = chosen.substr(0, colon);
    if (host.size() > 2 && host.front() == '[' && host.back() == ']') host = host.substr(1, host.size() - 2);
    return {.name = chosen, .host = host.empty() ? "127.0.0.1" : host, .port = chosen.substr(colon + 1)};
  }
  std::vector<endpoint> all = running_deployments();
  if (all.empty()) none_runs();
  if (chosen.empty()) {
    if (all.size() > 1)
      throw failure(exit_no_deployment,
                    "several deployments run here: " + names_of(all) + "; choose one with -d NAME");
    return all.front();
  }
  std::vector<std::string_view> names;
  for (endpoint& e : all) {
    if (e.name == chosen) return e;
    names.push_back(e.name);
  }
  throw failure(exit_no_deployment, "no deployment '" + printable(chosen) + "' runs here" +
                                        config::did_you_mean(config::nearest(chosen, names)) +
                                        "\nthere is: " + names_of(all));
}

}  // namespace leat::remote
