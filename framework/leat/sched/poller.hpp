// SPDX-License-Identifier: BSL-1.0
//
// The seam to the network: the scheduler waits for events through this and knows nothing of Asio.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace leat::sched {

class poller {
 public:
  virtual ~poller() = default;

  // Handles what is there without blocking. Handlers make Gs ready. Returns how many ran. Any thread.
  virtual std::size_t poll() noexcept = 0;

  // Waits until something was handled, `until` (monotonic ns; INT64_MAX: for ever) has come, or
  // interrupt was called since the last wait. One thread at a time.
  virtual void wait(std::int64_t until) noexcept = 0;

  // Ends the wait that is under way, or else the next one. Any thread, also while nobody waits.
  virtual void interrupt() noexcept = 0;

  // Operations under way: while there are some, nothing is deadlocked. One counts until its handler has
  // readied its G.
  virtual std::size_t pending() const noexcept = 0;
};

// Without a network: a futex with a deadline.
class sleep_poller final : public poller {
 public:
  std::size_t poll() noexcept override { return 0; }
  void wait(std::int64_t until) noexcept override;
  void interrupt() noexcept override;
  std::size_t pending() const noexcept override { return 0; }

 private:
  std::atomic<std::uint32_t> woken_{0};
};

}  // namespace leat::sched
