// SPDX-License-Identifier: BSL-1.0
//
// The global queue: what belongs to no P. Under idle_set's lock. It has three parts:
//
//   due      Gs whose time had come and that found no room in a ring. They go first, with a share for the
//            others: a crowd of spawned Gs must not make sleepers late.
//   spilled  what a ring had no room for when a G was spawned, batch by batch, the last one first. Who spawns
//            more than a ring holds is, as a rule, a node of a tree: if what was spilled first went first,
//            all inner Gs of the tree would be there at once before its leaves end, and each of them cold
//            when its turn comes (`skynet` took twice as long).
//   waiting  all others, first in, first out. One of `share` comes from here even if some are spilled.
//
// Nobody starves: a P's fair turn, every 61st round, takes the first of `waiting` (one in
// `share` of them while some are due), and moves all that is spilled to the end of `waiting` if this was last
// done `patience_ns` ago or more. So what was spilled is queued first in, first out with all others soon
// after that time.
#pragma once
#include <cstddef>
#include <cstdint>
#include <utility>

#include <leat/sched/g.hpp>

namespace leat::sched {

class global_queue {
 public:
  static constexpr std::uint32_t share = 8;
  static constexpr std::int64_t patience_ns = 10'000'000;  // Go's slice

  std::size_t size() const noexcept { return due_.size() + spilled_.size() + waiting_.size(); }
  std::size_t size_due() const noexcept { return due_.size(); }
  bool empty() const noexcept { return due_.empty() && spilled_.empty() && waiting_.empty(); }

  void push(G* g) noexcept { waiting_.push_back(g); }
  void append(g_queue&& gs) noexcept { waiting_.append(std::move(gs)); }
  void append_due(g_queue&& gs) noexcept { due_.append(std::move(gs)); }
  G* pop_due() noexcept { return due_.pop_front(); }

  void spill(g_queue&& batch) noexcept {
    batch.append(std::move(spilled_));
    spilled_ = std::move(batch);
  }

  // For a P that has nothing else. Null: it is empty.
  G* pop() noexcept {
    if (is_for_due(turn_)) return due_.pop_front();
    if (spilled_.empty() || (!waiting_.empty() && ++shared_ % share == 0)) return waiting_.pop_front();
    return spilled_.pop_front();
  }

  // For a fair turn.
  G* pop_fairly(std::int64_t now) noexcept {
    if (now - moved_at_ >= patience_ns) {
      waiting_.append(std::move(spilled_));
      moved_at_ = now;
    }
    if (is_for_due(fair_turn_)) return due_.pop_front();
    return waiting_.empty() ? spilled_.pop_front() : waiting_.pop_front();
  }

 private:
  bool is_for_due(std::uint32_t& turn) noexcept {
    if (due_.empty()) return false;
    return ++turn % share != 0 || (spilled_.empty() && waiting_.empty());
  }

  g_queue due_, spilled_, waiting_;
  std::uint32_t turn_ = 0, fair_turn_ = 0, shared_ = 0;
  std::int64_t moved_at_ = 0;  // when spilled was last moved
};

}  // namespace leat::sched
