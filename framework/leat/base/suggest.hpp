// SPDX-License-Identifier: BSL-1.0
//
// "did you mean": the nearest of the names that there are.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace leat {

// Insertions, deletions, replacements and swaps of neighbours that lead from a to b; stops counting above
// `limit`.
std::size_t edit_distance(std::string_view a, std::string_view b, std::size_t limit);

// Empty when none is near enough to be meant.
std::string nearest(std::string_view name, const std::vector<std::string_view>& among);

// "; did you mean 'x'?", or nothing.
std::string did_you_mean(std::string_view suggestion);

}  // namespace leat
