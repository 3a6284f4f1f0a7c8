// SPDX-License-Identifier: BSL-1.0
//
// Levels of the log for single speakers, while a program runs. A line is of a speaker if its component is that name, or
// its text begins with it, as in "climate/filter: too hot"; a name with "/2" behind it, as replicas have, is
// meant as well.
//
// Whoever logs takes no lock here: names are written once and stay, levels are words of their own. While no
// speaker has a level, a line costs nothing more; one that is logged while levels change is checked against
// either. When set_log_level speaks for all, the levels of speakers are gone.
#pragma once
#include <cstddef>
#include <string_view>

#include <leat/base/log.hpp>

namespace leat {

// In the life of a program.
inline constexpr std::size_t most_log_speakers = 64, longest_log_speaker = 191;

// False: the name is empty or too long, or there have been too many.
bool set_log_level_of(std::string_view speaker, log_level level) noexcept;

namespace detail {
// Whether a line that some speaker may want is wanted of this one.
bool wants_line(log_level level, std::string_view component, std::string_view text) noexcept;
// All have this level from now on.
void forget_log_levels(log_level level) noexcept;
// The level of those who have none of their own.
log_level common_log_level(log_level threshold) noexcept;
}  // namespace detail
}  // namespace leat
