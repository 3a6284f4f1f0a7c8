// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/seat.hpp>

#include <mutex>
#include <new>

namespace leat::sched {
namespace {

// The lock also orders what the last M in a seat did before what the next one does.
struct {
  std::mutex lock;
  seat* free = nullptr;
} seats;

}  // namespace

seat* take_seat() noexcept {
  {
    const std::lock_guard hold(seats.lock);
    if (seat* const s = seats.free) {
      seats.free = s->next;
      s->wary.store(0, std::memory_order_relaxed);
      return s;
    }
  }
  return new (std::nothrow) seat;  // never freed
}

void leave_seat(seat& s) noexcept {
  const std::lock_guard hold(seats.lock);
  s.next = seats.free;
  seats.free = &s;
}

}  // namespace leat::sched
