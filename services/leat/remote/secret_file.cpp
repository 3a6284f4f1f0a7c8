// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/secret_file.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string_view>

namespace leat::remote {

secret_line read_secret_line(const std::string& file) {
  secret_line found;
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat s{};
  char text[512];
  ssize_t n = -1;
  if (fd < 0 || ::fstat(fd, &s) != 0) {
    found.why = std::strerror(errno);
  } else if (!S_ISREG(s.st_mode)) {
    found.why = "it is not a regular file";
  } else if ((s.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    found.why = "others may read it: chmod 600";
  } else if ((n = ::read(fd, text, sizeof text)) < 0) {
    found.why = std::strerror(errno);
  }
  if (fd >= 0) (void)::close(fd);
  if (!found.why.empty()) return found;
  found.owner = s.st_uid;
  std::string_view line(text, static_cast<std::size_t>(n));
  const std::size_t end = line.find('\n');
  if (end == std::string_view::npos && line.size() == sizeof text) {
    found.why = "its first line is longer than 511 bytes";
    return found;
  }
  line = line.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  found.text = line;
  return found;
}

}  // namespace leat::remote
