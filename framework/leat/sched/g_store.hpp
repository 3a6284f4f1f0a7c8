// SPDX-License-Identifier: BSL-1.0
//
// Where Gs are kept. They are made in chunks that live as long as the store: reports, and askers with a stale
// pointer, may read any G at any time, whatever became of it.
//
// A free G is in one of two places: on the list of a P, which only the M that holds the P touches, or in the
// pool, under a lock. Both move Gs in batches.
//
// Thread safety: `take`, `give_back`, `new_ids` by any thread; `each` by any thread, at any time, without a
// lock: chunks are published in order, and none is taken out.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>

#include <leat/base/list.hpp>
#include <leat/base/mutex.hpp>
#include <leat/sched/g.hpp>

namespace leat::sched {

class g_store {
 public:
  using free_list = stack_list<G, &G::link>;

  explicit g_store(scheduler& home);
  ~g_store();  // all Gs are here, or are never used again
  g_store(const g_store&) = delete;
  g_store& operator=(const g_store&) = delete;

  // Into an empty list: up to `most` from the pool, or a new chunk if that is empty. Still empty: no memory.
  void take(free_list& into, std::size_t most) noexcept;
  void give_back(free_list& from, std::size_t most = SIZE_MAX) noexcept;
  void give_back(G& g) noexcept;

  // The first of `n` ids that nobody else has.
  std::uint64_t new_ids(std::uint64_t n) noexcept { return ids_.fetch_add(n, std::memory_order_relaxed); }

  template <class F>
  void each(F f) const noexcept {
    const std::size_t n = n_chunks_.load(std::memory_order_acquire);  // pairs with take
    for (std::size_t c = 0; c < n; ++c) {
      G* const gs = chunks_[c].load(std::memory_order_relaxed);
      for (std::size_t i = 0; i < chunk_gs; ++i) f(gs[i]);
    }
  }
  // One that is in use, or null.
  G* find(std::uint64_t id) const noexcept;
  // Of all that were ever made.
  bool all_free() const noexcept;

 private:
  friend struct debugger_layout;  // debugger.cpp
  static constexpr std::size_t chunk_gs = 128;
  static constexpr std::size_t max_chunks = std::size_t{1} << 17;

  scheduler& home_;
  ranked_spinlock lock_{lock_rank::thread_list, "G pool"};
  free_list pool_ LEAT_GUARDED_BY(lock_);
  std::unique_ptr<std::atomic<G*>[]> chunks_;
  std::atomic<std::size_t> n_chunks_{0};  // written under lock_
  std::atomic<std::uint64_t> ids_{1};
};

}  // namespace leat::sched
