// SPDX-License-Identifier: BSL-1.0
#include <leat/remote/terminal.hpp>

#include <sys/ioctl.h>
#include <unistd.h>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include <leat/base/format.hpp>

namespace leat::remote {
namespace {

// Alternate screen, no cursor, lines that do not wrap; and back.
constexpr std::string_view begin_screen = "\033[?1049h\033[?25l\033[?7l\033[2J";
constexpr std::string_view end_screen = "\033[0m\033[?7h\033[?25h\033[?1049l";

}  // namespace

bool terminal::usable() {
  const char* const term = std::getenv("TERM");
  return ::isatty(STDIN_FILENO) == 1 && ::isatty(STDOUT_FILENO) == 1 && term && *term &&
         std::strcmp(term, "dumb") != 0;
}

bool terminal::has_colour() {
  const char* const no = std::getenv("NO_COLOR");
  return !no || !*no;
}

void terminal::enter() {
  if (entered_ || ::tcgetattr(STDIN_FILENO, &before_) != 0) return;
  termios raw = before_;
  // Signals stay: Ctrl-C and Ctrl-Z come as such.
  raw.c_lflag &= static_cast<tcflag_t>(~(ICANON | ECHO));
  raw.c_cc[VMIN] = 1;
  raw.c_cc[VTIME] = 0;
  ::tcsetattr(STDIN_FILENO, TCSANOW, &raw);
  entered_ = true;
  write(begin_screen);
}

void terminal::leave() noexcept {
  if (!entered_) return;
  entered_ = false;
  // A terminal that stands still must not keep the program.
  write_text(STDOUT_FILENO, end_screen, 1000);
  ::tcflush(STDIN_FILENO, TCIFLUSH);  // keys that nobody has read are not for the shell
  ::tcsetattr(STDIN_FILENO, TCSANOW, &before_);
}

screen_size terminal::size() const {
  winsize w{};
  if (::ioctl(STDOUT_FILENO, TIOCGWINSZ, &w) != 0 || w.ws_col == 0 || w.ws_row == 0) return {};
  return {w.ws_col, w.ws_row};
}

bool terminal::write(std::string_view text) const noexcept {
  while (!text.empty()) {
    const ssize_t n = ::write(STDOUT_FILENO, text.data(), text.size());
    if (n <= 0) return false;
    text.remove_prefix(static_cast<std::size_t>(n));
  }
  return true;
}

std::string terminal::read() const {
  char data[256];
  const ssize_t n = ::read(STDIN_FILENO, data, sizeof data);
  return n > 0 ? std::string(data, static_cast<std::size_t>(n)) : std::string();
}

}  // namespace leat::remote
