// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <linux/futex.h>
#include <sys/syscall.h>
#include <unistd.h>
#include <atomic>
#include <cerrno>
#include <climits>
#include <cstdint>
#include <ctime>
#include <limits>

namespace leat::sched {

// Sleeps while the word has the value, until `until` (monotonic ns, absolute). May return early.
inline void futex_wait(std::atomic<std::uint32_t>& word, std::uint32_t value,
                       std::int64_t until = std::numeric_limits<std::int64_t>::max()) noexcept {
  timespec at{};
  const bool timed = until != std::numeric_limits<std::int64_t>::max();
  if (timed) {
    if (until < 0) until = 0;
    at.tv_sec = static_cast<time_t>(until / 1'000'000'000);
    at.tv_nsec = static_cast<long>(until % 1'000'000'000);
  }
#if defined(SYS_futex_time64) && __SIZEOF_POINTER__ == 4
  constexpr long call = sizeof(time_t) == 8 ? SYS_futex_time64 : SYS_futex;
#else
  constexpr long call = SYS_futex;
#endif
  ::syscall(call, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAIT_BITSET_PRIVATE, value,
            timed ? &at : nullptr, nullptr, FUTEX_BITSET_MATCH_ANY);
}

inline void futex_wake(std::atomic<std::uint32_t>& word, int most = 1) noexcept {
  ::syscall(SYS_futex, reinterpret_cast<std::uint32_t*>(&word), FUTEX_WAKE_PRIVATE, most, nullptr, nullptr,
            0);
}

// A binary semaphore for one waiter: a signal that comes first is kept.
class thread_event {
 public:
  // One sleep at most. True: it was signalled; what the signaller wrote before is seen.
  bool wait(std::int64_t until = std::numeric_limits<std::int64_t>::max()) noexcept {
    if (word_.exchange(0, std::memory_order_acquire) != 0) return true;  // pairs with signal
    futex_wait(word_, 0, until);
    return word_.exchange(0, std::memory_order_acquire) != 0;
  }
  // The waiter may return, and the event be gone, as soon as the word is set; the kernel then finds
  // nobody at the address, which is harmless.
  void signal() noexcept {
    if (word_.exchange(1, std::memory_order_release) == 0) futex_wake(word_);
  }

 private:
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace leat::sched
