// SPDX-License-Identifier: BSL-1.0
//
// Only the owner reaps the child (look), so its number is its own until then, and a kill cannot meet another
// process. One with a group of its own is reaped last of all (end): its number is that of the group, which
// must be nobody else's as long as kill_group may be called. Who waits sees its end by a pidfd; without
// those, by a G that blocks a thread of its own in waitid and leaves the child to be reaped (WNOWAIT).
#include <leat/net/child.hpp>

#include <fcntl.h>
#include <spawn.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <stdexcept>
#include <string_view>
#include <utility>

#include <leat/csp/channel.hpp>
#include <leat/net/child_guard.hpp>
#include <leat/net/real_io.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>

extern char** environ;

namespace leat::net {
namespace {

bool ignores_children() noexcept {
  struct sigaction s{};
  return ::sigaction(SIGCHLD, nullptr, &s) == 0 && s.sa_handler == SIG_IGN;
}

// Whoever started this program may have left SIGCHLD ignored; then the system reaps children by itself, and
// nobody learns how they ended. Seen before main: a program that ignores it itself means it.
const bool inherited_ignored = ignores_children();

void keep_ends_of_children() noexcept {
  if (inherited_ignored && ignores_children()) (void)std::signal(SIGCHLD, SIG_DFL);
}

std::error_code system_error_code(int e) noexcept { return {e, std::system_category()}; }

void check(int error, const char* what) {
  if (error != 0) throw std::system_error(error, std::system_category(), what);
}

// Closed at the end of its scope. Above 2, so that no dup2 in the child overwrites one that is still needed.
class owned_fd {
 public:
  owned_fd() noexcept = default;
  explicit owned_fd(int fd) : fd_(fd) {
    if (fd < 0 || fd > 2) return;
    const int higher = ::fcntl(fd, F_DUPFD_CLOEXEC, 3), error = errno;
    ::close(fd);
    fd_ = higher;
    if (higher < 0) check(error, "leat::net::child: a descriptor");
  }
  owned_fd(owned_fd&& other) noexcept : fd_(other.release()) {}
  owned_fd& operator=(owned_fd&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~owned_fd() {
    if (fd_ >= 0) ::close(fd_);
  }
  int get() const noexcept { return fd_; }
  int release() noexcept { return std::exchange(fd_, -1); }

 private:
  int fd_ = -1;
};

class spawn_actions {
 public:
  spawn_actions() { check(::posix_spawn_file_actions_init(&a_), "leat::net::child"); }
  ~spawn_actions() { ::posix_spawn_file_actions_destroy(&a_); }
  spawn_actions(const spawn_actions&) = delete;
  spawn_actions& operator=(const spawn_actions&) = delete;
  posix_spawn_file_actions_t* get() noexcept { return &a_; }

 private:
  posix_spawn_file_actions_t a_;
};

class spawn_attributes {
 public:
  explicit spawn_attributes(bool own_group) {
    check(::posix_spawnattr_init(&a_), "leat::net::child");
    sigset_t none, standard;
    sigemptyset(&none);
    sigemptyset(&standard);
    sigaddset(&standard, SIGPIPE);
    (void)::posix_spawnattr_setsigmask(&a_, &none);
    (void)::posix_spawnattr_setsigdefault(&a_, &standard);
    (void)::posix_spawnattr_setpgroup(&a_, 0);
    const int flags =
        POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | (own_group ? POSIX_SPAWN_SETPGROUP : 0);
    (void)::posix_spawnattr_setflags(&a_, static_cast<short>(flags));
  }
  ~spawn_attributes() { ::posix_spawnattr_destroy(&a_); }
  spawn_attributes(const spawn_attributes&) = delete;
  spawn_attributes& operator=(const spawn_attributes&) = delete;
  const posix_spawnattr_t* get() const noexcept { return &a_; }

 private:
  posix_spawnattr_t a_;
};

// One of the child's three. Ours is the other end of a pipe.
struct wiring {
  owned_fd theirs, ours;
};

wiring wire(spawn_actions& actions, int number, stdio how) {
  wiring w;
  if (how == stdio::inherit) return w;
  if (how == stdio::null) {
    check(::posix_spawn_file_actions_addopen(actions.get(), number, "/dev/null",
                                             number == 0 ? O_RDONLY : O_WRONLY, 0),
          "leat::net::child");
    return w;
  }
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) check(errno, "leat::net::child: pipe");
  owned_fd reads, writes;
  try {
    reads = owned_fd(ends[0]);
  } catch (...) {
    ::close(ends[1]);
    throw;
  }
  writes = owned_fd(ends[1]);
  w.theirs = std::move(number == 0 ? reads : writes);
  w.ours = std::move(number == 0 ? writes : reads);
  check(::posix_spawn_file_actions_adddup2(actions.get(), w.theirs.get(), number), "leat::net::child");
  return w;
}

std::string_view name_of(std::string_view variable) { return variable.substr(0, variable.find('=')); }

std::vector<std::string> environment_with(const std::vector<std::string>& changes) {
  std::vector<std::string> all;
  for (char** e = environ; e && *e; ++e) {
    bool changed = false;
    for (const std::string& c : changes) changed |= name_of(c) == name_of(*e);
    if (!changed) all.emplace_back(*e);
  }
  for (const std::string& c : changes)
    if (c.find('=') != std::string::npos) all.push_back(c);
  return all;
}

std::vector<char*> pointers_to(const std::vector<std::string>& texts) {
  std::vector<char*> all;
  all.reserve(texts.size() + 1);
  for (const std::string& t : texts) all.push_back(const_cast<char*>(t.c_str()));
  all.push_back(nullptr);
  return all;
}

bool is_directory(const std::string& path) noexcept {
  struct stat s{};
  return ::stat(path.c_str(), &s) == 0 && S_ISDIR(s.st_mode);
}

pid_t spawn_program(const std::vector<std::string>& argv, const child_options& o, spawn_actions& actions) {
  if (!o.cwd.empty())
    check(::posix_spawn_file_actions_addchdir_np(actions.get(), o.cwd.c_str()), "leat::net::child");
  const std::vector<std::string> environment = environment_with(o.env);
  const std::vector<char*> args = pointers_to(argv), env = pointers_to(environment);
  const spawn_attributes attributes(o.own_group);
  keep_ends_of_children();
  pid_t pid = -1;
  // Blocks until the child has left this program's memory.
  const int error = leat::blocking([&] {
    return ::posix_spawnp(&pid, argv[0].c_str(), actions.get(), attributes.get(), args.data(), env.data());
  });
  if (error == 0) return pid;
  std::string what = "leat::net::child: cannot start \"" + argv[0] + "\"";
  if (!o.cwd.empty() && !is_directory(o.cwd)) what += " in \"" + o.cwd + "\"";
  throw std::system_error(error, std::system_category(), what);
}

int open_pidfd(pid_t pid) noexcept {
#ifdef SYS_pidfd_open
  return static_cast<int>(::syscall(SYS_pidfd_open, pid, 0));
#else
  (void)pid;
  return -1;
#endif
}

// Blocks, and reaps.
void reap(pid_t pid) noexcept {
  leat::blocking([pid] {
    siginfo_t info{};
    while (::waitid(P_PID, static_cast<id_t>(pid), &info, WEXITED) != 0 && errno == EINTR) {
    }
  });
}

}  // namespace

struct child::state {
  pid_t pid = -1;
  stream streams[3];
  descriptor pidfd;
  channel<int> ended;  // closed by the G that waits in our place; without a pidfd
  bool watched = false;
  bool own_group = false;
  std::optional<exit_status> status;
  bool gone = false;  // reaped by somebody else: its number may be another's

  bool look(std::error_code& ec) noexcept;
  void wait_for_end(std::error_code& ec, deadline until);
  int send(int signal) noexcept;
  int send_group(int signal) noexcept;
};

// The error, or 0.
int child::state::send(int signal) noexcept {
  if (status || gone) return 0;
#ifdef SYS_pidfd_send_signal
  if (pidfd.is_open())
    return ::syscall(SYS_pidfd_send_signal, pidfd.fd(), signal, nullptr, 0) == 0 ? 0 : errno;
#endif
  return ::kill(pid, signal) == 0 ? 0 : errno;
}

// The error, or 0; ESRCH: there is nobody.
int child::state::send_group(int signal) noexcept {
  if (gone) return 0;
  return ::kill(-pid, signal) == 0 ? 0 : errno;
}

// Has it ended? Then reaps it, unless its number is needed.
bool child::state::look(std::error_code& ec) noexcept {
  siginfo_t info{};
  int r = 0, error = 0;
  const int how = WEXITED | WNOHANG | (own_group ? WNOWAIT : 0);
  while ((r = ::waitid(P_PID, static_cast<id_t>(pid), &info, how)) != 0 && (error = errno) == EINTR) {
  }
  if (r != 0) {
    gone = error == ECHILD;  // the program ignores SIGCHLD, or waits for all its children
    ec = system_error_code(error);
    return false;
  }
  if (info.si_pid == 0) return false;
  exit_status s;
  if (info.si_code == CLD_EXITED) {
    s.code = info.si_status;
  } else {
    s.signal = info.si_status;
  }
  status = s;
  return true;
}

void child::state::wait_for_end(std::error_code& ec, deadline until) {
  if (pidfd.is_open()) return pidfd.wait_readable("child", ec, until);
  if (!watched) {
    leat::go("child", [done = ended, p = pid] {
      leat::blocking([p] {
        siginfo_t info{};
        while (::waitid(P_PID, static_cast<id_t>(p), &info, WEXITED | WNOWAIT) != 0 && errno == EINTR) {
        }
      });
      done.close();
    });
    watched = true;
  }
  std::optional<int> nothing;
  switch (ended.recv(nothing, until)) {
    case recv_status::timeout: ec = std::make_error_code(std::errc::timed_out); break;
    case recv_status::stopped: ec = std::make_error_code(std::errc::operation_canceled); break;
    default: break;
  }
}

child::child(const std::vector<std::string>& argv, const child_options& options) {
  if (argv.empty() || argv[0].empty()) throw std::invalid_argument("leat::net::child: no program was named");
  require_real_io("a child process");
  auto fresh = std::make_unique<state>();
  {
    spawn_actions actions;
    wiring wires[3] = {wire(actions, 0, options.in), wire(actions, 1, options.out),
                       wire(actions, 2, options.err)};
    for (int i = 0; i < 3; ++i)
      if (wires[i].ours.get() >= 0) fresh->streams[i] = stream(descriptor(wires[i].ours.release()));
    fresh->pid = spawn_program(argv, options, actions);
  }
  fresh->own_group = options.own_group;
  s_ = std::move(fresh);
  if (s_->own_group) guard_group(s_->pid);
  const int fd = options.use_pidfd ? open_pidfd(s_->pid) : -1;
  if (fd < 0) return;
  ::fcntl(fd, F_SETFD, FD_CLOEXEC);
  try {
    s_->pidfd = descriptor(fd);
  } catch (...) {
    end();
    throw;
  }
}

child::child() noexcept = default;
child::child(child&&) noexcept = default;
child& child::operator=(child&& other) noexcept {
  if (this == &other) return *this;
  end();
  s_ = std::move(other.s_);
  return *this;
}
child::~child() { end(); }

void child::end() noexcept {
  if (!s_) return;
  // Of another user, by now: it ends when it wants to, and nobody waits for that.
  bool out_of_reach = s_->send(SIGKILL) == EPERM;
  if (s_->own_group) (void)s_->send_group(SIGKILL);
  std::error_code ignored;
  if (out_of_reach && s_->look(ignored)) out_of_reach = false;
  if (s_->own_group) unguard_group(s_->pid);  // while the number is still its own
  if (!s_->gone && !out_of_reach && (!s_->status || s_->own_group)) reap(s_->pid);
  s_.reset();
}

namespace {

stream& piped(stream* s, const char* which) {
  if (!s || !s->is_open())
    throw std::logic_error(std::string("leat::net::child: ") + which +
                           " is not a pipe, or has been closed (child_options)");
  return *s;
}

}  // namespace

stream& child::in() { return piped(s_ ? &s_->streams[0] : nullptr, "stdin"); }
stream& child::out() { return piped(s_ ? &s_->streams[1] : nullptr, "stdout"); }
stream& child::err() { return piped(s_ ? &s_->streams[2] : nullptr, "stderr"); }

std::optional<exit_status> child::wait(std::error_code& ec, deadline until) {
  ec.clear();
  if (!s_) {
    ec = system_error_code(ECHILD);
    return {};
  }
  while (!s_->status && !s_->look(ec)) {
    if (!ec) s_->wait_for_end(ec, until);
    if (ec) return {};
  }
  return s_->status;
}

exit_status child::wait(deadline until) {
  std::error_code ec;
  const std::optional<exit_status> s = wait(ec, until);
  if (ec) throw_error(ec, "leat::net::child: wait");
  return *s;
}

void child::kill(int signal) {
  const int error = s_ ? s_->send(signal) : 0;
  if (error != 0 && error != ESRCH)
    throw std::system_error(error, std::system_category(), "leat::net::child: kill");
}

void child::kill_group(int signal) {
  if (!s_ || !s_->own_group) return kill(signal);
  const int error = s_->send_group(signal);
  if (error != 0 && error != ESRCH)
    throw std::system_error(error, std::system_category(), "leat::net::child: kill_group");
}

bool child::is_running() const noexcept {
  std::error_code ignored;
  return s_ && !s_->status && !s_->look(ignored) && !ignored;
}

pid_t child::pid() const noexcept { return s_ ? s_->pid : -1; }

std::string exit_status::text() const {
  if (signal == 0) return "exited with " + std::to_string(code);
  return "killed by signal " + std::to_string(signal) + " (" + ::strsignal(signal) + ")";
}

}  // namespace leat::net
