// SPDX-License-Identifier: BSL-1.0
#include <leat/services/notify.hpp>

#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include <charconv>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <system_error>

namespace leat::services {

bool has_notify_socket() noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  return path && (path[0] == '/' || path[0] == '@');
}

void notify_systemd(std::string_view state) noexcept {
  const char* const path = std::getenv("NOTIFY_SOCKET");
  if (!path || (path[0] != '/' && path[0] != '@')) return;
  sockaddr_un to{};
  const std::size_t n = std::strlen(path);
  if (n >= sizeof to.sun_path) return;
  to.sun_family = AF_UNIX;
  std::memcpy(to.sun_path, path, n);
  if (path[0] == '@') to.sun_path[0] = '\0';
  const int fd = ::socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
  if (fd < 0) return;
  (void)::sendto(fd, state.data(), state.size(), MSG_DONTWAIT | MSG_NOSIGNAL,
                 reinterpret_cast<const sockaddr*>(&to),
                 static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + n));
  ::close(fd);
}

nanoseconds watchdog_interval() noexcept {
  const auto number = [](const char* name) -> std::int64_t {
    const char* const text = std::getenv(name);
    if (!text) return -1;
    std::int64_t n = -1;
    const char* const end = text + std::strlen(text);
    const auto [at, wrong] = std::from_chars(text, end, n);
    return wrong == std::errc() && at == end ? n : -1;
  };
  const std::int64_t us = number("WATCHDOG_USEC");
  constexpr std::int64_t most = std::chrono::microseconds(std::chrono::hours(24 * 365)).count();
  if (us <= 0 || us > most) return {};
  // It is meant for one process, not for its children.
  if (std::getenv("WATCHDOG_PID") && number("WATCHDOG_PID") != ::getpid()) return {};
  return std::chrono::microseconds(us);
}

}  // namespace leat::services
