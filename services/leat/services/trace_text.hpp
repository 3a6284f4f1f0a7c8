// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <span>
#include <string>

namespace leat::services {

// "spin()+0x10 < meter::run()+0x2c < ..."; empty for an empty trace.
std::string trace_text(std::span<void* const> trace);

}  // namespace leat::services
