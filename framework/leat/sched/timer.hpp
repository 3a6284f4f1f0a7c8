// SPDX-License-Identifier: BSL-1.0
//
// What a G that waits with a deadline puts into a heap of timers (timers.hpp).
#pragma once
#include <cstdint>

#include <leat/base/atom.hpp>
#include <leat/base/list.hpp>

namespace leat::sched {

struct G;
class timer_heap;

// One per G, armed at most once at a time, in memory that outlives every heap entry (G chunks are not freed).
struct timer {
  std::int64_t when = 0;       // set by the waiter before it parks
  G* g = nullptr;              // who waits
  timer_heap* home = nullptr;  // set by the waiter before it parks; fixed while armed
  // The number of the live entry, 0: none. Written under the lock of the heap that it is in; read under that
  // of any heap in which an entry out of date is left.
  atom<std::uint64_t> armed{0};
  // For a wait that others may end as well: called under the heap's lock when the timer is due; only if it
  // says true is the G readied. Null: always. It may take no lock and run no user code.
  bool (*claim)(void* arg) noexcept = nullptr;
  void* claim_arg = nullptr;
  list_node node;  // while it is in the list of those that found no room; under the heap's lock
};

}  // namespace leat::sched
