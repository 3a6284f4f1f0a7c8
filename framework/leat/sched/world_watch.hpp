// SPDX-License-Identifier: BSL-1.0
//
// What sysmon looks at in a simulated world (world.hpp), which never ends when a G computes on and on, or when Gs that
// wait for a time give way in a loop instead of sleeping. Pure: no threads, no clocks.
#pragma once
#include <cstdint>

namespace leat::sched {

class world_watch {
 public:
  static constexpr std::int64_t patience = 10'000'000'000;  // of real time

  enum class sight : std::uint8_t { fine, computes, stands_still };

  explicit world_watch(std::int64_t real_now) noexcept : turned_at_(real_now), moved_at_(real_now) {}

  // `turns`: switches so far; `time`: the world's. Each fault is reported once.
  sight look(std::int64_t real_now, bool busy, std::uint32_t turns, std::int64_t time) noexcept {
    if (!busy || turns != turns_) turned_at_ = real_now;
    if (!busy || time != time_) moved_at_ = real_now;
    turns_ = turns;
    time_ = time;
    if (!told_computes_ && real_now - turned_at_ > patience) {
      told_computes_ = true;
      return sight::computes;
    }
    if (!told_stands_still_ && turned_at_ == real_now && real_now - moved_at_ > patience) {
      told_stands_still_ = true;
      return sight::stands_still;
    }
    return sight::fine;
  }

 private:
  std::int64_t turned_at_, moved_at_, time_ = 0;
  std::uint32_t turns_ = 0;
  bool told_computes_ = false, told_stands_still_ = false;
};

}  // namespace leat::sched
