// SPDX-License-Identifier: BSL-1.0
#include <leat/net/child_guard.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <mutex>
#include <string>

#include <leat/base/log.hpp>
#include <leat/sched/blocking.hpp>

namespace leat::net {
namespace {

// "+ GROUP" and "- GROUP", a line each. In the background, so that it is nobody's child here: a program that
// waits for all its children does not wait for it.
constexpr const char* script = R"((
trap '' HUP INT QUIT TERM
all=
while read -r what group; do
  rest=
  for g in $all; do [ "$g" = "$group" ] || rest="$rest $g"; done
  all=$rest
  [ "$what" = + ] && all="$all $group"
done
for g in $all; do kill -9 -"$g"; done
) <&3 >/dev/null 2>&1 3<&- &)";

// Our end of the socket, or -1.
int start() noexcept {
  int ends[2];
  if (::socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends) != 0) return -1;
  posix_spawn_file_actions_t actions;
  posix_spawnattr_t attributes;
  if (::posix_spawn_file_actions_init(&actions) != 0) {
    ::close(ends[0]);
    ::close(ends[1]);
    return -1;
  }
  (void)::posix_spawnattr_init(&attributes);
  for (const int fd : {0, 1, 2})
    (void)::posix_spawn_file_actions_addopen(&actions, fd, "/dev/null", O_RDWR, 0);
  // Were it 3 already, dup2 would leave it to be closed.
  int theirs = ::fcntl(ends[1], F_DUPFD_CLOEXEC, 4);
  (void)::posix_spawn_file_actions_adddup2(&actions, theirs, 3);
  sigset_t none;
  sigemptyset(&none);
  (void)::posix_spawnattr_setsigmask(&attributes, &none);
  (void)::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSID);
  const char* const words[] = {"sh", "-c", script, nullptr};
  const char* const environment[] = {nullptr};
  pid_t pid = -1;
  const int error =
      theirs < 0 ? EMFILE
                 : ::posix_spawn(&pid, "/bin/sh", &actions, &attributes, const_cast<char* const*>(words),
                                 const_cast<char* const*>(environment));
  (void)::posix_spawn_file_actions_destroy(&actions);
  (void)::posix_spawnattr_destroy(&attributes);
  if (theirs >= 0) ::close(theirs);
  ::close(ends[1]);
  if (error != 0) {
    ::close(ends[0]);
    return -1;
  }
  siginfo_t info{};
  while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
  }
  return ends[0];
}

std::mutex lock;
int guard = -1;
bool tried = false;

void tell(const char* what, pid_t group) noexcept {
  const bool failed = leat::blocking([&] {
    const std::lock_guard hold(lock);
    if (guard < 0 && tried) return false;
    if (guard < 0) {
      tried = true;
      guard = start();
      if (guard < 0) return true;
    }
    const std::string line = what + std::to_string(group) + '\n';
    (void)::send(guard, line.data(), line.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
    return false;
  });
  if (failed)
    log_warning("net", "no /bin/sh can be started: children of this program outlive it if it is killed");
}

}  // namespace

void guard_group(pid_t group) noexcept { tell("+ ", group); }
void unguard_group(pid_t group) noexcept { tell("- ", group); }

}  // namespace leat::net
