// SPDX-License-Identifier: BSL-1.0
//
// When is a lock biased to the M that uses it?
//
// After some critical sections of that M in a row, 256 at first. Each revocation makes them 16 times as many,
// up to a million, since it costs a system call (some microseconds); twice as many, up to 4096, where who came
// only looked, or is no M. A lock that was biased when it was made goes on as any other after its first
// revocation.
//
// For the rows pingpong, ring and mpmc. Under the lock.
#pragma once
#include <cstdint>

namespace leat::csp {

class bias_policy {
 public:
  // Binary logarithms of sections. when_made marks a lock that has been biased since it was made, and is never
  // counted to.
  static constexpr std::uint8_t when_made = 4, usual = 8, step = 4, most = 20, most_by_others = 12;

  // A section of the M that had the last one, or of another. True: it has had enough of them.
  bool is_due(bool same) noexcept {
    in_a_row_ = same ? in_a_row_ + 1 : 0;
    return in_a_row_ >= 1u << patience_;
  }
  void was_biased() noexcept { in_a_row_ = 0; }
  void was_biased_when_made() noexcept { patience_ = when_made; }
  bool is_biased_since_made() const noexcept { return patience_ == when_made; }
  // `by_user`: by an M that uses the lock, too.
  void was_revoked(bool by_user) noexcept {
    if (is_biased_since_made()) {
      patience_ = usual;
    } else if (by_user) {
      patience_ = static_cast<std::uint8_t>(patience_ + step < most ? patience_ + step : most);
    } else if (patience_ < most_by_others) {
      ++patience_;
    }
  }

 private:
  std::uint32_t in_a_row_ = 0;
  std::uint8_t patience_ = usual;
};

}  // namespace leat::csp
