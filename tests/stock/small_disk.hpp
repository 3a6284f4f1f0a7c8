// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <sys/resource.h>
#include <csignal>

namespace leat::stock::test {

// No file grows over it: the room on a disk, but for this process alone. Only the soft limit, so that room
// can come back.
class small_disk {
 public:
  explicit small_disk(rlim_t bytes) {
    handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &before_);
    room(bytes);
  }
  ~small_disk() {
    ::setrlimit(RLIMIT_FSIZE, &before_);
    std::signal(SIGXFSZ, handler_);
  }
  small_disk(const small_disk&) = delete;
  small_disk& operator=(const small_disk&) = delete;
  void room(rlim_t bytes) const {
    const rlimit r{bytes, before_.rlim_max};
    ::setrlimit(RLIMIT_FSIZE, &r);
  }

 private:
  rlimit before_{};
  void (*handler_)(int) = nullptr;
};

}  // namespace leat::stock::test
