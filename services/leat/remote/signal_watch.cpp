// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/signal_watch.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <system_error>

namespace leat::remote {
namespace {

std::atomic<int> signal_pipe{-1};

void note_signal(int number) {
  const int error = errno;
  const auto byte = static_cast<unsigned char>(number);
  // A full pipe has enough in it to be looked at.
  (void)!::write(signal_pipe.load(std::memory_order_relaxed), &byte, 1);
  errno = error;
}

}  // namespace

signal_watch::signal_watch(std::initializer_list<int> numbers) {
  if (::pipe2(ends_, O_CLOEXEC | O_NONBLOCK) != 0)
    throw std::system_error(errno, std::generic_category(), "no pipe for signals");
  signal_pipe.store(ends_[1], std::memory_order_relaxed);
  for (const int number : numbers) {
    struct sigaction action{}, before{};
    action.sa_handler = note_signal;
    ::sigemptyset(&action.sa_mask);
    // No SA_RESTART: a system call that waits comes back. What was ignored (nohup) stays so.
    if (::sigaction(number, nullptr, &before) != 0 || before.sa_handler == SIG_IGN) continue;
    ::sigaction(number, &action, nullptr);
    before_.emplace_back(number, before);
  }
}

signal_watch::~signal_watch() {
  for (const auto& [number, before] : before_) ::sigaction(number, &before, nullptr);
  signal_pipe.store(-1, std::memory_order_relaxed);
  ::close(ends_[0]);
  ::close(ends_[1]);
}

int signal_watch::next() noexcept {
  unsigned char byte = 0;
  return ::read(ends_[0], &byte, 1) == 1 ? byte : 0;
}

}  // namespace leat::remote
