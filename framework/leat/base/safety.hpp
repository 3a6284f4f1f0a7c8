// SPDX-License-Identifier: BSL-1.0
//
// What guards a program all the time, and can be left out of a bench build to see what it costs
// (tests/bench/cost). Never of a program that somebody relies on: CMake's LEAT_WITHOUT makes neither tests
// nor an installation, and `leat version` tells. A name stands for, when it is left out:
//
//   counters   what a channel counts for its stats: sent, received, most at once, time blocked. They read 0.
//   events     the ring of what each P did lately. Traces and dumps have none.
//   marks      an M's word that it is inside the runtime (sched/retake_gate.hpp). No P is retaken from a G that
//              does not come back, and no G is quarantined.
//   guards     the guard page below each stack, and the probes that keep large frames from stepping over it.
//              An overflow writes into the next stack.
//   overrun    the look for Gs that hang, and the flag by which they are told to come in (sched/no_quarantine.hpp).
#pragma once
#include <cstdint>
#include <string_view>
#include <type_traits>

#ifndef LEAT_WITHOUT
#define LEAT_WITHOUT ""
#endif

namespace leat {

namespace safety {

inline constexpr std::string_view left_out = LEAT_WITHOUT;
constexpr bool has(std::string_view name) { return left_out.find(name) == std::string_view::npos; }

inline constexpr bool counters = has("counters");
inline constexpr bool events = has("events");
inline constexpr bool marks = has("marks");
inline constexpr bool guards = has("guards");
inline constexpr bool overrun = has("overrun");

}  // namespace safety

// A number that is kept for reports alone, or not at all.
struct no_kept_count {
  constexpr no_kept_count(std::uint64_t = 0) noexcept {}
  constexpr operator std::uint64_t() const noexcept { return 0; }
  constexpr no_kept_count& operator++() noexcept { return *this; }
  constexpr no_kept_count& operator--() noexcept { return *this; }
};
using kept_count = std::conditional_t<safety::counters, std::uint64_t, no_kept_count>;

}  // namespace leat
