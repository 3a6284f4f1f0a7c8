// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/exchange.hpp>

#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/un.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstring>

#include <leat/base/units.hpp>
#include <leat/remote/json.hpp>
#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

std::string host_field(const endpoint& to) {
  if (!to.path.empty()) return "leat";
  return (to.host.find(':') == std::string::npos ? to.host : '[' + to.host + ']') + ':' + to.port;
}

}  // namespace

exchange::exchange(const endpoint& to, const http_request& request) {
  out_ = (request.post ? "POST " : "GET ") + request.target + " HTTP/1.1\r\nHost: " + host_field(to) +
         "\r\nConnection: close\r\n";
  if (!request.accept.empty()) out_ += "Accept: " + request.accept + "\r\n";
  if (to.path.empty() && !to.token.empty()) out_ += "Authorization: Bearer " + to.token + "\r\n";
  if (request.post)
    out_ +=
        "Content-Type: application/json\r\nContent-Length: " + std::to_string(request.body.size()) + "\r\n";
  out_ += "\r\n" + request.body;
  if (to.path.empty()) {
    connect_tcp(to);
  } else {
    connect_unix(to);
  }
}

exchange::~exchange() {
  if (fd_ >= 0) ::close(fd_);
}

void exchange::fail(std::string_view what, int error) {
  nobody_ = error == ECONNREFUSED || error == ENOENT;
  error_ = std::string(what) + (error != 0 ? std::string(": ") + std::strerror(error) : std::string());
}

void exchange::connect_unix(const endpoint& to) {
  sockaddr_un at{};
  at.sun_family = AF_UNIX;
  if (to.path.size() >= sizeof at.sun_path) return fail("the path of the socket is too long", ENAMETOOLONG);
  std::memcpy(at.sun_path, to.path.c_str(), to.path.size());
  fd_ = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
  if (fd_ < 0) return fail("cannot make a socket", errno);
  // A queue of connections that is full cannot be polled for.
  const timeval second{1, 0};
  ::setsockopt(fd_, SOL_SOCKET, SO_SNDTIMEO, &second, sizeof second);
  if (::connect(fd_, reinterpret_cast<const sockaddr*>(&at), sizeof at) != 0)
    return errno == EAGAIN ? fail("it accepts no connection", 0)
                           : fail("cannot connect to " + to.path, errno);
  ::fcntl(fd_, F_SETFL, O_NONBLOCK);
}

void exchange::connect_tcp(const endpoint& to) {
  addrinfo hints{}, *found = nullptr;
  hints.ai_socktype = SOCK_STREAM;
  if (const int error = ::getaddrinfo(to.host.c_str(), to.port.c_str(), &hints, &found); error != 0)
    return fail("there is no address " + to.host + ':' + to.port + ": " + ::gai_strerror(error), 0);
  fd_ = ::socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd_ < 0) {
    fail("cannot make a socket", errno);
  } else if (::connect(fd_, found->ai_addr, found->ai_addrlen) != 0) {
    connecting_ = errno == EINPROGRESS;
    if (!connecting_) fail("cannot connect", errno);
  }
  ::freeaddrinfo(found);
}

short exchange::wants() const noexcept {
  if (done()) return 0;
  return static_cast<short>(connecting_ || !out_.empty() ? POLLIN | POLLOUT : POLLIN);
}

void exchange::advance() {
  if (done()) return;
  if (connecting_) {
    pollfd p{fd_, POLLOUT, 0};
    if (::poll(&p, 1, 0) != 1) return;
    int error = 0;
    socklen_t size = sizeof error;
    ::getsockopt(fd_, SOL_SOCKET, SO_ERROR, &error, &size);
    if (error != 0) return fail("cannot connect", error);
    connecting_ = false;
  }
  send_some();
  if (!failed()) receive_some();
}

void exchange::send_some() {
  while (!out_.empty()) {
    const ssize_t n = ::send(fd_, out_.data(), out_.size(), MSG_NOSIGNAL);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n < 0) {
      // It may have refused before it read all: its answer is there to be read.
      out_.clear();
      return;
    }
    out_.erase(0, static_cast<std::size_t>(n));
  }
}

void exchange::receive_some() {
  char data[16384];
  // Not for ever: who sends without end must not keep the caller from its keys.
  for (int i = 0; i < 64 && !answer_.complete(); ++i) {
    const ssize_t n = ::recv(fd_, data, sizeof data, 0);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0 && errno == EAGAIN) return;
    if (n <= 0) {
      if (!answer_.close()) fail(answer_.error(), n < 0 ? errno : 0);
      return;
    }
    if (!answer_.feed({data, static_cast<std::size_t>(n)})) return fail(answer_.error(), 0);
  }
}

asked ask(const endpoint& to, const http_request& request, nanoseconds patience) {
  using std::chrono::milliseconds;
  const time_point until = now() + patience;
  exchange e(to, request);
  for (e.advance(); !e.done(); e.advance()) {
    const nanoseconds left = until - now();
    if (left <= nanoseconds::zero())
      return {.error = "it does not answer within " + format_duration(patience) +
                       "; it may hang: `kill -QUIT` to its pid makes it tell in its log what it does"};
    pollfd p{e.fd(), e.wants(), 0};
    ::poll(&p, 1, static_cast<int>(std::chrono::ceil<milliseconds>(left).count()));
  }
  if (e.failed()) return {.error = e.error(), .nobody = e.nobody()};
  return {.status = e.answer().status(), .body = std::move(e.answer().body())};
}

std::string error_of(int status, std::string_view body) {
  if (const json_result r = read_json(body); r.value)
    if (const std::string_view text = r.value->text_of("error"); !text.empty()) {
      // The end of a line is the caller's.
      std::string shown = printable_lines(text);
      while (shown.ends_with('\n')) shown.pop_back();
      return shown;
    }
  std::string text = "it answers with status " + std::to_string(status);
  if (status == 404) text += "; it may be of another version than this program";
  return text;
}

std::string error_of(const endpoint& to, int status, std::string_view body) {
  const bool only_shows = to.path.empty() && (status == 401 || status == 403);
  return error_of(status, body) + (!only_shows        ? ""
                                   : to.token.empty() ? "; --token-file FILE or LEAT_TOKEN sends one"
                                                      : "; the token that was sent is another");
}

std::string escaped_for_query(std::string_view text) {
  static constexpr char digits[] = "0123456789ABCDEF";
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       std::strchr("-_./~", c) != nullptr;
    if (plain && c != '\0') {
      out += c;
    } else {
      out += '%';
      out += digits[byte >> 4];
      out += digits[byte & 15];
    }
  }
  return out;
}

}  // namespace leat::remote
