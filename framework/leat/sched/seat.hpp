// SPDX-License-Identifier: BSL-1.0
//
// The seat of an M: where it says which lock it holds without having locked it, because that lock is
// biased to it (csp/biased_lock.hpp). Seats are never freed, so that one may look at the seat of an M that has
// ended; the next M that takes it also takes over the locks that are biased to it.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/base/atom.hpp>

namespace leat::sched {

struct alignas(64) seat {
  atom<const void*> holds{nullptr};  // written by the M that has the seat
  seat* next = nullptr;              // while nobody has it
  // How many locks are not to be biased to it when they are made: one that was, was used elsewhere. A guess:
  // written by all, and a change may be lost.
  atom<std::uint32_t> wary{0};
};

// Null: no memory. An M holds nothing when it takes a seat or leaves it.
seat* take_seat() noexcept;
void leave_seat(seat& s) noexcept;

}  // namespace leat::sched
