// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <atomic>
#include <memory>

#include <leat/base/clock.hpp>
#include <leat/base/list.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/stop_callback.hpp>

namespace leat::sched {

// Only the level: for a G that waits for nothing.
void raise_stop(G& g, stop_level level) noexcept;

// The Gs of a stop_source. A G is a member from its spawn to its end.
class stop_state {
 public:
  // The G gets what has been asked for already.
  void add(G& g) noexcept;
  void remove(G& g) noexcept;
  // Then the callbacks are called, and may end the last handle of this: the caller holds one.
  void raise(stop_level level, stop_reason why = stop_reason::requested) noexcept;
  stop_level level() const noexcept { return level_.load(std::memory_order_relaxed); }
  stop_reason why() const noexcept { return why_.load(std::memory_order_relaxed); }

  // Callbacks (stop_callback.hpp). enlist: false, it has been asked for already.
  bool enlist(stop_node& n) noexcept;
  void delist(stop_node& n) noexcept;

  // Set before it is shared.
  deadline until = deadline::never();

 private:
  void call_all() noexcept;

  mutable ranked_mutex lock_{lock_rank::task_group, "stop source"};
  list<G, &G::stop_node> members_ LEAT_GUARDED_BY(lock_);
  list<stop_node, &stop_node::link> callbacks_ LEAT_GUARDED_BY(lock_);
  std::atomic<stop_level> level_{stop_level::none};  // written under lock_
  std::atomic<stop_reason> why_{stop_reason::none};  // the same; the first reason stays
};

}  // namespace leat::sched
