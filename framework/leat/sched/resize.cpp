// SPDX-License-Identifier: BSL-1.0
//
// Changing the number of Ps while they run. Idle ones are dealt with by set_procs itself, under the lock; of
// those in use, the owner sees `attention` in its next round and empties its P if that is to go.
#include <memory>
#include <stdexcept>
#include <string>

#include <leat/sched/scheduler.hpp>

namespace leat::sched {

// The owner empties a P that set_procs no longer wants. False: it is wanted again, and stays.
bool scheduler::retire_p(M& m, P& p) noexcept {
  g_queue left;
  if (G* g = p.run_next.load(std::memory_order_relaxed)) {
    p.run_next.store(nullptr, std::memory_order_relaxed);
    left.push_back(g);
  }
  while (G* g = p.ring.pop()) left.push_back(g);
  if (m.picked) {
    left.push_back(m.picked);
    m.picked = nullptr;
  }
  end_burst(p);
  p.stacks.clear();
  spill_gs(p.free_gs);
  (void)stop_searching(m);  // or it would suppress the wake below, and sleep itself
  bool retired = false;
  {
    lock_guard hold(lock_);
    global_.append(std::move(left));
    note_global_size_locked();
    retired = p.retire.load(std::memory_order_relaxed);
    if (retired) {
      m.p.store(nullptr, std::memory_order_relaxed);
      p.m.store(nullptr, std::memory_order_relaxed);
      p.status.store(p_status::stopped, std::memory_order_relaxed);
      busy_ps_.fetch_sub(1, std::memory_order_seq_cst);
    }
  }
  wake_if_needed();
  return retired;
}

void scheduler::set_procs(unsigned n) {
  if (n < 1 || n > runtime_options::max_procs)
    throw std::invalid_argument("set_procs(" + std::to_string(n) + "): the number of Ps must be 1 to " +
                                std::to_string(runtime_options::max_procs));
  static ranked_mutex one_at_a_time{lock_rank::host, "set_procs"};
  lock_guard resizing(one_at_a_time);
  const unsigned was = procs();
  // New ones first: memory may fail, and then nothing has changed.
  for (unsigned i = all_ps_.load(std::memory_order_relaxed); i < n; ++i) {
    auto made = std::make_unique<P>(i, options_.run_queue, true);
    made->stacks.bind(*default_stacks_);
    made->status.store(p_status::stopped, std::memory_order_relaxed);
    ps_[i].store(made.release(), std::memory_order_release);
    all_ps_.store(i + 1, std::memory_order_release);
  }
  procs_.store(n, std::memory_order_relaxed);
  each_p([&](P& p) {
    lock_guard hold(lock_);
    const p_status status = p.status.load(std::memory_order_relaxed);
    p.retire.store(p.id >= n, std::memory_order_relaxed);
    if (p.id < n && status == p_status::stopped) {
      busy_ps_.fetch_add(1, std::memory_order_seq_cst);
      push_idle_p_locked(p);
      return;
    }
    if (pop_idle_p_locked(&p)) {
      // Nobody owns it: thieves can be let in, or it can stop, right here.
      if (n > 1 && !p.shared.load(std::memory_order_relaxed)) {
        p.ring.let_thieves_in();
        p.shared.store(true, std::memory_order_release);
      }
      push_idle_p_locked(p);
      return;
    }
    // Running, or on its way to an M: seen to in its next round, or after sysmon's retake.
    p.attention.store(true, std::memory_order_release);  // pairs with find_runnable
  });
  for (unsigned i = 0; i <= (n > was ? n - was : 0); ++i) wake_if_needed();
}

}  // namespace leat::sched
