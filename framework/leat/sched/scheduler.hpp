// SPDX-License-Identifier: BSL-1.0
//
// The scheduler: Gs on Ms with Ps, after Go's design. Public API: spawn.hpp, run.hpp, time.hpp and
// others beside this file; this header is for the layers above, not for users.
//
// # The walk of a G
// spawn (spawn.hpp) -> pooled G -> ring of the current P -> find_runnable or next_local -> runs ->
// park(after) -> ready -> ... -> finish -> pool. A parking G switches straight to the next one in its
// P's run_next or ring; g0 is entered when there is none, and in the 61st round.
//
// # Waking and sleeping: the two sides
// Variables: the rings and the global queue; idle_ps_; searching_ (Ms that hold a P and look for work,
// or have been given one to do so). All counters change by seq_cst read-modify-writes.
//
// Submitter                                    M without work
//  1 pushes the G                               a takes the lock, looks at the global queue
//  2 full barrier                               b puts its P on the idle list, idle_ps_ + 1, unlocks
//  3 reads idle_ps_ and searching_              c searching_ - 1 if it searched
//  4 wakes one M if a P is idle and             d full barrier
//    nobody searches: searching_ 0 -> 1 by CAS, e looks at all rings, the global queue, the timers
//    a P from the idle list, an M for it        f sleeps; or takes an idle P back and starts over
//
// Forbidden: the G is queued, a P is idle, and everybody sleeps. If 3 comes before b or c, the full
// barriers make e see 1. If 3 comes after both, 4 wakes. In 4, a searcher that exists will look at
// all queues later than its own c. A searcher that finds work and was the last one passes the duty on:
// it looks whether there is more to do and wakes the next (found_work).
//
// Bursts. A G that starts many others pays for the barrier of step 2 with each, waiting for its push to reach
// the other core. So an owner with a long ring counts itself in bursting_ and from then on uses a light
// barrier; who reads that count as not 0 after its own full barrier uses a heavy one before it looks (d, and
// where duty is passed on). One of the two sees the other: either the looker reads the count, and its heavy
// barrier brings out every push made so far, or the burst began after the looker's c, which each of its
// pushes then sees. It ends when the owner finds its ring empty.
//
// Work in run_next is exempt: its P runs it when the current G parks; see hand_off for when others come.
// So are Gs that an M stands back from, where all CPUs have an M: it looks again soon; see wake_one.
//
// Model: tests/models/wake.pml, with the broken variants that must fail.
// Stress: tests/sched/stress_test.cpp. Step by step, with threads stopped in between:
// tests/sched/wake_test.cpp.
//
// # Locks
// lock_ (rank scheduler) guards the global queue, the idle lists and the thread list. Held for a few
// instructions; never around a switch, a system call or user code.
#pragma once
#include <sched.h>
#include <atomic>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include <leat/base/atom.hpp>
#include <leat/base/clock.hpp>
#include <leat/base/mutex.hpp>
#include <leat/fiber/census.hpp>
#include <leat/fiber/stack_pool.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/global_queue.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/options.hpp>
#include <leat/sched/p.hpp>
#include <leat/sched/poller.hpp>

namespace leat::sched {

class scheduler {
 public:
  explicit scheduler(const runtime_options& options);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // The one that is running, or null. At most one at a time.
  static scheduler* current() noexcept { return current_.load(std::memory_order_seq_cst); }
  // False: another one is running, or has not ended yet.
  static bool make_current(scheduler& s) noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) return false;  // pairs with make_none_current
    current_.store(&s, std::memory_order_seq_cst);                       // see use_poller
    return true;
  }
  // Returns when no plain thread is inside a call that began before. No other can become current earlier, so
  // that a call finds either the one it began with, or none.
  static void make_none_current() noexcept;
  // A plain thread may enter again while it is inside.
  static void plain_thread_enters() noexcept;
  static void plain_thread_leaves() noexcept;

  // On the main G, when the user's main has returned: stops the others and ends the runtime.
  void end_from_main();

  // Runs `main_g` and everything it spawns; the calling thread becomes sysmon. Returns when main_g has
  // ended and the rest has, or was given up. False: some threads run on; the scheduler must be leaked.
  bool run(G* main_g);
  // When it is not current any more and all its threads have ended: frees it, at once or with the last G that
  // a task handle holds.
  static void leave_behind(std::unique_ptr<scheduler> s) noexcept;
  const std::exception_ptr& main_failure() const noexcept { return main_failure_; }
  // A signal handler asks sysmon to print all Gs.
  void ask_for_dump() noexcept {
    dump_asked_.store(true, std::memory_order_relaxed);
    sysmon_event_.signal();
  }

  // --- For API functions, on a G -------------------------------------------------------------------
  // Marks the entry into the runtime. The caller is a G on `m`; returns the M it is on afterwards,
  // which differs when the P had been retaken.
  static M* enter(M* m) noexcept {
    if (m->gate.enter()) [[likely]]
      return m;
    return enter_slow(m);
  }
  static M* enter_slow(M* m) noexcept;
  static void leave(M* m) noexcept { m->gate.leave(); }

  // Leaves the current G waiting. `after(arg)` runs when its stack has been left: there it becomes
  // visible to whoever may ready it, usually by dropping a lock. Returns on the M it was resumed on.
  M* park(M* m, wait_reason why, fiber::after_fn after, void* arg) noexcept;
  M* park_here(M* m, G& g, wait_reason why, fiber::after_fn after, void* arg) noexcept;  // next_local.hpp
  // Makes a waiting G runnable. Any thread; `m` is the caller's M inside the runtime, or null.
  void ready(M* m, G* g) noexcept;
  // Not waking: the G has nothing to do yet, so it is no reason to wake another M.
  M* yield(M* m, bool waking = true) noexcept;
  // Until the deadline or a stop. False: stopped.
  bool sleep_until(std::int64_t when);
  void arm_timer(M& m, G& g) noexcept;
  // For a wait that others may end too: when it is due, claim(arg) decides whether g is readied. After disarm
  // has returned, the claim is not called any more.
  void arm_claim(M& m, G& g, std::int64_t when, bool (*claim)(void*) noexcept, void* arg) noexcept;
  void disarm(G& g) noexcept;
  // Runs fn on g0's stack, without a P if others need it (scenario 10).
  M* call_blocking(M* m, void (*fn)(void*), void* arg) noexcept;

  // A G from the pools, status idle, to be filled in and given to submit. Null: no memory.
  G* new_g(M* m) noexcept;
  void submit(M* m, G* g) noexcept;
  // A plain thread will submit a G: it is counted as alive from now on, so the end of main waits for it.
  // False: main has returned.
  bool admit_foreign_g() noexcept;
  // It will not, after all.
  void dismiss_foreign_g() noexcept { foreign_finished_.fetch_add(1, std::memory_order_release); }
  // Frees a dead G that nobody refers to.
  void recycle(M* m, G* g) noexcept;
  // The same for a G whose runtime is no longer the current one.
  static void recycle_late(G& g) noexcept;

  // --- Stopping ------------------------------------------------------------------------------------
  void stop(M* m, G* g, stop_level level) noexcept;
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

  // --- Settings and reports ------------------------------------------------------------------------
  const runtime_options& options() const noexcept { return options_; }
  unsigned procs() const noexcept { return procs_.load(std::memory_order_relaxed); }
  void set_procs(unsigned n);
  std::uint64_t live() const noexcept;
  runtime_stats stats() const;
  std::vector<event> events() const;
  std::string trace_line() const;
  // All Gs with status, reason and back-trace, to a file descriptor. Takes no lock, does not allocate;
  // sysmon's does, for names that can be read. When all are stuck, the names of what they wait for are there
  // as well.
  enum class dump_by : unsigned char { anybody, sysmon, sysmon_when_stuck };
  void dump(int fd, dump_by whom = dump_by::anybody) const noexcept;
  fiber::census& stack_census() noexcept { return census_; }
  std::int64_t coarse_now() const noexcept { return coarse_now_.load(std::memory_order_relaxed); }
  // While held, "everybody waits" is no deadlock: a plain thread will send something.
  void expect_foreign(int by) noexcept {
    foreign_.fetch_add(by, std::memory_order_seq_cst);
    if (by < 0) sysmon_event_.signal();
  }
  G* find_g(std::uint64_t id) const noexcept;
  // For a plain thread that is about to wait for I/O: sees to it that somebody polls while a P is idle.
  void expect_io() noexcept;
  // Gs that wait for I/O, from before they wait until they run again, and plain threads.
  std::uint64_t io_waits() const noexcept;
  // From now on, instead of the one before. It outlives the scheduler.
  void use(poller& p) noexcept;

  // A guarded G is spawned; its watch is there. And it ends, unless it was quarantined. On the G's own
  // thread, or before it runs.
  void add_guarded(const G& g) noexcept;
  static void leave_guard(G& g) noexcept;
  // For an M that comes in without the G it ran, and has lost its P meanwhile.
  void back_without_g() noexcept { without_p_.fetch_sub(1, std::memory_order_seq_cst); }

  // Called on a G's stack by the first frame of every G.
  static void g_main(fiber::thread& t, void* arg);

 private:
  friend class sysmon;
  friend class overrun_patrol;
  friend void make_ready(M* m, G* g) noexcept;

  // schedule.cpp and next_local.hpp: one round
  G* next_local(M& m, P& p) noexcept;
  bool round_is_special(P& p) noexcept;
  G* find_runnable(M& m) noexcept;
  G* found_work(M& m, G* g) noexcept;
  G* take_global(M& m, P& p, bool one) noexcept;
  enum class queued_as : std::uint8_t { spawned, woken };
  void push_local(P& p, G* g, queued_as) noexcept;
  void hand_off(P& p, G* g) noexcept;
  void wake_for_hand_off(P& p) noexcept;
  void ready_here(M* m, G* g) noexcept;
  void ready_without_p(G* g) noexcept;
  static void judge_theft(P& p) noexcept;
  static void queue_again(void* arg) noexcept;
  static void queue_again_and_wake(void* arg) noexcept;
  void push_global(G* g) noexcept;
  void note_global_size_locked() noexcept LEAT_REQUIRES(lock_) {
    // Release: a G that left the queue for a ring is in that ring for whoever reads the smaller size.
    due_size_.store(global_.size_due(), std::memory_order_relaxed);
    global_size_.store(global_.size(), std::memory_order_release);
  }
  bool try_spin(M& m) noexcept;
  bool stop_searching(M& m) noexcept;
  bool work_visible(const P* except, bool io) const noexcept;
  std::int64_t earliest_timer() const noexcept;
  M* requeue(M* m) noexcept;
  void switch_away(M& m, P* p, G& g, event_kind why, std::uint8_t detail, fiber::after_fn after,
                   void* arg) noexcept;

  // steal.cpp: what is fetched from elsewhere
  G* steal(M& m, P& thief, int passes) noexcept;
  G* steal_run_next(P& victim) noexcept;
  static void note_fetched(M& m, const P& p, std::uint32_t many) noexcept;
  bool stand_back(M& m, P& p) noexcept;
  bool run_due_timers(M* m, P& of) noexcept;

  // idle.cpp: sleeping and waking
  static constexpr int own_cpu = -1;
  void wake_one(int busy_cpu = own_cpu) noexcept;
  void wake_after_push(P& p) noexcept;
  void end_burst(P& p) noexcept;
  void barrier_before_look() const noexcept;
  void wake_if_needed(int busy_cpu = own_cpu) noexcept;
  void hand_off_p(P& p, int busy_cpu = own_cpu) noexcept;
  bool start_m(P& p, bool searching, int busy_cpu = own_cpu) noexcept;
  M* claim_m_locked(P& p, bool searching, bool& polls) noexcept LEAT_REQUIRES(lock_);
  void nudge(M& m, int busy_cpu) noexcept;
  void undo_nudge(M& m) const noexcept;
  static void be_prompt_again(M& m) noexcept;
  void acquire_p(M& m, P& p) noexcept;
  P* pop_idle_p_locked(P* preferred = nullptr) noexcept LEAT_REQUIRES(lock_);
  void push_idle_p_locked(P& p) noexcept LEAT_REQUIRES(lock_);
  void release_p(M& m) noexcept;
  bool sleep_m(M& m) noexcept;
  void wait_as_poller(M& m) noexcept;
  poller& network() const noexcept { return *poller_.load(std::memory_order_acquire); }  // pairs with use
  bool io_expected() const noexcept { return io_waits() > 0 || network().has_callbacks(); }
  void poll(M& m) noexcept;
  bool take_polled(M& m, P& p) noexcept;
  static void begin_stretch(P& p) noexcept;
  static void judge_stretch(P& p) noexcept;
  void look_for_deadlock() noexcept;
  void note_timer(std::int64_t when) noexcept;

  // threads.cpp: the life of an M
  M* new_thread(P* p, bool searching, G* locked) noexcept;
  static void* thread_main(void* arg);
  void thread_ended(M& m) noexcept;
  void g0_loop(M& m) noexcept;
  void run_g(M& m, G* g) noexcept;
  bool give_stack(M& m, G& g) noexcept;
  fiber::stack* stack_for(P& p, const G& g, fiber::stack_error& error) noexcept;
  void run_call(M& m) noexcept;
  void start_locked(M& m, G* g) noexcept;
  void wait_locked(M& m) noexcept;
  M* rejoin(M* m) noexcept;
  void apply_own_thread(const G& g) const noexcept;

  // resize.cpp
  bool retire_p(M& m, P& p) noexcept;

  // g_pool.cpp
  using g_stack = stack_list<G, &G::link>;
  void refill_gs(g_stack& into, std::size_t most) noexcept;
  void spill_gs(g_stack& from) noexcept;
  static void fail_to_start(M& m, G& g, std::exception_ptr why) noexcept;
  static void publish_end(M& m, G& g) noexcept;
  void wake_joiner(M* m, std::uintptr_t waiter) noexcept;
  static void after_finish(void* arg) noexcept;
  G* end_g(M& m, G& g) noexcept;
  void take_census(const G& g, const fiber::stack& s) noexcept;

  // runtime.cpp
  void stop_all(stop_level level) noexcept;
  void wait_for_others(std::int64_t until);
  bool shut_down_threads() noexcept;
  bool take_last_p(M& m) noexcept;
  bool all_gs_free() const noexcept;
  template <class F>
  void each_g(F f) const noexcept {
    const std::size_t n = n_chunks_.load(std::memory_order_acquire);
    for (std::size_t c = 0; c < n; ++c) {
      G* const gs = chunks_[c].load(std::memory_order_relaxed);
      for (std::size_t i = 0; i < chunk_gs; ++i) f(gs[i]);
    }
  }
  template <class F>
  void each_p(F f) const noexcept {
    const unsigned n = all_ps_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < n; ++i) f(*ps_[i].load(std::memory_order_acquire));
  }

  // Without the lock: the list has room for all from the start, and an M is never taken out.
  template <class F>
  void each_m(F f) const noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    const unsigned n = n_ms_.load(std::memory_order_acquire);
    for (unsigned i = 0; i < n; ++i) f(*ms_.data()[i]);
  }

  static std::atomic<scheduler*> current_;
  static std::atomic<bool> taken_;
  // Plain threads that are inside, by the time when they entered: make_none_current waits for one half, while
  // those who come later count in the other.
  static std::atomic<int> plain_threads_[2];
  static std::atomic<unsigned> entering_in_;

  const runtime_options options_;
  sleep_poller own_poller_;
  std::atomic<poller*> poller_;  // own_poller_, until the network comes into use
  fiber::stack_region* default_stacks_ = nullptr;
  fiber::census census_;
  cpu_set_t cpus_;  // where Ms may run

  std::atomic<unsigned> procs_{0};
  std::atomic<unsigned> all_ps_{0};  // ever made; those beyond procs_ are stopped or stopping
  std::unique_ptr<std::atomic<P*>[]> ps_;
  unsigned spin_limit() const noexcept;

  alignas(64) atom<int> idle_ps_{0};
  atom<int> busy_ps_{0};  // neither idle nor stopped: held, or on the way from one M to another
  atom<int> searching_{0};
  atom<int> bursting_{0};  // Ps whose owners push without full barriers
  atom<int> napping_{0};   // Ms that stand back (steal.cpp); always fewer than are at work
  atom<int> spinning_{0};
  atom<int> most_spinning_{0};
  atom<std::size_t> global_size_{0};
  atom<std::size_t> due_size_{0};  // the part of it that is due

  alignas(64) mutable ranked_spinlock lock_{lock_rank::scheduler, "scheduler"};
  global_queue global_ LEAT_GUARDED_BY(lock_);
  P* idle_p_list_ LEAT_GUARDED_BY(lock_) = nullptr;
  M* idle_m_list_ LEAT_GUARDED_BY(lock_) = nullptr;
  unsigned idle_ms_ LEAT_GUARDED_BY(lock_) = 0;
  M* poller_m_ LEAT_GUARDED_BY(lock_) = nullptr;
  std::vector<std::unique_ptr<M>> ms_
      LEAT_GUARDED_BY(lock_);      // Ms are used again, never freed: askers hold stale pointers
  std::atomic<unsigned> n_ms_{0};  // written under lock_
  M* ended_m_list_ LEAT_GUARDED_BY(lock_) = nullptr;
  unsigned live_ms_ LEAT_GUARDED_BY(lock_) = 0;

  std::atomic<std::int64_t> poll_until_{0};  // while an M blocks in the poller: until when; else 0
  std::atomic<std::int64_t> last_poll_{0};
  std::atomic<int> without_p_{0};  // Gs that run on although their P was retaken
  std::atomic<int> foreign_{0};
  std::atomic<int> guarded_{0};                             // Gs with a guard
  std::atomic<std::int64_t> shortest_hang_{1'000'000'000};  // of all guards so far
  std::atomic<unsigned> quarantined_{0};                    // written by sysmon, as is
  std::atomic<unsigned> frozen_{0};
  std::atomic<bool> stopping_{false};  // main has returned; written under lock_
  std::atomic<bool> done_{false};
  static constexpr atom<std::int64_t>& coarse_now_ = coarse_clock;
  std::atomic<std::uint64_t> foreign_spawned_{0};
  std::atomic<std::uint64_t> foreign_finished_{0};
  std::atomic<std::uint64_t> wakes_{0};
  std::atomic<std::int64_t> thread_limit_hit_{0};  // when max_threads first refused a thread; 0: never
  bool left_behind_ = false;                       // g_pool.cpp
  G* main_g_ = nullptr;
  std::exception_ptr main_failure_;  // it could not even start

  // Gs are made in chunks that live as long as the scheduler: reports may read them at any time.
  static constexpr std::size_t chunk_gs = 128;
  static constexpr std::size_t max_chunks = std::size_t{1} << 17;
  ranked_spinlock pool_lock_{lock_rank::thread_list, "G pool"};
  g_stack pool_ LEAT_GUARDED_BY(pool_lock_);
  std::unique_ptr<std::atomic<G*>[]> chunks_;
  std::atomic<std::size_t> n_chunks_{0};
  std::atomic<std::uint64_t> ids_{1};

  // sysmon
  thread_event sysmon_event_;
  std::atomic<bool> sysmon_deep_{false};
  std::atomic<bool> dump_asked_{false};
};

}  // namespace leat::sched
