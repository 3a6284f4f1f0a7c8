// SPDX-License-Identifier: BSL-1.0
//
// The terminal while `top` has it: keys without echo, the alternate screen, no cursor. However the owner leaves, by
// return or exception, the terminal is as it was; signals are its own to watch.
#pragma once

#include <termios.h>
#include <string>
#include <string_view>

#include <leat/remote/top_screen.hpp>

namespace leat::remote {

class terminal {
 public:
  // Keys come in and the screen goes out: both are terminals, and the screen can be drawn on.
  static bool usable();
  static bool has_colour();

  terminal() { enter(); }
  ~terminal() { leave(); }
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  void enter();
  void leave() noexcept;
  screen_size size() const;
  // False: it is gone, or a signal came.
  bool write(std::string_view text) const noexcept;
  // What was typed; waits for nothing if poll said that there is something. Empty: the terminal is gone.
  std::string read() const;

 private:
  termios before_{};
  bool entered_ = false;
};

}  // namespace leat::remote
