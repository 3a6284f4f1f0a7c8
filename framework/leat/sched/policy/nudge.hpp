// SPDX-License-Identifier: BSL-1.0
//
// Is an M kept off a CPU when it is woken?
//
// Kernels that see no shared cache (small boards, virtual machines) wake a thread on the CPU where it slept even if
// the waker is busy there and others are idle: it then runs when the waker is done, which is too late. So an M that
// slept on the busy CPU is kept off it for this wake. It sleeps, so nothing has to be moved.
//
// For the row wake_busy, on machines of that kind. A pure function.
#pragma once
#include <sched.h>
#include <optional>

namespace leat::sched {

// Where the M may run for this wake; none: wherever it may run anyway. `busy` and `slept_on` below 0: not known.
inline std::optional<cpu_set_t> kept_off(int busy, int slept_on, const cpu_set_t& allowed) noexcept {
  if (busy < 0 || slept_on != busy || !CPU_ISSET(static_cast<unsigned>(busy), &allowed)) return std::nullopt;
  cpu_set_t others = allowed;
  CPU_CLR(static_cast<unsigned>(busy), &others);
  if (CPU_COUNT(&others) == 0) return std::nullopt;
  return others;
}

}  // namespace leat::sched
