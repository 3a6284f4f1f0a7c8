// SPDX-License-Identifier: BSL-1.0
#include <leat/sched/retake_gate.hpp>

#include <unistd.h>

#include <leat/base/cpu.hpp>

namespace leat::sched {

bool retake_gate::still_quiet() const noexcept {
  full_barrier();
  return word_.load(std::memory_order_relaxed) == quiet_dear;
}

// Step 4. `leaves`: the word that is left where somebody asked, or came and went.
retake_gate::entry retake_gate::answer_askers(state leaves) noexcept {
  for (int turns = 0;; ++turns) {
    std::uint32_t w = word_.load(std::memory_order_acquire);  // pairs with finish
    if (w == rest_ || w == leaves) return entry::kept;
    if (w == asked || w == asked_later) {
      // Acquire: the word may have gone to another asker's `asked` by way of a borrow since it was read.
      const std::uint32_t to = w == asked ? leaves : rest_;
      const entry result = w == asked ? entry::kept : entry::lost;
      if (word_.compare_exchange_strong(w, to, std::memory_order_acquire)) return result;
      continue;
    }
    if (w == look || w == taken) {
      word_.store(rest_, std::memory_order_relaxed);
      return w == look ? entry::kept : entry::lost;
    }
    // Borrowed for a few instructions, unless the borrower was put aside by the kernel.
    if (turns < 100) {
      cpu_pause();
    } else {
      ::usleep(20);  // not sched_yield: it never lets a borrower of lower real-time priority run
    }
  }
}

retake_gate::entry retake_gate::enter_slow() noexcept {
  light_barrier();  // enter had none where this costs something
  const entry result = answer_askers(rest_);
  entries_.store(entries_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return result;
}

retake_gate::entry retake_gate::pass() noexcept {
  in_runtime_.store(1, std::memory_order_relaxed);
  light_barrier();
  if (word_.load(std::memory_order_relaxed) == asked) {
    leave();
    // As long as the asker's barrier takes, on most machines.
    for (int turns = 0; turns < 500 && word_.load(std::memory_order_relaxed) == asked; ++turns) cpu_pause();
    in_runtime_.store(1, std::memory_order_relaxed);
    light_barrier();
  }
  const entry result = answer_askers(look);
  if (result == entry::lost)
    entries_.store(entries_.load(std::memory_order_relaxed) + 1, std::memory_order_relaxed);
  return result;
}

bool retake_gate::try_borrow() noexcept { return try_take(false) == hold::with_p; }

retake_gate::hold retake_gate::try_hold() noexcept { return try_take(true); }

retake_gate::hold retake_gate::try_take(bool also_without_p) noexcept {
  if (asking_.load(std::memory_order_relaxed) != 0) return hold::none;
  if (asking_.exchange(1, std::memory_order_acquire) != 0) return hold::none;  // pairs with the stores of 0
  std::uint32_t w = word_.load(std::memory_order_relaxed);
  const bool without_p = w == taken;
  const std::uint32_t mine = without_p ? asked_later : asked;
  if ((w == rest_ || w == look || (without_p && also_without_p)) &&
      word_.compare_exchange_strong(w, mine, std::memory_order_relaxed)) {
    heavy_barrier();
    std::uint32_t now = mine;
    // Acquire pairs with leave; the CAS orders the borrower's reads after it on its own account too.
    if (in_runtime_.load(std::memory_order_acquire) == 0) {
      if (word_.compare_exchange_strong(now, borrowed, std::memory_order_acquire, std::memory_order_relaxed))
        return without_p ? hold::without_p : hold::with_p;
    } else {
      (void)word_.compare_exchange_strong(now, without_p ? taken : look, std::memory_order_relaxed);
    }
  }
  asking_.store(0, std::memory_order_release);
  return hold::none;
}

void retake_gate::finish(state s) noexcept {
  word_.store(s, std::memory_order_release);  // pairs with enter_slow
  asking_.store(0, std::memory_order_release);
}

}  // namespace leat::sched
