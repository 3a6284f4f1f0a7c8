// SPDX-License-Identifier: BSL-1.0
//
// What every call into the runtime begins and ends with. Light: it is inlined into users' code.
#pragma once
#include <exception>

#include <leat/base/atom.hpp>
#include <leat/base/safety.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/stop.hpp>

namespace leat::sched {

// scheduler::enter_slow, plain_thread_enters and plain_thread_leaves, for code that does not see the
// scheduler.
M* enter_slow(M* m) noexcept;
void plain_thread_enters() noexcept;
void plain_thread_leaves() noexcept;
// scheduler::ready, for a caller that has fetched the G's stack. Any thread; `m` is its M inside the runtime,
// or null.
void make_ready(M* m, G* g) noexcept;

// Steady time as somebody last read it: sysmon while anything runs, an M that wakes, a plain thread when
// there is nobody else. Costs a load, is late by up to sysmon's tick.
inline atom<std::int64_t> coarse_clock{0};

// sysmon suspects a G to hang: operations that need not come in shall do so for once, to show that they are
// made. Read with each of them: a whole word, which GCC tests in one instruction, and a bool in two.
inline atom<std::uint32_t> come_in{0};
inline bool must_come_in() noexcept {
  return safety::overrun && come_in.load(std::memory_order_relaxed) != 0;
}

// While it lives, the calling G is not quarantined. For operations outside the runtime that would keep others
// waiting for ever if they were cut short: a lock that is held, a waiter that was claimed and not yet woken.
// Costs a load unless sysmon suspects somebody; an operation that began before is over when it acts
// (quarantine.hpp).
G* raise_shield() noexcept;
void lower_shield(G& g) noexcept;
class shield {
 public:
  shield() noexcept : g_(must_come_in() ? raise_shield() : nullptr) {}
  ~shield() {
    if (g_) [[unlikely]]
      lower_shield(*g_);
  }
  shield(const shield&) = delete;
  shield& operator=(const shield&) = delete;

 private:
  G* const g_;
};

// The calling G's M inside the runtime, or null on any other thread, for which the scheduler then stays in
// being. Whoever holds it in the end leaves.
class entrance {
 public:
  [[gnu::always_inline]] entrance() noexcept {
    M* const here = current_m();
    if (here && (g_ = here->cur.load(std::memory_order_relaxed)) != nullptr) [[likely]] {
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

  M* m = nullptr;  // a G that parks comes back on another one

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

// For the end of a call, outside the runtime: a G that went on past its grace ends here. One that unwinds
// already is let be: a destructor that sends a last value must not end the program.
inline void throw_if_insisted(const G& g) {
  if (g.stop.load(std::memory_order_relaxed) == stop_level::insisted && std::uncaught_exceptions() == 0)
      [[unlikely]]
    throw stopped{};
}

}  // namespace leat::sched
