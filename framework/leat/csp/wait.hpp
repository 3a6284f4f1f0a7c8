// SPDX-License-Identifier: BSL-1.0
//
// The one waiter mechanism: what sends, receives, selects, locks, timeouts and stops wait with.
//
// A `wait` is one wait of one G or plain thread; a `waiter` is its entry in one queue. Both live on the
// waiting side's stack, in a plain wait side by side. Whoever has what it waits for *claims* it, gives
// it the thing, and wakes it. Exactly one claim succeeds per wait; all others, however late, find
// the state taken and do nothing.
//
// Once a wait is over, what it waited at may go before the waiting side has run again: main receives from a
// channel on its own stack and returns, and the sender wakes up after that. So whoever has been served
// touches the queue and its lock no more, nor does a stop that comes then.
//
// Plain wait (one queue, no deadline, on a G). Everything is decided under the queue's lock: the G links
// its waiter, parks, and the lock is dropped on the far side of the switch. Claiming is unlinking; a stop
// unlinks too. No atomic read-modify-write beyond the lock's. Whoever has claimed it, and dropped the lock,
// ends the wait in the eyes of stops before it wakes anybody (sched/interrupt.hpp, steps 5 to 7).
//
// Contested wait (several queues, a deadline, or a plain thread). `state` decides:
//
//   waiting side                                   claimer, with the queue's lock held
//    1 state = enrolling                            a unlinks the waiter
//    2 links a waiter into each queue, under its    b CAS enrolling or open -> its index; fails: goes on
//      lock, looking once more whether it is ready     to the next waiter in the queue
//    3 arms its timer; publishes itself to stops    c gives the thing, drops the lock
//    4 parks; on the far side CAS enrolling ->      d it was open: readies the G or signals the thread;
//      open; fails: readies itself at once             it was enrolling: step 4 or 5 will see to it
//    5 woken: takes back its timer, unlinks what
//      is still linked, under each lock
//
// Forbidden: the G runs before it has left its stack: in `enrolling` nobody readies it.
// Forbidden: it sleeps although claimed: b before 4 makes 4's CAS fail, b after 4 finds open and readies.
// Forbidden: a claimer touches the wait after the waiting side has gone on: c is under a lock that step 5
// takes before it leaves, and d reads what it needs before it wakes.
// A timer claims under its heap's lock and a stop under the G's `interrupting`; both are passed in step 5.
//
// With one queue alone the lock of step 2 is dropped after the CAS of step 4. So a claimer through the queue
// always finds `open`, and wakes the waiting side when it has dropped the lock: step 5 has nothing to unlink
// then, and takes no lock. A select keeps its channels in being instead (select.cpp).
//
// Two selects may meet while both enroll. The one that finds the other first claims itself (it may have
// been claimed through another queue), then the other. If the other is lost then, its own claim has made
// others pass it by, so it starts over from the beginning (select.cpp).
//
// Model: tests/models/wait.pml. Stress: tests/csp/property_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>
#include <span>

#include <leat/base/atom.hpp>
#include <leat/base/clock.hpp>
#include <leat/base/list.hpp>
#include <leat/base/mutex.hpp>
#include <leat/csp/biased_lock.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/thread_event.hpp>

namespace leat::csp {

using sched::entered;
using sched::entrance;
using sched::G;
using sched::m_front;
using sched::wait_reason;

// How a wait ended, or a look at what one may have to wait for: the one vocabulary of waiters, channels,
// locks and selects.
enum class ending : std::uint8_t {
  done,      // what was wanted has been given, or done
  dropped,   // a send that the policy has dropped
  full,      // there is no room, and none to wait for
  closed,    // it can never be done
  look,      // there may be something now: try again
  pending,   // not now; an enrolled case is linked
  lost,      // the wait has been claimed otherwise
  timeout,   // by a timer
  stopped,   // by a stop
  given_up,  // by the waiting side itself
};

class wait;

struct waiter {
  list_node node;  // linked: under the queue's lock
  wait* who = nullptr;
  void* slot = nullptr;        // where the value is, or goes; used by the claimer under the lock
  std::int64_t since = 0;      // coarse time of the linking
  std::int32_t index = 0;      // among those of one wait
  ending said = ending::done;  // by the claimer, under the lock
};

using waiter_list = list<waiter, &waiter::node>;

// Those who wait for one thing, first come first served. Everything under the lock of what it belongs to.
struct wait_queue {
  waiter_list list;
  std::int64_t blocked_ns = 0;  // how long those waited who are done, by the coarse clock

  bool empty() const noexcept { return list.empty(); }
  [[gnu::always_inline]] void link(waiter& w) noexcept {
    w.since = sched::coarse_clock.load(std::memory_order_relaxed);
    list.push_back(&w);
  }
  // For one that has waited before and was woken for nothing.
  void link_in_front(waiter& w) noexcept {
    w.since = sched::coarse_clock.load(std::memory_order_relaxed);
    list.push_front(&w);
  }
  [[gnu::always_inline]] void unlink(waiter& w) noexcept {
    list.remove(&w);
    if constexpr (safety::counters)
      blocked_ns += sched::coarse_clock.load(std::memory_order_relaxed) - w.since;
  }
};

// One who waits in a queue, as others see it. Pointers are for comparing only.
struct waiting_g {
  std::uint64_t g = 0;         // its id
  const void* stop = nullptr;  // the state of the stop_source that it was spawned with
  const void* wait = nullptr;  // with `since`: which wait
  std::int64_t since = 0;      // coarse time
  std::uint16_t places = 0;    // wait::places
  bool sends = false;
};
// Adds the Gs that wait in the queue behind the first n of `to`, as far as there is room; gives n plus their
// number. Under the queue's lock.
std::size_t note_waiting(const wait_queue& queue, bool sends, std::span<waiting_g> to,
                         std::size_t n) noexcept;

enum class stops : std::uint8_t { end_it, are_ignored };
enum class queue_end : std::uint8_t { back, front };

class wait {
 public:
  // A plain wait of the calling G.
  explicit wait(G& g) noexcept : g_(&g), places_(1) {}
  wait(const wait&) = delete;
  wait& operator=(const wait&) = delete;

  // Whether a claim has succeeded, and who wakes the waiting side then.
  enum class claimed : std::uint8_t { lost, wake_it, wakes_itself };

  // What a wait is claimed for: the index of a waiter, or, by one who needs none, an ending.
  static constexpr std::int32_t claim_for(ending e) noexcept { return -static_cast<std::int32_t>(e); }
  static constexpr ending ended_by(std::int32_t claim) noexcept {
    return claim < 0 ? static_cast<ending>(-claim) : ending::done;
  }

  // Steps b and d. The claimer holds the lock of the queue it took the waiter from.
  claimed try_claim(std::int32_t what) noexcept {
    if (!contested_) {
      claim_plain(what);
      return claimed::wake_it;
    }
    return claim_contested(what);
  }
  // The same for a plain wait.
  void claim_plain(std::int32_t what) noexcept { state_.store(what, std::memory_order_relaxed); }
  // The state as the waiting side sees it before it waits: has somebody claimed it meanwhile?
  bool is_claimed() const noexcept {
    const std::int32_t s = state_.load(std::memory_order_acquire);  // pairs with claim_contested
    return s != enrolling && s != open;
  }
  std::int32_t state() const noexcept { return state_.load(std::memory_order_acquire); }
  // After a plain wait: whoever claimed it readied the G afterwards.
  std::int32_t plain_state() const noexcept { return state_.load(std::memory_order_relaxed); }

  G* g() const noexcept { return g_; }
  bool contested() const noexcept { return contested_; }
  // For those who look for deadlocks: in how many queues it stands, once it does in all and nothing but what
  // they hold can end its wait, stops apart; 0: unknown, or a moment ends it.
  std::uint16_t places() const noexcept { return places_.load(std::memory_order_relaxed); }
  void note_places(std::uint16_t n) noexcept { places_.store(n, std::memory_order_relaxed); }
  // Only after a claim that said wake_it; the wait may be gone when it returns.
  void wake(m_front* m) noexcept {
    if (!contested_) [[likely]] {
      sched::end_wait_and_make_ready(m, g_);
    } else {
      wake_contested(m);
    }
  }
  // The same in two steps, for those who wake several: nobody is woken before the first is done for all.
  void end_wait(m_front* m) noexcept;
  void wake_ended(m_front* m) noexcept {
    if (!contested_) {
      sched::make_ready(m, g_);
    } else {
      wake_contested(m);
    }
  }

 protected:
  static constexpr std::int32_t enrolling = -100, open = -101;
  // A contested wait.
  explicit wait(G* g) noexcept : g_(g), contested_(true), state_(g ? enrolling : open) {}
  claimed claim_contested(std::int32_t what) noexcept;
  void wake_contested(m_front* m) noexcept;

  G* const g_;
  const bool contested_ = false;
  atom<std::uint16_t> places_{0};
  atom<std::int32_t> state_{enrolling};
};

// The lock of the one queue that a contested wait waits in, to be dropped when it has parked.
struct held_lock {
  void (*drop)(void* lock) noexcept = nullptr;
  void* lock = nullptr;
  void unlock() const noexcept {
    if (drop) drop(lock);
  }
};

class contested_wait final : public wait {
 public:
  // The wait of the calling G, or of a plain thread (null).
  explicit contested_wait(G* g) noexcept : wait(g) {}

  // Steps 3 to 5 but for the unlinking. Returns what it was claimed for.
  // The caller is inside the runtime, which `in` knows; it may come back on another M.
  std::int32_t block(entrance& in, wait_reason why, std::int64_t until, stops = stops::end_it,
                     const char* at = nullptr, held_lock held = {}) noexcept;
  // Instead of a wait, when the enrolling side has changed its mind: claimed for ending::given_up, or for what
  // somebody else has claimed it for meanwhile. Then it must still unlink itself, as after a wait.
  std::int32_t give_up() noexcept;

 private:
  friend class wait;
  std::int32_t wait_as_thread(std::int64_t until) noexcept;

  sched::thread_event event_;  // plain threads
};

// A moment as the timers count it; forever for never.
inline constexpr std::int64_t forever = std::numeric_limits<std::int64_t>::max();
// The same as a type, for what waits most: it is compiled apart, and does not ask how long.
struct without_end {
  constexpr operator std::int64_t() const noexcept { return forever; }
};
inline std::int64_t until_ns(deadline d) noexcept {
  if (d.is_never()) return forever;
  constexpr std::int64_t least = std::numeric_limits<std::int64_t>::min() + 1;  // below it: "never waits"
  const std::int64_t at = to_ns(d.at());
  return at < least ? least : at;
}

// Waits in the queue and drops the lock on the way. When it returns, the lock is not held and nothing of
// this wait is left in the queue. Any thread; `in` may come back on another M. `at` is the name of what it
// waits at, for a report of a deadlock. Gives what the claimer said, timeout or stopped.
ending wait_and_unlock(entrance& in, ranked_spinlock& lock, wait_queue& queue, void* slot, wait_reason why,
                       std::int64_t until, stops = stops::end_it, queue_end = queue_end::back,
                       const char* at = nullptr) noexcept LEAT_RELEASE(lock);
// The same for what is used most.
ending wait_and_unlock(entrance& in, biased_lock& lock, wait_queue& queue, void* slot, wait_reason why,
                       std::int64_t until, const char* at) noexcept LEAT_RELEASE(lock);

waiter* claim_first_contested(wait_queue& queue, bool& wake_it, const wait* except) noexcept;

// The frames of a plain wait lie around its waiter: what its claimer reads and writes, and what the G reads
// when it goes on. With many Gs each of their lines is a miss, and one after another, by way of the waiter,
// the G, its context and its stack pointer, they take longer than all else in a hand-over: so all are asked
// for at once, by the first that is known. For any other wait it is a few lines in vain; to ask first which
// it is would be a miss. How many there are is a matter of how the compiler lays out a plain wait (the
// distance from its stack pointer to the waiter, and on to the value): AArch64 saves more registers below it.
// One too many is worse than none: it pushes out a line that another G needs. Elsewhere it is a guess. Always
// inlined, as sched::prefetch_stack.
[[gnu::always_inline]] inline void prefetch_frames(const waiter& w) noexcept {
#if defined(__aarch64__)
  constexpr std::uintptr_t below = 4, above = 3;
#else
  constexpr std::uintptr_t below = 2, above = 2;
#endif
  constexpr std::uintptr_t line = 64;
  const std::uintptr_t first = reinterpret_cast<std::uintptr_t>(&w) - below * line;
#pragma GCC unroll 16
  for (std::uintptr_t i = 0; i <= below + above; ++i)
    if (i != below) __builtin_prefetch(reinterpret_cast<const void*>(first + i * line));
}

// Takes the first waiter that can be claimed out of the queue, or null. The caller gives it the thing under
// the same lock, drops the lock, and then wakes it if `wake_it` says so.
[[gnu::always_inline]] inline waiter* claim_first(wait_queue& queue, bool& wake_it,
                                                  const wait* except = nullptr) noexcept {
  waiter* const w = queue.list.front();
  if (!w) return nullptr;
  prefetch_frames(*w);
  if (w->who->contested()) {
    bool wake = false;  // of its own, so that the caller's can be in a register
    waiter* const claimed = claim_first_contested(queue, wake, except);
    wake_it = wake;
    return claimed;
  }
  queue.unlink(*w);
  w->who->claim_plain(w->index);
  wake_it = true;
  return w;
}

// Claims all of a queue, and tells them `said`. `woken` are those that wake_all must wake outside the lock.
void claim_all(wait_queue& queue, ending said, waiter_list& woken) noexcept;
void wake_all(m_front* m, waiter_list& woken) noexcept;

}  // namespace leat::csp
