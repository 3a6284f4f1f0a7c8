// SPDX-License-Identifier: BSL-1.0
//
// What every call into the runtime begins and ends with. Light: it is inlined into users' code.
#pragma once
#include <exception>

#include <leat/base/atom.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/m_front.hpp>
#include <leat/sched/no_quarantine.hpp>
#include <leat/sched/stop.hpp>

namespace leat::sched {

// scheduler::enter_slow, plain_thread_enters and plain_thread_leaves, for code that does not see the
// scheduler.
m_front* enter_slow(m_front* m) noexcept;
void plain_thread_enters() noexcept;
void plain_thread_leaves() noexcept;
// scheduler::ready, for a caller that has fetched the G's stack. Any thread; `m` is its M inside the runtime,
// or null.
void make_ready(m_front* m, G* g) noexcept;
// The same for a G whose wait, which a stop could have ended, the caller has claimed (interrupt.hpp).
void end_wait_and_make_ready(m_front* m, G* g) noexcept;

// Steady time as somebody last read it: sysmon while anything runs, an M that wakes, a plain thread when
// there is nobody else. Costs a load, is late by up to a nap of sysmon's.
inline atom<std::int64_t> coarse_clock{0};

// Comes in and goes out again: a G that has been fenced (fence.hpp) ends here.
void pass_gate() noexcept;

// Inside the runtime while it lives, whether its G was there before or not. For a few stores that a fenced G
// must not make any more; no user code in between.
class unfenced {
 public:
  unfenced() noexcept;
  ~unfenced();
  unfenced(const unfenced&) = delete;
  unfenced& operator=(const unfenced&) = delete;

 private:
  M* m_ = nullptr;
};

// The calling G's M inside the runtime, or null on any other thread, for which the scheduler then stays in
// being. Whoever holds it in the end leaves.
class entrance {
 public:
  [[gnu::always_inline]] entrance() noexcept {
    m_front* const here = current_front();
    if (here && (g_ = here->cur.load(std::memory_order_relaxed)) != nullptr) [[likely]] {
      // A G that has lost its P comes out of this on another thread, which then unlocks what it has not locked.
      check_no_locks_held("the runtime is entered");
      m = here->gate.enter() ? here : enter_slow(here);
    } else {
      plain_thread_enters();
    }
  }
  [[gnu::always_inline]] void leave() noexcept {
    if (m) [[likely]] {
      m->gate.leave();
    } else {
      plain_thread_leaves();
    }
  }

  G& g() const noexcept { return *g_; }
  // Has the calling G been asked to stop?
  bool stop_asked() const noexcept {
    return m && g_->stop.load(std::memory_order_relaxed) != stop_level::none;
  }

  m_front* m = nullptr;  // a G that parks comes back on another one

 private:
  G* g_ = nullptr;
};

// The same, which leaves at the end of its scope.
class entered : public entrance {
 public:
  [[gnu::always_inline]] entered() noexcept = default;
  [[gnu::always_inline]] explicit entered(const entrance& e) noexcept : entrance(e) {}
  [[gnu::always_inline]] ~entered() { leave(); }
  entered(const entered&) = delete;
  entered& operator=(const entered&) = delete;
};

// Throws `stopped`. A G that has caught that before, although its supervisor wants it out, first stays in user code
// until sysmon has put it behind the fence: else it would be there for microseconds at a time, and be seen by luck.
[[noreturn]] void throw_stopped(const G& g);

// For the end of a call, outside the runtime: a G that went on past its grace ends here. One that unwinds
// already is let be: a destructor that sends a last value must not end the program.
inline void throw_if_insisted(const G& g) {
  if (g.stop.load(std::memory_order_relaxed) == stop_level::insisted && std::uncaught_exceptions() == 0)
      [[unlikely]]
    throw_stopped(g);
}

}  // namespace leat::sched
