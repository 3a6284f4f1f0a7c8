// SPDX-License-Identifier: BSL-1.0
//
// M: a thread that runs Gs. Its own stack is g0, where scheduling code runs.
#pragma once
#include <pthread.h>
#include <sys/types.h>
#include <atomic>
#include <cstdint>
#include <vector>

#include <leat/base/atom.hpp>
#include <leat/base/list.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/m_front.hpp>
#include <leat/sched/overrun_watch.hpp>
#include <leat/sched/p.hpp>
#include <leat/sched/policy/fetch.hpp>
#include <leat/sched/policy/run_next_theft.hpp>
#include <leat/sched/thread_event.hpp>

namespace leat::sched {

class scheduler;

// A function to run on g0's stack for the G that switched there (leat::blocking).
struct g0_call {
  void (*fn)(void* arg) = nullptr;
  void* arg = nullptr;
};

// How it rests, and what it is given when it is woken.
struct m_rest {
  // Parked: given a P (or told to exit) by whoever signals. Under idle_set's lock.
  thread_event event;
  P* next_p = nullptr;
  bool next_searching = false;
  std::atomic<int> last_cpu{-1};       // where it went to sleep or woke up last; it may have been moved since
  std::atomic<bool> nudged{false};     // its affinity leaves out a busy CPU for this one wake
  std::atomic<bool> unhurried{false};  // its thread has been made so (promptness.hpp)
  M* link = nullptr;                   // in idle_set's list, or in that of threads that have ended
};

// What becomes of its thread when its G is taken away.
struct m_hung {
  std::atomic<bool> frozen{false};  // stands still in its signal handler for good; written by sysmon
  // Its G has been fenced, and it does not count as a thread of ours until it is back. Written by sysmon
  // while it holds the M, then by the thread itself.
  std::atomic<bool> apart{false};
  std::atomic<bool> demoted{false};  // runs at the lowest priority; the same
  thread_class former;               // before that; the same
};

struct alignas(64) M : m_front {
  explicit M(scheduler& s) : m_front(s) {}

  // Who is to yield where it next comes in: whose slice is over, by the turn of its P, plus 1; anybody; nobody.
  static constexpr std::uint64_t nobody = 0, anybody = UINT64_MAX;
  atom<std::uint64_t> yield_asked{nobody};
  G* picked = nullptr;  // chosen by a parking G for g0 to deal with
  g0_call call;
  std::atomic<G*> caller{nullptr};  // the G for which g0 runs a blocking call
  bool searching = false;           // counted in idle_set::searching_
  bool spinning = false;            // counted in idle_set::spinning_
  std::uint32_t random = 1;
  fetch_policy fetch;
  run_next_theft_policy run_next_theft;

  // While it polls: Gs that are readied meanwhile, until it has, or gets, a P to run them on.
  bool collects = false;
  g_queue polled;

  m_rest rest;
  P* old_p = nullptr;  // the one that was retaken

  G* locked_g = nullptr;            // thread = own: runs this G only
  bool locked_over = false;         // and that one has ended
  std::atomic<pthread_t> handle{};  // written by the thread itself; by who gives it up
  std::atomic<pid_t> tid{0};
  std::atomic<bool> exited{false};  // by the thread, behind everything else that it does (thread_end.hpp)
  std::vector<G*> loot;             // room for a theft, capacity of a ring

  m_hung hung;
  probe asked;
  std::atomic<std::uintptr_t> unwinding{0};  // unwind.hpp; by the thread itself
  run_note note;
  std::int64_t cpu_counted = 0;  // sysmon: what its thread had used when a G was found on it last
  lock_wait waits;
};

// Of a front, or null: the M that it is the front of.
inline M* whole(m_front* m) noexcept { return static_cast<M*>(m); }
inline M* current_m() noexcept { return whole(current_front()); }

}  // namespace leat::sched
