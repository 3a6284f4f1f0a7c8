// SPDX-License-Identifier: BSL-1.0
//
// What glibc's malloc may set aside where address space is limited (`ulimit -v`, LimitAS=). For each of the first threads it
// reserves an arena of 64 MB, eight for each core, so that under a small limit nothing is left for stacks, threads and
// plug-ins, or for the heap itself: at 220 MB a program ran out of memory that worked at 140.
#pragma once
#include <cstdint>
#include <optional>

namespace leat::services {

// So many that they take a sixteenth of it, one at least. Empty: more than malloc would make.
std::optional<int> arenas_within(std::uint64_t address_space, unsigned cores) noexcept;
// To be called before there are threads. Whoever has said how many (MALLOC_ARENA_MAX=, GLIBC_TUNABLES=) gets these.
void limit_arenas() noexcept;

}  // namespace leat::services
