// SPDX-License-Identifier: BSL-1.0
//
// Signals as a channel:
//
//   leat::in<int> quit = leat::signals(SIGINT, SIGTERM);
//   quit.recv();                                          // until Ctrl-C
//
// Every call makes a channel of its own, and each of them gets every signal that it asked for. It holds 16; a
// reader that lags behind loses the oldest. Like the system's own, equal signals that come close together may
// become one.
//
// While somebody listens for a signal, what the program did about it before does not happen. That comes back
// with the end of the last channel for it and with the end of the runtime, unless the program has set
// something else meanwhile. So a second Ctrl-C kills a program that has let go of its channel after the
// first.
#pragma once
#include <csignal>
#include <initializer_list>
#include <type_traits>

#include <leat/csp/channel.hpp>

namespace leat {

// Throws std::invalid_argument for what cannot be caught (SIGKILL, SIGSTOP), is a fault of the thread that
// gets it (SIGSEGV, SIGBUS, SIGFPE, SIGILL) or is no signal; spawn_error when no runtime runs;
// std::system_error when the system has no descriptors for it (five, if nothing else waits for I/O yet).
in<int> signals(std::initializer_list<int> numbers);

template <class... Ints>
  requires(std::is_convertible_v<Ints, int> && ...)
in<int> signals(int first, Ints... others) {
  return signals({first, static_cast<int>(others)...});
}

}  // namespace leat
