// SPDX-License-Identifier: BSL-1.0
//
// A deployment that answers with what the test says, also in ways that no deployment should. A thread takes one
// connection after the other.
#pragma once
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <atomic>
#include <cstring>
#include <filesystem>
#include <functional>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "remote/sample.hpp"

namespace leat::remote::test {

// A folder as a deployment makes it: $XDG_RUNTIME_DIR/leat, 0700.
class runtime_folder {
 public:
  runtime_folder() : path_((std::filesystem::temp_directory_path() / "leat-client-XXXXXX").string()) {
    if (!::mkdtemp(path_.data())) throw std::runtime_error("no folder");
    if (::mkdir((path_ + "/leat").c_str(), 0700) != 0) throw std::runtime_error("no folder");
  }
  ~runtime_folder() { std::filesystem::remove_all(path_); }
  runtime_folder(const runtime_folder&) = delete;
  runtime_folder& operator=(const runtime_folder&) = delete;

  const std::string& path() const noexcept { return path_; }
  std::string sockets() const { return path_ + "/leat"; }
  std::string socket(const std::string& name) const { return sockets() + '/' + name + ".sock"; }
  // For a child: this folder and no other.
  std::vector<std::string> environment() const {
    return {"LEAT_SOCKETS=" + sockets(), "NO_COLOR", "TERM=xterm"};
  }

 private:
  std::string path_;
};

struct fake_request {
  std::string method, target, body;
};

inline std::string http_text(int status, const std::string& body,
                             const std::string& type = "application/json") {
  return "HTTP/1.1 " + std::to_string(status) + " x\r\nContent-Type: " + type +
         "\r\nContent-Length: " + std::to_string(body.size()) + "\r\nConnection: close\r\n\r\n" + body;
}

class fake_deployment {
 public:
  // What to answer, byte for byte. "" closes without a word; `hold` keeps the connection open and says no more.
  struct answer {
    std::string bytes = {};
    bool hold = false;
  };
  using handler = std::function<answer(const fake_request&)>;

  explicit fake_deployment(std::string path, handler answers = {})
      : path_(std::move(path)), answers_(std::move(answers)) {
    fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    sockaddr_un at{};
    at.sun_family = AF_UNIX;
    if (path_.size() >= sizeof at.sun_path) throw std::runtime_error("a long path");
    std::memcpy(at.sun_path, path_.c_str(), path_.size());
    ::unlink(path_.c_str());
    if (fd_ < 0 || ::bind(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0 ||
        ::listen(fd_, 64) != 0)
      throw std::runtime_error("no socket");
    if (::pipe(wake_) != 0) throw std::runtime_error("no pipe");
    thread_ = std::thread([this] { serve(); });
  }
  ~fake_deployment() {
    (void)!::write(wake_[1], "x", 1);
    thread_.join();
    ::close(fd_);
    ::close(wake_[0]);
    ::close(wake_[1]);
    for (const int fd : held_) ::close(fd);
    ::unlink(path_.c_str());
  }
  fake_deployment(const fake_deployment&) = delete;
  fake_deployment& operator=(const fake_deployment&) = delete;

  std::vector<fake_request> requests() const {
    const std::lock_guard lock(mutex_);
    return requests_;
  }
  // The body of the only request to this path; "" if there is none.
  std::string body_of(const std::string& target) const {
    for (const fake_request& r : requests())
      if (r.target == target) return r.body;
    return {};
  }

 private:
  static bool readable(int fd, int wake) {
    pollfd p[2]{{fd, POLLIN, 0}, {wake, POLLIN, 0}};
    return ::poll(p, 2, -1) > 0 && p[1].revents == 0;
  }

  void serve() {
    while (readable(fd_, wake_[0])) {
      const int c = ::accept4(fd_, nullptr, nullptr, SOCK_CLOEXEC);
      if (c < 0) continue;
      fake_request r;
      if (!read_request(c, r)) {  // somebody looked whether it is there
        ::close(c);
        continue;
      }
      {
        const std::lock_guard lock(mutex_);
        requests_.push_back(r);
      }
      const answer a = answers_ ? answers_(r) : answer{default_answer(r)};
      ::send(c, a.bytes.data(), a.bytes.size(), MSG_NOSIGNAL);
      if (a.hold) {
        held_.push_back(c);
      } else {
        ::close(c);
      }
    }
  }

  bool read_request(int c, fake_request& r) const {
    std::string text;
    char data[4096];
    std::size_t need = std::string::npos;
    while (text.size() < need) {
      if (!readable(c, wake_[0])) return false;
      const ssize_t n = ::recv(c, data, sizeof data, 0);
      if (n <= 0) return false;
      text.append(data, static_cast<std::size_t>(n));
      const std::size_t end = text.find("\r\n\r\n");
      if (end == std::string::npos || need != std::string::npos) continue;
      const std::size_t length = text.find("Content-Length: ");
      need = end + 4 + (length < end ? std::stoul(text.substr(length + 16)) : 0);
    }
    const std::size_t blank = text.find(' ');
    r.method = text.substr(0, blank);
    r.target = text.substr(blank + 1, text.find(' ', blank + 1) - blank - 1);
    r.body = text.substr(text.find("\r\n\r\n") + 4);
    return true;
  }

 public:
  static std::string default_answer(const fake_request& r) {
    if (r.target == "/v1/state") return http_text(200, sample_state());
    if (r.target.starts_with("/v1/process?name=climate/post")) return http_text(200, sample_process());
    return http_text(404, R"({"error":"there is nothing at this path"})");
  }

 private:
  std::string path_;
  handler answers_;
  int fd_ = -1, wake_[2] = {-1, -1};
  mutable std::mutex mutex_;
  std::vector<fake_request> requests_;
  std::vector<int> held_;  // by the thread until it has ended
  std::thread thread_;
};

}  // namespace leat::remote::test
