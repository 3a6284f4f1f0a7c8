// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <memory>

#include <leat/base/list.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/g.hpp>

namespace leat::sched {

// Only the level: for a G that waits for nothing.
void raise_stop(G& g, stop_level level) noexcept;

// The Gs of a stop_source. A G is a member from its spawn to its end.
class stop_state {
 public:
  // The G gets what has been asked for already.
  void add(G& g) noexcept;
  void remove(G& g) noexcept;
  void raise(stop_level level) noexcept;
  stop_level level() const noexcept { return level_.load(std::memory_order_relaxed); }

 private:
  mutable ranked_mutex lock_{lock_rank::task_group, "stop source"};
  list<G, &G::stop_node> members_ LEAT_GUARDED_BY(lock_);
  std::atomic<stop_level> level_{stop_level::none};
};

}  // namespace leat::sched
