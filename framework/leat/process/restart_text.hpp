// SPDX-License-Identifier: BSL-1.0
//
// Words for reports of supervisors.
#pragma once
#include <cstddef>

#include <leat/base/format.hpp>
#include <leat/process/restart_policy.hpp>

namespace leat {

// For people three digits are enough: "9.31ms", "12.3s", "15m".
void append_rounded(text_buffer& to, nanoseconds d) noexcept;

// "restarts in 200ms (2 of 5 in 1m)", "with 3 others restarts in ..."; `together`: how many restart, with it.
// Of a limit: "5 restarts in 1m are the limit".
void append_what_follows(text_buffer& to, const restart_decision& d, const restart_policy& p,
                         std::size_t together) noexcept;

}  // namespace leat
