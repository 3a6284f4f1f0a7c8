// SPDX-License-Identifier: BSL-1.0
#include <leat/net/standard.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <cerrno>
#include <string>

#include <leat/net/real_io.hpp>
#include <leat/sched/world.hpp>

namespace leat::net {

stream open_standard(standard which) {
  if (which == standard::input) require_real_io("standard input");
  const sched::world* const in = sched::world::here();
  if (in && !in->lets_real_io())
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            "leat::net::open_standard: in a simulated world nobody can wait for it");
  const int number = static_cast<int>(which);
  struct stat what{};
  if (::fstat(number, &what) != 0)
    throw std::system_error(errno, std::system_category(), "leat::net::open_standard");
  if (S_ISREG(what.st_mode))
    throw std::system_error(std::make_error_code(std::errc::operation_not_permitted),
                            "leat::net::open_standard: a regular file");
  int fd = -1;
  if (!S_ISSOCK(what.st_mode)) {
    const std::string path = "/proc/self/fd/" + std::to_string(number);
    fd = ::open(path.c_str(),
                (which == standard::input ? O_RDONLY : O_WRONLY) | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
  }
  // No /proc, another user's terminal, or a pipe that nobody reads.
  if (fd < 0) fd = ::fcntl(number, F_DUPFD_CLOEXEC, 3);
  if (fd < 0) throw std::system_error(errno, std::system_category(), "leat::net::open_standard");
  return stream(descriptor(fd));
}

}  // namespace leat::net
