// SPDX-License-Identifier: BSL-1.0
// A signal to the test's own process.
#pragma once
#include <unistd.h>
#include <csignal>

#include <leat/fiber/annotate.hpp>

namespace leat::test {

// ThreadSanitizer keeps a signal for whichever fiber it meets until that runs again; one that a thread sends to itself it
// passes on at once.
inline void send_self(int number) {
  (void)(fiber::under_tsan ? ::raise(number) : ::kill(::getpid(), number));
}

}  // namespace leat::test
