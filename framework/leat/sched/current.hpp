// SPDX-License-Identifier: BSL-1.0
//
// The scheduler that runs in this program, at most one at a time, and the plain threads inside calls to it.
//
// A plain thread counts itself and then reads which one is current; who ends that one clears it and then reads
// the counts. So a call finds either the one it began with, or none; and no other becomes current before all
// calls are over that began with the one before.
#pragma once
#include <atomic>

namespace leat::sched {

class scheduler;

class current_scheduler {
 public:
  static scheduler* get() noexcept { return current_.load(std::memory_order_seq_cst); }
  // False: another one is running, or has not ended yet.
  static bool set(scheduler& s) noexcept {
    if (taken_.exchange(true, std::memory_order_acquire)) return false;  // pairs with clear
    current_.store(&s, std::memory_order_seq_cst);                       // see use_poller
    return true;
  }
  // Returns when no plain thread is inside a call that began before.
  static void clear() noexcept;
  // A plain thread may enter again while it is inside.
  static void plain_thread_enters() noexcept;
  static void plain_thread_leaves() noexcept;

 private:
  friend struct debugger_layout;            // debugger.cpp
  static std::atomic<scheduler*> current_;  // there too
  static std::atomic<bool> taken_;
  // By the time when they entered: `clear` waits for one half, while those who come later count in the other.
  static std::atomic<int> plain_threads_[2];
  static std::atomic<unsigned> entering_in_;
};

}  // namespace leat::sched
