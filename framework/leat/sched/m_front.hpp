// SPDX-License-Identifier: BSL-1.0
//
// The front of an M: what calls into the runtime touch first. They are inlined into users' code, which need not know
// more of an M than this; all else of it is in m.hpp.
#pragma once
#include <leat/base/atom.hpp>
#include <leat/fiber/fiber.hpp>
#include <leat/fiber/thread_slot.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/retake_gate.hpp>
#include <leat/sched/seat.hpp>

namespace leat::sched {

struct M;
struct P;
class scheduler;

struct m_front : fiber::thread {
  explicit m_front(scheduler& s) : sched(s) {}
  m_front(const m_front&) = delete;
  m_front& operator=(const m_front&) = delete;

  scheduler& sched;
  seat* const locks = take_seat();  // null: no memory; such an M is never run
  unsigned id = 0;
  retake_gate gate;
  atom<P*> p{nullptr};    // written by the thread itself; by sysmon when it keeps the P
  atom<G*> cur{nullptr};  // written by the thread; read by reports

 protected:
  ~m_front() {
    if (locks) leave_seat(*locks);
  }
};

// Null on threads that are no M. Read anew after every switch: see fiber/thread_slot.hpp.
inline m_front* current_front() noexcept { return static_cast<m_front*>(fiber::thread_slot::load()); }
// Null where no G runs: on other threads, on g0, in a declared blocking call.
inline G* current_g() noexcept {
  const m_front* const m = current_front();
  return m ? m->cur.load(std::memory_order_relaxed) : nullptr;
}

}  // namespace leat::sched
