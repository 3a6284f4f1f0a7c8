// SPDX-License-Identifier: BSL-1.0
//
// Changing the number of Ps while they run. Idle ones are dealt with by set_procs itself, under the lock; of
// those in use, the owner sees `attention` in its next round and empties its P if that is to go.
#include <memory>
#include <stdexcept>
#include <string>

#include <leat/sched/round.hpp>
#include <leat/sched/scheduler.hpp>

namespace leat::sched {

bool round::retire_p(M& m, P& p) noexcept {
  scheduler& s = m.sched;
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
  s.idle().end_burst(p);
  p.stacks.clear();
  s.gs().give_back(p.free_gs);
  (void)s.idle().stop_searching(m);  // or it would suppress the wake below, and sleep itself
  const bool retired = s.idle().retire(m, p, std::move(left));
  s.idle().wake_if_needed();
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
  for (unsigned i = ps_.made(); i < n; ++i) {
    auto made = std::make_unique<P>(i, options_.run_queue, true);
    made->stacks.bind(*default_stacks_);
    made->status.store(p_status::stopped, std::memory_order_relaxed);
    ps_.add(std::move(made));
  }
  ps_.want(n);
  ps_.each([&](P& p) { idle_.resize(p, n); });
  for (unsigned i = 0; i <= (n > was ? n - was : 0); ++i) idle_.wake_if_needed();
}

}  // namespace leat::sched
