// SPDX-License-Identifier: BSL-1.0
//
// Does a side of a one-to-one ring pay for a barrier with each value, or the other one for a heavy barrier when it
// parks?
//
// After a park of the other side it pays; when the other has not parked for so many visits (of 64 values each), no
// longer. At two Ps the barriers of these visits cost about what the heavy one of the next park does, which grows with
// the cores that it interrupts.
//
// For the rows chan_buf and pipeline at two Ps. Belongs to one side.
#pragma once
#include <cstdint>

namespace leat::csp {

class ring_calm_policy {
 public:
  // So many visits without a park are enough; procs 0: a plain thread, which does not know the number of Ps.
  static constexpr std::uint32_t enough(std::uint32_t procs) noexcept { return procs > 0 ? 2 + procs : 16; }

  // A visit; `parks` of the other side so far.
  void visit(std::uint64_t parks) noexcept {
    calm_ = parks == parks_ ? calm_ + 1 : 0;
    parks_ = parks;
  }
  bool is_calm(std::uint32_t procs) const noexcept { return calm_ >= enough(procs); }

 private:
  std::uint64_t parks_ = 0;
  std::uint32_t calm_ = 0;  // visits since the last park
};

}  // namespace leat::csp
