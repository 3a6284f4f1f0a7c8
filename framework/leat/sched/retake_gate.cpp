// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/retake_gate.hpp>

#include <unistd.h>

#include <leat/base/cpu.hpp>

namespace leat::sched {

retake_gate::entry retake_gate::enter_slow() noexcept {
  for (int turns = 0;; ++turns) {
    std::uint32_t w = word_.load(std::memory_order_acquire);  // pairs with finish
    switch (w) {
      case quiet: return entry::kept;
      case asked:
        // Acquire: the word may have gone to another asker's `asked` by way of a borrow since it was read.
        if (word_.compare_exchange_strong(w, quiet, std::memory_order_acquire)) return entry::kept;
        break;
      case look: word_.store(quiet, std::memory_order_relaxed); return entry::kept;
      case taken: word_.store(quiet, std::memory_order_relaxed); return entry::lost;
      default:
        // Borrowed for a few instructions, unless the borrower was put aside by the kernel.
        if (turns < 100) {
          cpu_pause();
        } else {
          ::usleep(20);  // not sched_yield: it never lets a borrower of lower real-time priority run
        }
    }
  }
}

bool retake_gate::try_borrow() noexcept {
  if (asking_.load(std::memory_order_relaxed) != 0) return false;
  if (asking_.exchange(1, std::memory_order_acquire) != 0) return false;  // pairs with the stores of 0
  std::uint32_t w = word_.load(std::memory_order_relaxed);
  if ((w == quiet || w == look) && word_.compare_exchange_strong(w, asked, std::memory_order_relaxed)) {
    heavy_barrier();
    std::uint32_t mine = asked;
    // Acquire pairs with leave; the CAS orders the borrower's reads after it on its own account too.
    if (in_runtime_.load(std::memory_order_acquire) == 0) {
      if (word_.compare_exchange_strong(mine, borrowed, std::memory_order_acquire, std::memory_order_relaxed))
        return true;
    } else {
      (void)word_.compare_exchange_strong(mine, look, std::memory_order_relaxed);
    }
  }
  asking_.store(0, std::memory_order_release);
  return false;
}

void retake_gate::finish(state s) noexcept {
  word_.store(s, std::memory_order_release);  // pairs with enter_slow
  asking_.store(0, std::memory_order_release);
}

}  // namespace leat::sched
