// SPDX-License-Identifier: BSL-1.0
//
// While one of these lives, the G that made it is not quarantined: the guards of fence.hpp. Light: they are inlined into
// users' code.
#pragma once
#include <atomic>

#include <leat/base/atom.hpp>
#include <leat/base/safety.hpp>
#include <leat/sched/m_front.hpp>

namespace leat::sched {

// sysmon suspects a G to hang: operations that need not come in shall do so for once, to show that they are
// made. Read with each of them: a whole word, which GCC tests in one instruction, and a bool in two.
inline atom<std::uint32_t> come_in{0};
inline bool must_come_in() noexcept {
  return safety::overrun && come_in.load(std::memory_order_relaxed) != 0;
}

// While it lives, the calling G is not quarantined. For operations outside the runtime that would keep others
// waiting for ever if they were cut short: a lock that is held, a waiter that was claimed and not yet woken.
// Costs a load unless sysmon suspects somebody; an operation that began before is over when it acts
// (fence.hpp).
G* begin_no_quarantine() noexcept;
void end_no_quarantine(G& g) noexcept;
// The count itself, by the G alone. What was done comes before it falls: release, pairs with overrun_patrol::fence.
inline void count_no_quarantine(G& g, int by) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  g.no_quarantine.store(static_cast<std::uint8_t>(g.no_quarantine.load(std::memory_order_relaxed) + by),
                        std::memory_order_release);
  std::atomic_signal_fence(std::memory_order_seq_cst);
}
class no_quarantine {
 public:
  no_quarantine() noexcept : g_(must_come_in() ? begin_no_quarantine() : nullptr) {}
  ~no_quarantine() {
    if (g_) [[unlikely]]
      end_no_quarantine(*g_);
  }
  no_quarantine(const no_quarantine&) = delete;
  no_quarantine& operator=(const no_quarantine&) = delete;

 private:
  G* const g_;
};

// The same outside the runtime for what lasts as long as somebody else's code does: a value that is moved into a ring or
// out of it. It counts before come_in is read. sysmon raises that first and looks at the count then, with a heavy
// barrier in between: so it sees the one, or whoever counts sees the other, and begins nothing. Both store constants:
// to count up and down would make each value wait for the last.
// Null: no G runs here, or it counts already; what it wants to do it does inside the runtime.
[[gnu::always_inline]] inline G* count_outside() noexcept {
  G* const g = current_g();
  if (!g || g->no_quarantine.load(std::memory_order_relaxed) != 0) [[unlikely]]
    return nullptr;
  g->no_quarantine.store(1, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  return g;
}
[[gnu::always_inline]] inline void end_count_outside(G& g) noexcept {
  std::atomic_signal_fence(std::memory_order_seq_cst);
  g.no_quarantine.store(0, std::memory_order_release);  // as in count_no_quarantine
}

// The same for one who only looks, at a channel's size or its figures. That is no sign of life: it passes the gate.
G* begin_look() noexcept;
class unbroken_look {
 public:
  unbroken_look() noexcept : g_(must_come_in() ? begin_look() : nullptr) {}
  ~unbroken_look() {
    if (g_) [[unlikely]]
      end_no_quarantine(*g_);
  }
  unbroken_look(const unbroken_look&) = delete;
  unbroken_look& operator=(const unbroken_look&) = delete;

 private:
  G* const g_;
};

// One that counts also while sysmon suspects nobody, for what takes longer than a moment: it is not known to be
// over when sysmon acts.
G* begin_lasting_no_quarantine() noexcept;
class lasting_no_quarantine {
 public:
  lasting_no_quarantine() noexcept : g_(begin_lasting_no_quarantine()) {}
  ~lasting_no_quarantine() {
    if (g_) end_no_quarantine(*g_);
  }
  lasting_no_quarantine(const lasting_no_quarantine&) = delete;
  lasting_no_quarantine& operator=(const lasting_no_quarantine&) = delete;

 private:
  G* const g_;
};

// One T for the program, made at its first use and never destroyed. The others wait for whoever makes it.
template <class T>
class made_once {
 public:
  // `make` returns a T&, and is called once, unless it throws.
  template <class F>
  T& get(F make) {
    if (T* const made = made_.load(std::memory_order_acquire)) return *made;  // pairs with the store
    const lasting_no_quarantine unbroken;
    static T& one = make();
    made_.store(&one, std::memory_order_release);
    return one;
  }

 private:
  std::atomic<T*> made_{nullptr};
};

}  // namespace leat::sched
