// SPDX-License-Identifier: BSL-1.0
//
// A binary semaphore for one waiter, a thread: a signal that comes first is kept.
#pragma once
#include <atomic>
#include <cstdint>
#include <limits>

namespace leat::sched {

class thread_event {
 public:
  // One sleep at most. True: it was signalled; what the signaller wrote before is seen.
  bool wait(std::int64_t until = std::numeric_limits<std::int64_t>::max()) noexcept;
  // The waiter may return, and the event be gone, as soon as the word is set; the kernel then finds
  // nobody at the address, which is harmless.
  void signal() noexcept;

 private:
  std::atomic<std::uint32_t> word_{0};
};

}  // namespace leat::sched
