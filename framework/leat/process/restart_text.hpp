// SPDX-License-Identifier: BSL-1.0
//
// Words for reports of supervisors.
#pragma once
#include <string>

#include <leat/process/restart_policy.hpp>

namespace leat {

// For people: three digits are enough.
nanoseconds rounded(nanoseconds d) noexcept;

// "restarts in 200ms (2 of 5 in 1m)", "with 3 others restarts in ..."; `together`: how many restart, with it.
// Of a limit: "5 restarts in 1m are the limit".
std::string what_follows(const restart_decision& d, const restart_policy& p, std::size_t together = 0);

}  // namespace leat
