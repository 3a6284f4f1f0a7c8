// SPDX-License-Identifier: BSL-1.0
#include <leat/net/listener.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <new>
#include <optional>
#include <stdexcept>
#include <utility>

#include <leat/net/simulated/open.hpp>
#include <leat/net/socket.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>

namespace leat::net {
namespace {

// A socket file that a dead server left behind can go; a living one's may not.
bool nobody_listens(const address& a) noexcept {
  const int fd = ::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
  if (fd < 0) return false;
  const bool refused = ::connect(fd, a.data(), a.size()) != 0 && errno == ECONNREFUSED;
  ::close(fd);
  return refused;
}

// Between finding that nobody listens at a path and listening there oneself, another must not do the same: it would
// remove a path that has just been bound. One at a time does so in a folder, by a lock on it; nothing is left behind.
// Whoever holds the lock for a second may be a stranger with something else in mind: then it is done without.
class folder_turn {
 public:
  explicit folder_turn(const std::string& path) : fd_(open_folder_of(path)) {
    if (fd_ < 0) return;
    for (int tries = 0; ::flock(fd_, LOCK_EX | LOCK_NB) != 0 && errno == EWOULDBLOCK && tries < 1000; ++tries)
      sleep_for(std::chrono::milliseconds(1));
  }
  ~folder_turn() {
    if (fd_ >= 0) ::close(fd_);
  }
  folder_turn(const folder_turn&) = delete;
  folder_turn& operator=(const folder_turn&) = delete;

 private:
  static int open_folder_of(const std::string& path) {
    const std::size_t slash = path.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : path.substr(0, slash + 1);
    return ::open(folder.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  }

  const int fd_;
};

bool is_socket_file(const std::string& path) noexcept {
  struct stat s{};
  return ::lstat(path.c_str(), &s) == 0 && S_ISSOCK(s.st_mode);
}

// Of TCP one learns it by EINVAL from accept, but a Unix listener that does not block says EAGAIN.
bool is_shut_down(int fd) noexcept {
  pollfd p{fd, POLLRDHUP, 0};
  return ::poll(&p, 1, 0) == 1 && (p.revents & (POLLRDHUP | POLLHUP)) != 0;
}

}  // namespace

listener listen(std::string_view where, int backlog) {
  std::string why;
  const std::optional<address> a = address::parse(where, &why);
  if (!a) throw std::invalid_argument("leat::net::listen: \"" + std::string(where) + "\": " + why);
  if (simulated::is_here()) {
    std::error_code ec;
    descriptor d(simulated::listen(*a, backlog, ec));
    if (ec) throw std::system_error(ec, "leat::net::listen: " + std::string(where));
    return listener(std::move(d));
  }
  descriptor d(make_socket(a->family(), SOCK_STREAM));
  std::string path;
  std::optional<folder_turn> turn;
  if (a->family() == AF_UNIX) {
    path = a->text().substr(5);
    if (path[0] == '@') path.clear();
    if (!path.empty()) turn.emplace(path);
    if (!path.empty() && is_socket_file(path) && nobody_listens(*a)) ::unlink(path.c_str());
  } else {
    const int on = 1;
    (void)::setsockopt(d.fd(), SOL_SOCKET, SO_REUSEADDR, &on, sizeof on);
    notice_dead_peer(d.fd());
  }
  const auto fail = [&] {
    throw std::system_error(errno, std::system_category(), "leat::net::listen: " + std::string(where));
  };
  if (::bind(d.fd(), a->data(), a->size()) != 0) fail();
  listener l(std::move(d));
  l.has_made(std::move(path));
  if (::listen(l.d_.fd(), backlog) != 0) fail();
  return l;
}

void listener::has_made(std::string path) noexcept {
  struct stat s{};
  if (path.empty() || ::lstat(path.c_str(), &s) != 0) return;
  path_ = std::move(path);
  device_ = s.st_dev;
  inode_ = s.st_ino;
}

listener& listener::operator=(listener&& other) noexcept {
  if (this == &other) return *this;
  close();
  d_ = std::move(other.d_);
  path_ = std::exchange(other.path_, {});
  device_ = other.device_;
  inode_ = other.inode_;
  return *this;
}

void listener::close() noexcept {
  // Before the socket is closed, which keeps the number of its file from others.
  struct stat s{};
  if (d_.is_open() && !path_.empty() && ::lstat(path_.c_str(), &s) == 0 && s.st_dev == device_ &&
      s.st_ino == inode_)
    ::unlink(path_.c_str());
  d_.close();
}

void listener::shutdown() noexcept { d_.shutdown(SHUT_RDWR); }

stream listener::accept_simulated(std::error_code& ec, deadline until) {
  for (;;) {
    int error = 0;
    if (std::unique_ptr<transport> t = d_.simulated()->accept(error)) return stream(descriptor(std::move(t)));
    if (error == EAGAIN && stop_requested()) error = EINVAL;
    if (error == EAGAIN)
      d_.wait_readable("accept", ec, until);
    else
      ec = std::make_error_code(std::errc::operation_canceled);  // shut down, or stopped
    if (ec) return {};
  }
}

stream listener::accept(std::error_code& ec, deadline until) {
  ec.clear();
  if (d_.simulated() && !stop_requested()) return accept_simulated(ec, until);
  for (bool woken = false;; woken = true) {
    // Also while connections keep coming.
    if (stop_requested()) {
      ec = std::make_error_code(std::errc::operation_canceled);
      return {};
    }
    const int fd = ::accept4(d_.fd(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (fd >= 0) {
      no_delay(fd);
      try {
        return stream(descriptor(fd));
      } catch (const std::system_error& e) {
        ec = e.code();  // the poller is out of memory or watches
        return {};
      } catch (const std::bad_alloc&) {
        ec = std::make_error_code(std::errc::not_enough_memory);
        return {};
      }
    }
    const int error = errno;
    switch (error) {
      // Of the connection that was to be accepted; accept(2) names them.
      case EINTR:
      case ECONNABORTED:
      case EPROTO:
      case ENETDOWN:
      case ENOPROTOOPT:
      case EHOSTDOWN:
      case ENONET:
      case EHOSTUNREACH:
      case EOPNOTSUPP:
      case ENETUNREACH: continue;
      case EAGAIN:
        if (!woken || !is_shut_down(d_.fd())) break;
        ec = std::make_error_code(std::errc::operation_canceled);
        return {};
      case EINVAL: ec = std::make_error_code(std::errc::operation_canceled); return {};  // shut down
      default: ec = {error, std::system_category()}; return {};
    }
    d_.wait_readable("accept", ec, until);
    if (ec) return {};
  }
}

stream listener::accept(deadline until) {
  std::error_code ec;
  stream s = accept(ec, until);
  if (ec) throw_error(ec, "leat::net: accept");
  return s;
}

}  // namespace leat::net
