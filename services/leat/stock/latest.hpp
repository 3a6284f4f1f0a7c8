// SPDX-License-Identifier: BSL-1.0
//
// What several inputs brought last, of one key. Without clocks or channels. Not installed.
#pragma once
#include <array>
#include <cstddef>
#include <cstdint>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/process/record.hpp>

namespace leat::stock {

// When a combination is due: after a record from any input, from the first, or from each of them since the last one.
enum class join_on : std::uint8_t { any, first, all };

class latest_records {
 public:
  static constexpr std::size_t most = 4;

  struct rules {
    std::size_t inputs = most;
    join_on on = join_on::any;
    bool partial = false;                  // also while some inputs have brought nothing
    nanoseconds age = nanoseconds::max();  // what is older counts as if it had not come
  };

  void put(std::size_t input, record r, time_point now) { slots_[input] = {std::move(r), now, true, true}; }
  // What this input brought last; null: nothing, or it is too old.
  const record* get(std::size_t input, time_point now, const rules& how) const noexcept {
    const slot& s = slots_[input];
    return s.there && saturating_sub(now, s.at) <= how.age ? &s.value : nullptr;
  }
  bool due(time_point now, const rules& how) const noexcept {
    bool any = false, fresh = true, whole = true;
    for (std::size_t i = 0; i < how.inputs; ++i) {
      any |= slots_[i].fresh;
      fresh &= slots_[i].fresh;
      whole &= get(i, now, how) != nullptr;
    }
    if (!whole && (!how.partial || how.on == join_on::all)) return false;
    return how.on == join_on::any ? any : how.on == join_on::first ? slots_[0].fresh : fresh;
  }
  // The combination has gone.
  void settle() noexcept {
    for (slot& s : slots_) s.fresh = false;
  }

 private:
  struct slot {
    record value = {};
    time_point at = {};
    bool there = false;
    bool fresh = false;  // came after the last combination
  };
  std::array<slot, most> slots_ = {};
};

}  // namespace leat::stock
