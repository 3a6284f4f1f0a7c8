// SPDX-License-Identifier: BSL-1.0
//
// The scheduler: Gs on Ms with Ps, after Go's design. Public API: spawn.hpp, run.hpp, time.hpp and
// others beside this file; this header is for the layers above, not for users.
//
// # Its parts
// Each owns its state and says its contract in its header:
//   idle_set          idle Ps, sleeping Ms, the global queue; the wake protocol
//   p_table           all Ps
//   thread_table      all Ms
//   g_store           all Gs
//   polling           who blocks in the poller, and until when
//   sysmon_mailbox    what others want of sysmon
//   quarantine_counts who is guarded, wanted out, fenced, frozen
//   current_scheduler which scheduler runs, and plain threads inside of it
//   population        how many Gs there are, and who else could wake one
// What is done with them: round.hpp (where the next G comes from), life.hpp (how an M and a G live and end),
// report.hpp (what is reported).
#pragma once
#include <atomic>
#include <cstdint>
#include <exception>
#include <memory>

#include <leat/base/atom.hpp>
#include <leat/base/clock.hpp>
#include <leat/base/mutex.hpp>
#include <leat/fiber/census.hpp>
#include <leat/fiber/stack_pool.hpp>
#include <leat/sched/current.hpp>
#include <leat/sched/entered.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/g_store.hpp>
#include <leat/sched/idle_set.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/options.hpp>
#include <leat/sched/p.hpp>
#include <leat/sched/p_table.hpp>
#include <leat/sched/polling.hpp>
#include <leat/sched/population.hpp>
#include <leat/sched/quarantine_counts.hpp>
#include <leat/sched/sysmon_mailbox.hpp>
#include <leat/sched/thread_table.hpp>

namespace leat::sched {

class world;

class scheduler {
 public:
  explicit scheduler(const runtime_options& options);
  ~scheduler();
  scheduler(const scheduler&) = delete;
  scheduler& operator=(const scheduler&) = delete;

  // The one that is running, or null.
  static scheduler* current() noexcept { return current_scheduler::get(); }

  // On the main G, when the user's main has returned: stops the others and ends the runtime.
  void end_from_main();

  // Runs `main_g` and everything it spawns; the calling thread becomes sysmon. Returns when main_g has
  // ended and the rest has, or was given up. False: some threads run on; the scheduler must be kept.
  bool run(G* main_g);
  // When it is not current any more and all its threads have ended: frees it, at once or with the last G that
  // a task handle holds. One that had quarantined Gs is kept for good.
  static void leave_behind(std::unique_ptr<scheduler> s) noexcept;
  // When some threads run on: they come back to a scheduler that exists, and stop there for good.
  static void keep_for_good(std::unique_ptr<scheduler> s) noexcept;
  const std::exception_ptr& main_failure() const noexcept { return main_failure_; }

  // --- For API functions, on a G -------------------------------------------------------------------
  // Marks the entry into the runtime. The caller is a G on `m`; returns the M it is on afterwards,
  // which differs when the P had been retaken.
  static M* enter(M* m) noexcept {
    check_no_locks_held("the runtime is entered");
    if (m->gate.enter()) [[likely]]
      return m;
    return enter_slow(m);
  }
  static M* enter_slow(M* m) noexcept;
  // The same for a few stores that a fenced G must not make, and that are no sign of life (retake_gate::pass).
  static M* pass(M* m) noexcept;
  static void leave(M* m) noexcept { m->gate.leave(); }

  // Leaves the current G waiting. `after(arg)` runs when its stack has been left: there it becomes
  // visible to whoever may ready it, usually by dropping a lock. Returns on the M it was resumed on.
  M* park(M* m, wait_reason why, fiber::after_fn after, void* arg) noexcept;
  M* park_here(M* m, G& g, wait_reason why, fiber::after_fn after, void* arg) noexcept;  // next_local.hpp
  // Makes a waiting G runnable. Any thread; `m` is the caller's M inside the runtime, or null.
  void ready(M* m, G* g) noexcept;
  void ready_here(M* m, G* g) noexcept;  // the same inlined, in schedule.cpp alone
  // `waking` false: the G has nothing to do yet, so it is no reason to wake another M.
  M* yield(M* m, bool waking = true) noexcept;
  // Until the deadline or a stop. False: stopped.
  bool sleep_until(std::int64_t when);
  void arm_timer(M& m, G& g) noexcept;
  // For a wait that others may end too: when it is due, claim(arg) decides whether g is readied. After disarm
  // has returned, the claim is not called any more.
  void arm_claim(M& m, G& g, std::int64_t when, bool (*claim)(void*) noexcept, void* arg) noexcept;
  void disarm(G& g) noexcept;
  // Runs fn on g0's stack, without a P if others need it.
  M* call_blocking(M* m, void (*fn)(void*), void* arg) noexcept;

  // A G from the pools, status idle, to be filled in and given to submit. Null: no memory.
  G* new_g(M* m) noexcept;
  void submit(M* m, G* g) noexcept;
  // A plain thread will submit a G: it is counted as alive from now on, so the end of main waits for it.
  // False: main has returned.
  bool admit_foreign_g() noexcept;
  // Frees a dead G that nobody refers to.
  void recycle(M* m, G* g) noexcept;
  // The same for a G whose runtime is no longer the current one.
  static void recycle_late(G& g) noexcept;

  // --- Stopping ------------------------------------------------------------------------------------
  void stop(M* m, G* g, stop_level level) noexcept;
  bool stopping() const noexcept { return stopping_.load(std::memory_order_relaxed); }

  // --- Settings and states -------------------------------------------------------------------------
  const runtime_options& options() const noexcept { return options_; }
  unsigned procs() const noexcept { return ps_.wanted(); }
  void set_procs(unsigned n);
  std::uint64_t live() const noexcept { return gs_alive_.live(ps_); }
  fiber::census& stack_census() noexcept { return census_; }
  static std::int64_t coarse_now() noexcept { return coarse_clock.load(std::memory_order_relaxed); }
  // While held, "everybody waits" is no deadlock: a plain thread will send something.
  void expect_foreign(int by) noexcept;
  // For who holds no P: the G that it had counted in without_p is queued. What ran it may be over already, and sysmon
  // asleep: a deadlock that this count hid is to be found (sysmon.hpp).
  void leave_without_p() noexcept;
  G* find_g(std::uint64_t id) const noexcept { return gs_.find(id); }
  // For a plain thread that is about to wait for I/O: sees to it that somebody polls while a P is idle.
  void expect_io() noexcept { idle_.wake_if_needed(); }
  // Gs that wait for I/O, from before they wait until they run again, and plain threads.
  std::uint64_t io_waits() const noexcept;
  bool io_expected() const noexcept { return io_waits() > 0 || polls_.network().has_callbacks(); }
  // Somebody wants a guarded G out.
  void want_out() noexcept {
    counts_.want_out();
    for_sysmon_.call();
  }

  // Null, as a rule: it runs in a simulated one.
  world* simulated() const noexcept { return world_; }

  // --- Its parts, for each other, sysmon and the patrol ----------------------------------------------
  g_store& gs() noexcept { return gs_; }
  const g_store& gs() const noexcept { return gs_; }
  p_table& ps() noexcept { return ps_; }
  const p_table& ps() const noexcept { return ps_; }
  polling& polls() noexcept { return polls_; }
  const polling& polls() const noexcept { return polls_; }
  idle_set& idle() noexcept { return idle_; }
  const idle_set& idle() const noexcept { return idle_; }
  thread_table& threads() noexcept { return threads_; }
  const thread_table& threads() const noexcept { return threads_; }
  sysmon_mailbox& for_sysmon() noexcept { return for_sysmon_; }
  quarantine_counts& quarantine() noexcept { return counts_; }
  const quarantine_counts& quarantine() const noexcept { return counts_; }
  population& gs_alive() noexcept { return gs_alive_; }
  const population& gs_alive() const noexcept { return gs_alive_; }
  bool is_done() const noexcept { return done_.load(std::memory_order_acquire); }
  const G* main_g() const noexcept { return main_g_; }
  // Main could not even start.
  void fail_main(std::exception_ptr why) noexcept;
  // Starts a thread for the P, or for the locked G with the P. Null: at the limit, or the system refuses it, or
  // did so a moment ago.
  M* new_thread(P* p, bool searching, G* locked) noexcept;

 private:
  // runtime.cpp
  bool start_first_thread() noexcept;
  void give_up_main(std::exception_ptr why) noexcept;
  bool shut_down_threads() noexcept;
  friend struct debugger_layout;  // debugger.cpp

  const runtime_options options_;
  world* const world_;
  fiber::stack_region* default_stacks_ = nullptr;
  fiber::census census_;
  g_store gs_{*this};
  p_table ps_{runtime_options::max_procs};  // destroyed before gs_: its free lists hold Gs of gs_
  polling polls_;
  idle_set idle_;
  thread_table threads_;
  sysmon_mailbox for_sysmon_;
  quarantine_counts counts_;
  population gs_alive_;
  ranked_spinlock ending_{lock_rank::scheduler, "end of main"};
  std::atomic<bool> stopping_{false};  // main has returned; written under ending_
  std::atomic<bool> done_{false};
  G* main_g_ = nullptr;
  std::exception_ptr main_failure_;   // it could not even start
  bool left_behind_ = false;          // g_pool.cpp
  scheduler* kept_before_ = nullptr;  // g_pool.cpp
};

}  // namespace leat::sched
