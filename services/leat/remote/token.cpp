// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/token.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include <leat/remote/deployments.hpp>
#include <leat/remote/text.hpp>

namespace leat::remote {
namespace {

// What a header can carry: anything else could end it, and begin another.
void check_token(std::string_view token, const std::string& where) {
  if (token.empty()) throw failure(exit_usage, where + " has no token in its first line");
  if (!std::all_of(token.begin(), token.end(), [](char c) { return c > ' ' && c < 0x7f; }))
    throw failure(exit_usage, where + " has a blank, or what is no ASCII, in its token");
}

}  // namespace

std::string read_client_token(const std::string& file) {
  if (file.empty()) {
    const char* const given = std::getenv("LEAT_TOKEN");
    if (!given || !*given) return {};
    check_token(given, "LEAT_TOKEN");
    return given;
  }
  const std::string where = "--token-file " + printable(file);
  const int fd = ::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
  struct stat s{};
  char text[512];
  std::string why;
  ssize_t n = -1;
  if (fd < 0 || ::fstat(fd, &s) != 0) {
    why = std::strerror(errno);
  } else if (!S_ISREG(s.st_mode)) {
    why = "it is not a regular file";
  } else if ((s.st_mode & (S_IRWXG | S_IRWXO)) != 0) {
    why = "others may read it: chmod 600";
  } else if ((n = ::read(fd, text, sizeof text)) < 0) {
    why = std::strerror(errno);
  }
  if (fd >= 0) (void)::close(fd);
  if (!why.empty()) throw failure(exit_usage, where + ": " + why);
  std::string_view line(text, static_cast<std::size_t>(n));
  const std::size_t end = line.find('\n');
  if (end == std::string_view::npos && line.size() == sizeof text)
    throw failure(exit_usage, where + ": its first line is longer than 511 bytes");
  line = line.substr(0, end);
  if (line.ends_with('\r')) line.remove_suffix(1);
  check_token(line, where);
  return std::string(line);
}

endpoint deployment_of(const request& r) {
  endpoint to = find_deployment(r.deployment);
  if (to.path.empty()) {
    to.token = read_client_token(r.token_file);
  } else if (!r.token_file.empty()) {
    throw failure(exit_usage, "'--token-file' is for -d HOST:PORT; a socket asks for none");
  }
  return to;
}

}  // namespace leat::remote
