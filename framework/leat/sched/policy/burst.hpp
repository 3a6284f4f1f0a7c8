// SPDX-License-Identifier: BSL-1.0
//
// Does an owner push without full barriers?
//
// A G that starts many others pays for a full barrier with each, waiting for its push to reach the other core. One
// with a long ring is about to start more, and from then on uses a light one until it finds its ring empty (the
// protocol is that of sched/idle_set.hpp, which counts who does).
//
// For the row spawn at two Ps. Belongs to the owner of a P.
#pragma once
#include <cstdint>

namespace leat::sched {

class burst_policy {
 public:
  // Gs. Who has started so many before one of them ran will go on.
  static constexpr std::uint32_t long_ring = 32;

  bool is_on() const noexcept { return on_; }
  // After a push. True: it begins with this one, which still takes a full barrier.
  bool begins(std::uint32_t ring_size) noexcept {
    if (on_ || ring_size <= long_ring) return false;
    return on_ = true;
  }
  // The ring is empty. True: it was on.
  bool end() noexcept {
    const bool was = on_;
    on_ = false;
    return was;
  }

 private:
  bool on_ = false;
};

}  // namespace leat::sched
