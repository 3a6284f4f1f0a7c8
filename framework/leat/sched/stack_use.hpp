// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <string>

namespace leat {

// With runtime_options::stack_census: a line for each name of Gs that have ended, with the most and the mean
// stack that they used and a size that would do. Empty without it, or when no runtime runs.
std::string stack_use();

}  // namespace leat
