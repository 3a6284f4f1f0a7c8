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

}  // namespace leat::sched
