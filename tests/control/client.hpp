// SPDX-License-Identifier: BSL-1.0
//
// A client of the control door that may behave badly: plain sockets, one thing at a time.
#pragma once
#include <netinet/in.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <chrono>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>

namespace leat::control::test {

inline constexpr std::chrono::milliseconds patience{45'000};

class client {
 public:
  // A path, or a port of the loopback address. Not connected: nobody listens there.
  explicit client(const std::string& where) {
    if (where.starts_with('/')) {
      sockaddr_un to{};
      to.sun_family = AF_UNIX;
      if (where.size() >= sizeof to.sun_path) throw std::runtime_error("a long path");
      std::memcpy(to.sun_path, where.c_str(), where.size());
      open(AF_UNIX, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    } else {
      sockaddr_in to{};
      to.sin_family = AF_INET;
      to.sin_port = htons(static_cast<std::uint16_t>(std::stoi(where)));
      to.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
      open(AF_INET, reinterpret_cast<const sockaddr*>(&to), sizeof to);
    }
  }
  ~client() {
    if (fd_ >= 0) ::close(fd_);
  }
  client(client&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  client(const client&) = delete;
  client& operator=(const client&) = delete;

  bool connected() const noexcept { return fd_ >= 0; }
  bool send(std::string_view text) const {
    while (!text.empty()) {
      const ssize_t n = ::send(fd_, text.data(), text.size(), MSG_NOSIGNAL);
      if (n <= 0) return false;
      text.remove_prefix(static_cast<std::size_t>(n));
    }
    return true;
  }
  // One piece; empty: the end, an error, or nothing for so long.
  std::string some(std::chrono::milliseconds wait = patience) const {
    pollfd p{fd_, POLLIN, 0};
    char data[8192];
    if (::poll(&p, 1, static_cast<int>(wait.count())) != 1) return {};
    const ssize_t n = ::recv(fd_, data, sizeof data, 0);
    return n > 0 ? std::string(data, static_cast<std::size_t>(n)) : std::string();
  }
  std::string until_end() const {
    std::string all;
    for (std::string piece = some(); !piece.empty(); piece = some()) all += piece;
    return all;
  }
  // The whole of an answer with a length; the connection stays.
  std::string answer() const {
    std::string all;
    for (;;) {
      const std::size_t head = all.find("\r\n\r\n"), length = all.find("Content-Length: ");
      if (head != std::string::npos && length < head) {
        const auto size = static_cast<std::size_t>(std::atoll(all.c_str() + length + 16));
        if (all.size() >= head + 4 + size) return all;
      }
      const std::string piece = some();
      if (piece.empty()) return all;
      all += piece;
    }
  }
  // The other side has closed, though nothing is read here.
  bool is_dropped(std::chrono::milliseconds wait = patience) const {
    pollfd p{fd_, POLLRDHUP, 0};
    return ::poll(&p, 1, static_cast<int>(wait.count())) == 1;
  }
  void shut_down() const { (void)::shutdown(fd_, SHUT_RDWR); }

 private:
  void open(int family, const sockaddr* to, socklen_t size) {
    fd_ = ::socket(family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (::connect(fd_, to, size) == 0) return;
    ::close(fd_);
    fd_ = -1;
  }

  int fd_ = -1;
};

inline std::string get(const std::string& target, const std::string& fields = "Host: localhost\r\n") {
  return "GET " + target + " HTTP/1.1\r\n" + fields + "\r\n";
}
inline std::string post(const std::string& target, const std::string& body,
                        const std::string& fields = "Host: localhost\r\n") {
  return "POST " + target + " HTTP/1.1\r\n" + fields + "Content-Length: " + std::to_string(body.size()) +
         "\r\n\r\n" + body;
}
inline std::string status_of(const std::string& answer) {
  return answer.size() > 12 ? answer.substr(9, 3) : std::string();
}
inline std::string body_of(const std::string& answer) {
  const std::size_t head = answer.find("\r\n\r\n");
  return head == std::string::npos ? std::string() : answer.substr(head + 4);
}
inline std::string ask(const std::string& where, const std::string& request) {
  const client c(where);
  if (!c.connected() || !c.send(request)) return {};
  return c.answer();
}

}  // namespace leat::control::test
