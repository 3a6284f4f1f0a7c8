// SPDX-License-Identifier: BSL-1.0
//
// The date, in nanoseconds since 1970 (UTC): that of the machine, or that of the simulated world that runs in this
// program (sched/world.hpp), which begins at a date of its own and moves with the world's time.
#pragma once

#include <atomic>
#include <cstdint>

namespace leat {

namespace detail {
// What is added to the time of the simulated world to get its date. Written before world_time (clock.hpp) is.
inline constinit std::atomic<std::int64_t> world_date{0};
}  // namespace detail

std::int64_t system_now_ns() noexcept;

}  // namespace leat
