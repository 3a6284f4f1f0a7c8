// SPDX-License-Identifier: BSL-1.0
//
// What nobody has: idle Ps, sleeping Ms, and Gs in the global queue; and how the three come together.
//
// # Waking and sleeping: the two sides
// Variables: the rings and the global queue; idle_ps_; searching_ (Ms that hold a P and look for work,
// or have been given one to do so). idle_ps_, busy_ps_, searching_ and bursting_ change by seq_cst
// read-modify-writes.
//
// Submitter                                   | M without work
//  1 pushes the G                             |  a takes the lock, looks at the global queue
//  2 full barrier                             |  b puts its P on the idle list, idle_ps_ + 1, unlocks
//  3 reads idle_ps_ and searching_            |  c searching_ - 1 if it searched
//  4 wakes one M if a P is idle and           |  d full barrier
//    nobody searches: searching_ 0 -> 1 by    |  e looks at all rings, the global queue, the timers
//    CAS, a P from the idle list, an M for it |  f sleeps; or takes an idle P back and starts over
//
// Forbidden: the G is queued, a P is idle, and nobody searches or will look. If 3 comes before b or c, the full
// barriers make e see 1. If 3 comes after both, 4 wakes. In 4, a searcher that exists will look at
// all queues later than its own c. A searcher that finds work and was the last one passes the duty on:
// it looks whether there is more to do and wakes the next (found_work).
//
// 1 to 4: round::push_local or push, wake_after_push, wake_if_needed, wake_one. a and b: give_up_p. c to e: last_look,
// and hand_off_p for an M that cannot use its P. f: sleep. Who finds work: found_work.
//
// Bursts. A G that starts many others pays for the barrier of step 2 with each, waiting for its push to reach
// the other core. So an owner with a long ring counts itself in bursting_ and from then on uses a light
// barrier; who reads that count as not 0 after its own full barrier uses a heavy one before it looks: d (last_look,
// hand_off_p), where duty is passed on (pass_on), and at the second look of a waker (wake_one). One of the two sees
// the other: either the looker reads the count, and its heavy barrier brings out every push made so far, or the
// burst began after the looker's c, which each of its pushes then sees. It ends when the owner finds its ring empty.
//
// Work in run_next is exempt: its P runs it when the current G parks; policy/hand_off.hpp says when others come.
// So are Gs that an M stands back from, where all CPUs have an M and another one is at work: it looks again soon;
// see wake_one. So is what polling brings, unless Gs run long (policy/network_share.hpp), and a G that yields
// (queue_again in schedule.cpp). sysmon wakes somebody for what stays queued (retake). Timers of idle Ps: polling.hpp.
//
// Model: tests/models/wake.pml, with the broken variants that must fail.
// Stress: tests/sched/stress_test.cpp. Step by step, with threads stopped in between:
// tests/sched/wake_test.cpp.
//
// # The lock
// Held for a few instructions, but where Gs are moved in batches and where an M is about to sleep (it looks at all rings
// once more); never around a switch, a system call or user code.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <vector>

#include <leat/base/atom.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/global_queue.hpp>
#include <leat/sched/home_thread.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/p.hpp>

namespace leat::sched {

class scheduler;

class idle_set {
 public:
  // `cpus`: where Ms may run; none: where the calling thread may.
  idle_set(scheduler& home, const std::vector<unsigned>& cpus);

  // --- Gs without a P ------------------------------------------------------------------------------
  // To the tail; wakes somebody if need be. Any thread.
  void push(G* g) noexcept;
  enum class from : std::uint8_t { spawns, wakes };
  // What found no room in a ring. It does not wake anybody.
  void push_batch(g_queue&& batch, from what) noexcept;
  // Up to `most` for the ring of p, one of them returned; `fairly`: that one by its turn. n: how many.
  G* take(P& p, std::size_t most, bool fairly, std::int64_t now, std::uint32_t& n) noexcept;
  // Gs whose timers are due, and which found no room; then as many as find room in the ring of p, if any.
  void push_due(g_queue&& due, P* p) noexcept;
  void drop_all() noexcept;
  std::size_t queued() const noexcept { return global_size_.load(std::memory_order_relaxed); }
  // Pairs with note_size: before a look at the rings.
  std::size_t queued_before_look() const noexcept { return global_size_.load(std::memory_order_acquire); }
  std::size_t queued_due() const noexcept { return due_size_.load(std::memory_order_relaxed); }

  // --- Ps without an M -----------------------------------------------------------------------------
  // A new one, and one that had stopped.
  void add_p(P& p) noexcept;
  // Off the list: this one if it is there, else any, or none.
  P* take_p(P* preferred = nullptr) noexcept;
  // a and b. False: there is work, or the P is wanted otherwise; the M keeps it.
  bool give_up_p(M& m, P& p) noexcept;
  // At the end of the runtime.
  void release_p(M& m) noexcept;
  // A P whose M cannot use it goes to another one that can, or to the list.
  void hand_off_p(P& p, int busy_cpu = own_cpu) noexcept;
  // The owner has emptied it. False: it is wanted again, and stays.
  bool retire(M& m, P& p, g_queue&& left) noexcept;
  // The number of Ps is n from now on. What it means for p is seen to here if nobody has it, else by its owner.
  void resize(P& p, unsigned n) noexcept;
  int idle_ps() const noexcept { return idle_ps_.load(std::memory_order_relaxed); }
  // Neither idle nor stopped: held, or on the way from one M to another.
  int busy_ps(std::memory_order o = std::memory_order_relaxed) const noexcept { return busy_ps_.load(o); }
  // Exactly: no P is busy, nothing is queued, and `more` holds. With the lock held: nobody gets a P meanwhile.
  template <class F>
  bool all_quiet_and(F more) const noexcept {
    lock_guard hold(lock_);
    return busy_ps_.load(std::memory_order_seq_cst) == 0 && global_.empty() && more();
  }

  // --- Ms without a P ------------------------------------------------------------------------------
  // f. The M holds no P. Gives one, with m.searching set, or null when the thread is to end.
  P* sleep(M& m) noexcept;
  // That sleep, or block in the poller.
  unsigned idle_ms() const noexcept;
  bool any_m_sleeps() const noexcept;
  // The M of a G with a thread of its own waits for a P elsewhere (wait_locked in threads.cpp).
  void give_p(M& m, P& p) noexcept;
  P* given_p(M& m) noexcept;

  // --- Waking --------------------------------------------------------------------------------------
  // The CPU of the caller, which computes on; nobody's: the caller is about to block.
  static constexpr int own_cpu = -1, no_cpu = -2;
  void wake_if_needed(int busy_cpu = own_cpu) noexcept;
  void wake_one(int busy_cpu = own_cpu) noexcept;
  void wake_after_push(P& p) noexcept;
  void end_burst(P& p) noexcept;
  void barrier_before_look() const noexcept;
  // Finds or makes an M for the P, which is on no list. With `searching` the caller has counted it in
  // searching_. False: there is none to be had; the P is idle, the count undone. Whoever sleeps next looks
  // once more.
  bool start_m(P& p, bool searching, int busy_cpu = own_cpu) noexcept;
  void undo_nudge(M& m) const noexcept;
  static void be_prompt_again(M& m) noexcept;
  // h of polling.hpp, on sysmon's thread. `long_run`: some G has computed for a while.
  void watch_the_rest(bool long_run) noexcept;
  const home_thread& threads_from() const noexcept { return threads_from_; }
  std::uint64_t wakes() const noexcept { return wakes_.load(std::memory_order_relaxed); }

  // --- Searching -----------------------------------------------------------------------------------
  bool anybody_searches() const noexcept { return searching_.load(std::memory_order_relaxed) != 0; }
  void begin_search(M& m) noexcept {
    m.searching = true;
    searching_.fetch_add(1, std::memory_order_seq_cst);
  }
  // c. True: this was the last one that searched.
  bool stop_searching(M& m) noexcept;
  // The M, which holds a P, has something to run. If it searched, and was the last, it passes the duty on.
  void found_work(M& m) noexcept {
    if (m.searching) [[unlikely]]
      pass_on(m);
  }
  // c to e, of an M that has given up its P. A P to take back, m.searching set; null: it may sleep.
  P* last_look(M& m) noexcept;
  // False: `limit` Ms spin already.
  bool try_spin(M& m, int limit) noexcept;
  int spinning() const noexcept { return spinning_.load(std::memory_order_relaxed); }
  int most_spinning() const noexcept { return most_spinning_.load(std::memory_order_relaxed); }
  // An M that stands back (steal.cpp). False: it may not (policy/fetch.hpp).
  bool begin_nap() noexcept;
  void end_nap() noexcept { napping_.fetch_sub(1, std::memory_order_relaxed); }

 private:
  void push_p(P& p) noexcept LEAT_REQUIRES(lock_);
  P* pop_p(P* preferred = nullptr) noexcept LEAT_REQUIRES(lock_);
  M* claim_m(P& p, bool searching, bool& polls) noexcept LEAT_REQUIRES(lock_);
  void note_size() noexcept LEAT_REQUIRES(lock_) {
    // Release: a G that left the queue for a ring is in that ring for whoever reads the smaller size.
    due_size_.store(global_.size_due(), std::memory_order_relaxed);
    global_size_.store(global_.size(), std::memory_order_release);
  }
  void nudge(M& m, int busy_cpu) noexcept;
  void pass_on(M& m) noexcept;
  // What e looks at: a G is queued.
  bool any_queued() const noexcept;
  // There may be something for another M, now or later: that, a timer, or the network.
  bool work_visible() const noexcept;

  scheduler& home_;
  const home_thread threads_from_;
  std::atomic<std::uint64_t> wakes_{0};

  alignas(64) atom<int> idle_ps_{0};
  atom<int> busy_ps_{0};
  atom<int> searching_{0};
  atom<int> bursting_{0};  // Ps whose owners push without full barriers
  atom<int> napping_{0};   // Ms that stand back; busy_ps_ counts them too
  atom<int> spinning_{0};
  atom<int> most_spinning_{0};
  atom<std::size_t> global_size_{0};
  atom<std::size_t> due_size_{0};  // the part of it that is due

  alignas(64) mutable ranked_spinlock lock_{lock_rank::scheduler, "scheduler"};
  global_queue global_ LEAT_GUARDED_BY(lock_);
  P* p_list_ LEAT_GUARDED_BY(lock_) = nullptr;
  M* m_list_ LEAT_GUARDED_BY(lock_) = nullptr;
  unsigned n_ms_ LEAT_GUARDED_BY(lock_) = 0;
  M* poller_ LEAT_GUARDED_BY(lock_) = nullptr;  // the one that blocks in the poller
};

}  // namespace leat::sched
