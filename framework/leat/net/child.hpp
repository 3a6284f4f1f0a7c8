// SPDX-License-Identifier: BSL-1.0
//
// Other programs, as children.
//
//   leat::net::child sort({"sort", "-n"}, {.in = leat::net::stdio::pipe, .out = leat::net::stdio::pipe});
//   sort.in().write("2\n1\n");
//   sort.in().close();
//   while (auto line = sort.out().read_line(5s)) use(*line);
//   if (!sort.wait(5s).ok()) ...
//
// A child that fills a pipe which nobody reads waits, like any program in a shell's pipe.
#pragma once
#include <sys/types.h>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

#include <leat/base/clock.hpp>
#include <leat/net/stream.hpp>

namespace leat::net {

enum class stdio : std::uint8_t { inherit, pipe, null };

struct child_options {
  stdio in = stdio::inherit, out = stdio::inherit, err = stdio::inherit;
  // On top of this program's own: "NAME=value" sets, "NAME" alone removes.
  std::vector<std::string> env = {};
  std::string cwd = {};  // empty: this program's
  // In a process group of its own: signals from the terminal do not reach it; kill_group reaches it and those
  // that it has started, also after its own end. They are killed with the end of this object, and when this
  // program is killed (child_guard.hpp).
  bool own_group = false;
  bool use_pidfd = true;  // false: wait on a thread of its own, as on systems without pidfds
};

struct exit_status {
  int code = -1;   // -1: a signal ended it
  int signal = 0;  // 0: it exited
  bool ok() const noexcept { return code == 0; }
  std::string text() const;  // "exited with 3", "killed by signal 9 (Killed)"
};

class child {
 public:
  child() noexcept;
  // Starts argv[0], searched in PATH unless it has a '/'. Throws std::system_error that names the program,
  // and the reason when it cannot be run; std::invalid_argument without a program. Inside it signals are as
  // at the start of a program: none blocked or caught, SIGPIPE not ignored.
  explicit child(const std::vector<std::string>& argv, const child_options& options = {});
  child(child&&) noexcept;
  child& operator=(child&& other) noexcept;
  // Kills it (SIGKILL) unless it has ended, and waits for its end; one that has become another user's, and so
  // cannot be killed, is left behind.
  ~child();

  // This program's ends of its pipes. Throw std::logic_error for what was not asked to be one.
  stream& in();
  stream& out();
  stream& err();

  // Its end; after that, the same again at once. Errors, deadlines and stops: as descriptor.hpp says.
  exit_status wait(deadline until = deadline::never());
  std::optional<exit_status> wait(std::error_code& ec, deadline until = deadline::never());
  // Nothing happens to one that has ended. Throws std::system_error.
  void kill(int signal);
  // The same for its group; without one of its own, for the child alone.
  void kill_group(int signal);

  bool is_running() const noexcept;
  pid_t pid() const noexcept;  // -1 without a child

 private:
  struct state;
  void end() noexcept;

  std::unique_ptr<state> s_;
};

}  // namespace leat::net
