// SPDX-License-Identifier: BSL-1.0
//
// Does a side of a one-to-one ring look a few times more before it parks?
//
// The other side is often at work on another core, and a park with its wake-up takes as long as hundreds of
// values. Where looking did not help it is done less and less often: the next time, after one wait without,
// then after 3, 7 ... 63.
//
// For the row pipeline at two Ps. Belongs to one side.
#pragma once
#include <cstdint>

namespace leat::csp {

class ring_spin_policy {
 public:
  static constexpr std::uint32_t most_skipped = 63;  // waits

  // Before a wait.
  bool spins() noexcept {
    if (skipped_ < skip_) {
      ++skipped_;
      return false;
    }
    skipped_ = 0;
    return true;
  }
  // How it went.
  void helped() noexcept { skip_ = 0; }
  void was_in_vain() noexcept { skip_ = skip_ < most_skipped ? skip_ * 2 + 1 : most_skipped; }

 private:
  std::uint32_t skip_ = 0, skipped_ = 0;
};

}  // namespace leat::csp
