// SPDX-License-Identifier: BSL-1.0
//
// Why something that runs counts as failed and is asked to stop. Noted and told without the heap.
#pragma once
#include <cstdint>

#include <leat/base/clock.hpp>
#include <leat/base/format.hpp>

namespace leat {

struct failure_cause {
  enum class kind : std::uint8_t {
    none,
    overran,   // it ran for `time` without entering the runtime
    went_on,   // after it had been asked to stop
    silent,    // no value passed for `time`
    deadlock,  // it waited for others that waited for it
    injected,  // a simulation was told to make it fail
  };
  kind what = kind::none;
  nanoseconds time{0};

  explicit operator bool() const noexcept { return what != kind::none; }
  void append_to(text_buffer& to) const noexcept;
};

}  // namespace leat
