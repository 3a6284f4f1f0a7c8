// SPDX-License-Identifier: BSL-1.0
#include <leat/base/write_now.hpp>

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdint>

namespace leat {
namespace {

constexpr std::size_t pipe_takes = 4096;  // PIPE_BUF: whole, if there is room for anything
constexpr std::size_t tty_takes = 64;     // most probably, if there is room for anything

// The terminal that we keep a file of our own for: the first that was written to, which as a rule is the only one. For any other
// one is opened each time.
//   0 nobody has looked for one; 1 somebody opens it; 2 it is there. Never back: a signal handler may be amid it.
constinit std::atomic<int> state{0};
constinit int own_fd = -1;  // written in 1
constinit dev_t own_dev = 0;
constinit ino_t own_ino = 0;

int open_again(int fd) noexcept {
  char path[] = "/proc/self/fd/\0\0\0\0\0\0\0\0\0\0";
  char digits[10];
  std::size_t n = 0;
  for (unsigned left = static_cast<unsigned>(fd); n == 0 || left > 0; left /= 10)
    digits[n++] = static_cast<char>('0' + left % 10);
  for (char* to = path + sizeof "/proc/self/fd/" - 1; n > 0;) *to++ = digits[--n];
  return ::open(path, O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
}

// -1: there is none for this one.
int own_file_of(int fd, const struct stat& file) noexcept {
  int seen = state.load(std::memory_order_acquire);  // pairs with the store below
  if (seen == 0 && state.compare_exchange_strong(seen, 1, std::memory_order_relaxed)) {
    own_fd = open_again(fd);
    own_dev = file.st_dev;
    own_ino = file.st_ino;
    state.store(2, std::memory_order_release);
    seen = 2;
  }
  return seen == 2 && file.st_dev == own_dev && file.st_ino == own_ino ? own_fd : -1;
}

ssize_t write_if_ready(int fd, const char* from, std::size_t n) noexcept {
  pollfd out{fd, POLLOUT, 0};
  if (::poll(&out, 1, 0) != 1) {
    errno = EAGAIN;
    return -1;
  }
  return ::write(fd, from, n);
}

ssize_t write_to_special(int fd, const struct stat& file, const char* from, std::size_t n) noexcept {
  if (S_ISCHR(file.st_mode) && ::isatty(fd) == 1) {
    if (const int own = own_file_of(fd, file); own >= 0) return ::write(own, from, n);
    const int once = open_again(fd);
    if (once < 0) return write_if_ready(fd, from, std::min(n, tty_takes));
    const ssize_t written = ::write(once, from, n);
    const int error = errno;
    ::close(once);
    errno = error;
    return written;
  }
  iovec part{const_cast<char*>(from), n};
  const ssize_t written = ::pwritev2(fd, &part, 1, -1, RWF_NOWAIT);
  if (written >= 0 || (errno != EOPNOTSUPP && errno != ENOSYS && errno != EINVAL && errno != ESPIPE))
    return written;
  return write_if_ready(fd, from, std::min(n, pipe_takes));
}

}  // namespace

ssize_t write_now(int fd, const char* from, std::size_t n) noexcept {
  struct stat file;
  if (::fstat(fd, &file) != 0) return -1;
  const ssize_t written = S_ISSOCK(file.st_mode)  ? ::send(fd, from, n, MSG_DONTWAIT | MSG_NOSIGNAL)
                          : S_ISREG(file.st_mode) ? ::write(fd, from, n)
                                                  : write_to_special(fd, file, from, n);
  if (written >= 0) return written;
  return errno == EAGAIN || errno == EWOULDBLOCK || errno == EINTR ? 0 : -1;
}

}  // namespace leat
