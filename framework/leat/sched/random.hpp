// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstdint>

namespace leat {

// 64 random bits, for jitter, sampling and the like; not for secrets. In a simulated world (sched/simulate.hpp) they
// come from its seed, so that a run can be repeated. Any G, any thread.
std::uint64_t random() noexcept;

}  // namespace leat
