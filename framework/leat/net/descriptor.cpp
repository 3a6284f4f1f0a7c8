// SPDX-License-Identifier: BSL-1.0
#include <leat/net/descriptor.hpp>

#include <fcntl.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <ctime>
#include <utility>

#include <leat/net/io_wait.hpp>
#include <leat/net/real_io.hpp>
#include <leat/net/system_call.hpp>
#include <leat/net/transport.hpp>
#include <leat/net/watch.hpp>
#include <leat/sched/stop.hpp>

namespace leat::net {
namespace {

std::error_code system_error_code(int e) noexcept { return {e, std::system_category()}; }
std::error_code canceled() noexcept { return std::make_error_code(std::errc::operation_canceled); }

// A pipe without a reader raises SIGPIPE, which a library has no right to ignore for the whole program.
ssize_t write_to_pipe(int fd, const void* data, std::size_t n) noexcept {
  sigset_t pipe, before, pending;
  sigemptyset(&pipe);
  sigaddset(&pipe, SIGPIPE);
  ::pthread_sigmask(SIG_BLOCK, &pipe, &before);
  ::sigpending(&pending);
  const bool had_one = sigismember(&pending, SIGPIPE) == 1;
  const ssize_t k = ::write(fd, data, n);
  const int error = errno;
  if (k < 0 && error == EPIPE && !had_one) {
    const timespec now{};
    while (::sigtimedwait(&pipe, nullptr, &now) < 0 && errno == EINTR) {
    }
  }
  ::pthread_sigmask(SIG_SETMASK, &before, nullptr);
  errno = error;
  return k;
}

// Whatever is no socket: none of this on the way of those.
ssize_t negated(ssize_t k) noexcept {
  if (k >= 0) return k;
  errno = static_cast<int>(-k);
  return -1;
}

std::error_code outcome(ready_status s) noexcept {
  switch (s) {
    case ready_status::ready: break;
    case ready_status::timeout: return std::make_error_code(std::errc::timed_out);
    case ready_status::stopped:
    case ready_status::closed: return canceled();
  }
  return {};
}

}  // namespace

void throw_error(const std::error_code& ec, const char* what) {
  if (ec == std::errc::operation_canceled && stop_requested()) throw stopped{};
  throw std::system_error(ec, what);
}

descriptor::descriptor(std::unique_ptr<transport> t) noexcept
    : kind_(t ? kind::simulated : kind::other), transport_(t.release()) {}

descriptor::descriptor(int fd) : fd_(fd) {
  try {
    require_real_io("a descriptor of the system");
  } catch (...) {
    drop();
    throw;
  }
  const int flags = ::fcntl(fd, F_GETFL);
  if (flags < 0 || (!(flags & O_NONBLOCK) && ::fcntl(fd, F_SETFL, flags | O_NONBLOCK) < 0)) {
    const int error = errno;
    drop();
    throw std::system_error(error, std::system_category(), "leat::net::descriptor");
  }
  struct stat what{};
  (void)::fstat(fd, &what);
  if (S_ISSOCK(what.st_mode)) {
    kind_ = kind::socket;
    // A Unix socket ends a read where a message with descriptors ends, and keeps what came after it.
    int protocol = 0;
    socklen_t size = sizeof protocol;
    stream_ = ::getsockopt(fd, SOL_SOCKET, SO_PROTOCOL, &protocol, &size) == 0 && protocol == IPPROTO_TCP;
  } else if (S_ISFIFO(what.st_mode)) {
    kind_ = kind::pipe;
  }
  try {
    watch_ = &watch::add(fd);
  } catch (...) {
    drop();
    throw;
  }
}

descriptor::descriptor(descriptor&& other) noexcept { *this = std::move(other); }

descriptor& descriptor::operator=(descriptor&& other) noexcept {
  if (this == &other) return *this;
  close();
  fd_ = std::exchange(other.fd_, -1);
  kind_ = other.kind_;
  stream_ = other.stream_;
  drained_ = other.drained_;
  watch_ = std::exchange(other.watch_, nullptr);
  transport_ = std::exchange(other.transport_, nullptr);
  return *this;
}

void descriptor::drop() noexcept { ::close(std::exchange(fd_, -1)); }

void descriptor::close() noexcept {
  delete std::exchange(transport_, nullptr);
  if (fd_ < 0) return;
  if (watch_) watch::remove(*std::exchange(watch_, nullptr), fd_);
  drop();
}

int descriptor::release() noexcept {
  delete std::exchange(transport_, nullptr);
  if (watch_) watch::remove(*std::exchange(watch_, nullptr), fd_);
  return std::exchange(fd_, -1);
}

void descriptor::shutdown(int how) noexcept {
  if (transport_)
    transport_->shutdown(how);
  else
    (void)::shutdown(fd_, how);
}

address descriptor::local() const noexcept {
  return transport_ ? transport_->local() : address::local_of(fd_);
}
address descriptor::peer() const noexcept { return transport_ ? transport_->peer() : address::peer_of(fd_); }

void descriptor::wait_readable(const char* what, std::error_code& ec, deadline until) {
  if (transport_) {
    ec = outcome(transport_->wait(direction::read, until, what));
    return;
  }
  ec = watch_ ? outcome(watch_->wait(direction::read, until, fd_, what)) : system_error_code(EBADF);
}

void descriptor::wait_writable(const char* what, std::error_code& ec, deadline until) {
  if (transport_) {
    ec = outcome(transport_->wait(direction::write, until, what));
    return;
  }
  ec = watch_ ? outcome(watch_->wait(direction::write, until, fd_, what)) : system_error_code(EBADF);
}

std::size_t descriptor::read_some(mutable_bytes into, std::error_code& ec, deadline until) {
  ec.clear();
  if (into.size == 0) return 0;
  if (stop_requested()) {
    throw_if_insisted_on_this_g();
    ec = canceled();
    return 0;
  }
  for (;;) {
    if (!std::exchange(drained_, false)) {
      const ssize_t k = kind_ == kind::socket                    ? receive(fd_, into.data, into.size)
                        : kind_ == kind::simulated && transport_ ? negated(transport_->read(into))
                                                                 : ::read(fd_, into.data, into.size);
      if (k >= 0) {
        const auto n = static_cast<std::size_t>(k);
        drained_ = stream_ && n > 0 && n < into.size && watch_->short_read_means_empty();
        return n;
      }
      const int error = errno;
      if (error == EINTR) continue;
      if (error != EAGAIN && error != EWOULDBLOCK) {
        ec = system_error_code(error);
        return 0;
      }
    }
    wait_readable("read", ec, until);
    if (ec) return 0;
  }
}

std::size_t descriptor::write_some(const_bytes from, std::error_code& ec, deadline until) {
  ec.clear();
  if (from.size == 0) return 0;
  for (;;) {
    const ssize_t k = kind_ == kind::socket                    ? send_quietly(fd_, from.data, from.size)
                      : kind_ == kind::pipe                    ? write_to_pipe(fd_, from.data, from.size)
                      : kind_ == kind::simulated && transport_ ? negated(transport_->write(from))
                                                               : ::write(fd_, from.data, from.size);
    if (k >= 0) return static_cast<std::size_t>(k);
    const int error = errno;
    if (error == EINTR) continue;
    if (error != EAGAIN && error != EWOULDBLOCK) {
      ec = system_error_code(error);
      return 0;
    }
    wait_writable("write", ec, until);
    if (ec) return 0;
  }
}

std::size_t descriptor::read_some(mutable_bytes into, deadline until) {
  std::error_code ec;
  const std::size_t n = read_some(into, ec, until);
  if (ec) throw_error(ec, "leat::net: read");
  return n;
}

std::size_t descriptor::write_some(const_bytes from, deadline until) {
  std::error_code ec;
  const std::size_t n = write_some(from, ec, until);
  if (ec) throw_error(ec, "leat::net: write");
  return n;
}

}  // namespace leat::net
