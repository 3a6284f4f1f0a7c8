// SPDX-License-Identifier: BSL-1.0
//
// All Ms that ever were. One whose thread has ended is used again for the next thread, and none is freed before
// the runtime: askers hold stale pointers.
//
// Thread safety: any thread may call anything at any time. `each` takes no lock: the list has room for all from
// the start.
#pragma once
#include <pthread.h>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include <leat/base/mutex.hpp>
#include <leat/sched/m.hpp>
#include <leat/sched/thread_start.hpp>

namespace leat::sched {

class thread_table {
 public:
  // `most` threads at once, and `apart` more behind a fence.
  thread_table(unsigned most, unsigned apart) : most_(most) {
    all_.reserve(std::size_t{most} + apart);  // those that are frozen stay in the list
  }

  // An M for a new thread: one that is used again, whose thread before is `old`, or `fresh`. Null: `most` live, or
  // it is closed.
  M* begin(std::unique_ptr<M> fresh, pthread_t& old, std::int64_t now) noexcept;
  // Its thread has ended, or could not be started.
  void end(M& m) noexcept;
  // Its thread goes behind a fence, where it counts no more, and comes back.
  void set_apart() noexcept;
  void take_back() noexcept;
  // No thread begins any more.
  void close() noexcept;

  // One thread more than Ps is to be kept ready (keep_spare in threads.cpp): it is wanted; somebody sees to it; there
  // is one, or it was refused.
  void want_spare() noexcept { spare_wanted_.store(true, std::memory_order_relaxed); }
  bool wants_spare() const noexcept { return spare_wanted_.load(std::memory_order_relaxed); }
  bool take_wish_for_spare() noexcept { return spare_wanted_.exchange(false, std::memory_order_relaxed); }
  void note_spare(bool got) noexcept { spare_refused_.store(!got, std::memory_order_relaxed); }
  bool spare_refused() const noexcept { return spare_refused_.load(std::memory_order_relaxed); }

  unsigned live() const noexcept;
  bool is_full() const noexcept { return live() >= most_; }
  // When `most` first refused one; 0: never.
  std::int64_t full_since() const noexcept { return full_since_.load(std::memory_order_relaxed); }
  thread_start& starter() noexcept { return starter_; }
  const thread_start& starter() const noexcept { return starter_; }

  template <class F>
  void each(F f) const noexcept LEAT_NO_THREAD_SAFETY_ANALYSIS {
    const unsigned n = n_.load(std::memory_order_acquire);  // pairs with begin
    for (unsigned i = 0; i < n; ++i) f(*all_.data()[i]);
  }

 private:
  const unsigned most_;
  thread_start starter_;
  mutable ranked_spinlock lock_{lock_rank::thread_list, "threads"};
  std::vector<std::unique_ptr<M>> all_ LEAT_GUARDED_BY(lock_);
  std::atomic<unsigned> n_{0};  // written under lock_
  M* ended_ LEAT_GUARDED_BY(lock_) = nullptr;
  unsigned live_ LEAT_GUARDED_BY(lock_) = 0;
  bool closed_ LEAT_GUARDED_BY(lock_) = false;
  std::atomic<std::int64_t> full_since_{0};
  std::atomic<bool> spare_wanted_{false};
  std::atomic<bool> spare_refused_{false};
};

}  // namespace leat::sched
