// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstddef>
#include <cstdint>

namespace leat::bench {

// `switches` bare jump_fcontext calls, there and back, on the given stack.
void raw_switches(std::int64_t switches, char* stack_top, std::size_t stack_size);

}  // namespace leat::bench
