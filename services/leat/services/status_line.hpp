// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>

#include <leat/services/host.hpp>

namespace leat::services {

// One line at the bottom of a terminal: how many Gs, how many values a second, the fullest channel. It stands
// at the right, and the cursor at the left: what a process prints then comes before it and not upon it. Lines
// of the log and the ledger erase it.
class status_line {
 public:
  explicit status_line(bool on) noexcept : on_(on) {}
  ~status_line() { clear(); }
  status_line(const status_line&) = delete;
  status_line& operator=(const status_line&) = delete;

  void show(const host& h);
  void clear() noexcept;

 private:
  bool on_;
  bool shown_ = false;
  std::uint64_t received_ = 0;
  time_point at_ = leat::now();
};

}  // namespace leat::services
