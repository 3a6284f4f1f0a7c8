// SPDX-License-Identifier: BSL-1.0
//
// Signals as bytes in a pipe, so that one poll waits for them and for everything else, and none is missed between a
// check and a wait. Only one may exist at a time; at its end each signal does again what it did before.
#pragma once

#include <signal.h>
#include <cstddef>
#include <initializer_list>
#include <utility>
#include <vector>

namespace leat::remote {

class signal_watch {
 public:
  explicit signal_watch(std::initializer_list<int> numbers);
  ~signal_watch();
  signal_watch(const signal_watch&) = delete;
  signal_watch& operator=(const signal_watch&) = delete;

  // Readable when a signal has come.
  int fd() const noexcept { return ends_[0]; }
  // The next one that has come; 0: none.
  int next() noexcept;

 private:
  int ends_[2] = {-1, -1};
  std::vector<std::pair<int, struct sigaction>> before_;
};

}  // namespace leat::remote
