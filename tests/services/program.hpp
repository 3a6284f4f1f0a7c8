// SPDX-License-Identifier: BSL-1.0
//
// A program that is talked to while it runs: at a pipe or at a terminal, with systemd's socket beside it.
#pragma once
#include <doctest/doctest.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/clock.hpp>

#include "support/child.hpp"

extern char** environ;

namespace leat::services::test {

inline constexpr auto patience = std::chrono::seconds(90);

class scratch_folder {
 public:
  scratch_folder() : path_((std::filesystem::temp_directory_path() / "leat-cli-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("no folder");
  }
  ~scratch_folder() { std::filesystem::remove_all(path_); }
  scratch_folder(const scratch_folder&) = delete;
  scratch_folder& operator=(const scratch_folder&) = delete;

  std::string file(const std::string& name, const std::string& text) const {
    std::ofstream(path_ + '/' + name) << text;
    return path_ + '/' + name;
  }
  const std::string& path() const noexcept { return path_; }

 private:
  std::string path_;
};

// What systemd listens at.
class notify_socket {
 public:
  explicit notify_socket(const std::string& path) : path_(path) {
    fd_ = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path.size() >= sizeof at.sun_path) throw std::runtime_error("a long path");
    std::memcpy(at.sun_path, path.c_str(), path.size());
    if (fd_ < 0 || ::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
      throw std::runtime_error("no socket");
  }
  ~notify_socket() { ::close(fd_); }
  notify_socket(const notify_socket&) = delete;
  notify_socket& operator=(const notify_socket&) = delete;

  std::string variable() const { return "NOTIFY_SOCKET=" + path_; }
  // Empty: none came.
  std::string any() const {
    pollfd p{fd_, POLLIN, 0};
    char data[512];
    if (::poll(&p, 1, std::chrono::milliseconds(patience).count()) != 1) return {};
    const ssize_t n = ::recv(fd_, data, sizeof data, 0);
    return n > 0 ? std::string(data, static_cast<std::size_t>(n)) : std::string();
  }
  // But for what is said of its state, which comes at any time.
  std::string next() const {
    for (;;) {
      std::string text = any();
      if (!text.starts_with("STATUS=")) return text;
    }
  }
  // What is said of its state.
  std::string status() const {
    for (;;) {
      std::string text = any();
      if (text.empty() || text.starts_with("STATUS=")) return text;
    }
  }
  // How many have come, but for those; they are taken.
  std::size_t waiting() const {
    char data[512];
    std::size_t count = 0;
    for (ssize_t n = 0; (n = ::recv(fd_, data, sizeof data, MSG_DONTWAIT)) > 0;)
      count += !std::string_view(data, static_cast<std::size_t>(n)).starts_with("STATUS=");
    return count;
  }

 private:
  std::string path_;
  int fd_ = -1;
};

class program {
 public:
  enum class at { pipe, terminal };

  program(std::vector<std::string> argv, std::vector<std::string> more_environment, at where = at::pipe,
          std::size_t columns = 80) {
    int theirs = -1;
    if (where == at::pipe) {
      int ends[2];
      if (::pipe2(ends, O_CLOEXEC) != 0) throw std::runtime_error("no pipe");
      fd_ = ends[0];
      theirs = ends[1];
    } else {
      fd_ = ::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
      if (fd_ < 0 || ::grantpt(fd_) != 0 || ::unlockpt(fd_) != 0) throw std::runtime_error("no terminal");
      winsize size{};
      size.ws_col = static_cast<unsigned short>(columns);
      size.ws_row = 24;
      ::ioctl(fd_, TIOCSWINSZ, &size);
      theirs = ::open(::ptsname(fd_), O_RDWR | O_NOCTTY | O_CLOEXEC);
    }
    for (char** e = environ; *e; ++e) {
      const std::string name(*e, std::strcspn(*e, "="));
      if (name != "NO_COLOR" && name != "NOTIFY_SOCKET" && name != "TERM" && name != "LEAT_LOG" &&
          name != "ASAN_OPTIONS")
        more_environment.emplace_back(*e);
    }
    more_environment.push_back(leat::test::leaks_once(argv.front()));
    std::vector<char*> arguments, environment;
    for (std::string& a : argv) arguments.push_back(a.data());
    for (std::string& e : more_environment) environment.push_back(e.data());
    arguments.push_back(nullptr);
    environment.push_back(nullptr);
    pid_ = ::fork();
    if (pid_ == 0) {
      ::dup2(theirs, STDOUT_FILENO);
      ::dup2(theirs, STDERR_FILENO);
      ::execve(arguments[0], arguments.data(), environment.data());
      ::_exit(127);
    }
    ::close(theirs);
  }
  ~program() {
    if (pid_ > 0) {
      ::kill(pid_, SIGKILL);
      ::waitpid(pid_, nullptr, 0);
    }
    ::close(fd_);
  }
  program(const program&) = delete;
  program& operator=(const program&) = delete;

  void signal(int number) const { ::kill(pid_, number); }
  pid_t pid() const noexcept { return pid_; }
  int descriptor() const noexcept { return fd_; }  // what it says comes out here
  // False: it ended, said nothing at all for so long, or other things for twice as long.
  bool says(const std::string& text, std::chrono::milliseconds wait = patience) {
    const auto until = std::chrono::steady_clock::now() + 2 * wait;
    while (said.find(text) == std::string::npos)
      if (std::chrono::steady_clock::now() > until || !read(wait)) return false;
    return true;
  }
  // Waits for whatever it says next.
  bool says_more(std::chrono::milliseconds wait = patience) { return read(wait); }
  // As `| head -1` does: what it says from now on is an error for it.
  void stop_reading() {
    ::close(fd_);
    fd_ = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  }
  // Its exit code; -1: a signal.
  int end() {
    while (read(patience)) {
    }
    int status = 0;
    if (::waitpid(pid_, &status, 0) != pid_) return -2;
    pid_ = -1;
    return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  }

  std::string said;

 private:
  bool read(std::chrono::milliseconds wait) {
    pollfd p{fd_, POLLIN, 0};
    if (::poll(&p, 1, static_cast<int>(wait.count())) != 1) return false;
    char data[4096];
    const ssize_t n = ::read(fd_, data, sizeof data);
    if (n <= 0) return false;
    said.append(data, static_cast<std::size_t>(n));
    return true;
  }

  int fd_ = -1;
  pid_t pid_ = -1;
};

}  // namespace leat::services::test
