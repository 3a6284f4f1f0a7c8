// SPDX-License-Identifier: BSL-1.0
//
// The seam to the network: the scheduler waits for events through this and knows nothing of sockets or Asio.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>

namespace leat {
class text_buffer;
}

namespace leat::sched {

class scheduler;

class poller {
 public:
  virtual ~poller() = default;

  // Handles what is there without blocking. Handlers make Gs ready, with no M given: the M that polls
  // collects them. Any thread.
  virtual void poll() noexcept = 0;

  // Waits until something was handled, `until` (monotonic ns; INT64_MAX: for ever) has come, or
  // interrupt was called since the last wait. May return for nothing. One thread at a time.
  virtual void wait(std::int64_t until) noexcept = 0;

  // Ends the wait that is under way, or else the next one. Any thread, also while nobody waits.
  virtual void interrupt() noexcept = 0;

  // Events may come for others than waiting Gs (which the scheduler counts): worth polling, and no deadlock
  // can be told.
  virtual bool has_callbacks() const noexcept = 0;

  // For dumps: the ends that a descriptor joins, if it has any. `outwards`: something is to go out. Any
  // thread, also in a signal handler: it may not allocate.
  virtual void describe(int fd, bool outwards, text_buffer& into) const noexcept {
    (void)fd, (void)outwards, (void)into;
  }
};

// Plain threads that wait for I/O, in any runtime.
inline std::atomic<std::uint32_t> plain_io_waits{0};

// The poller of the runtime that is under way and of all later ones. It must live for ever. Any thread.
void use_poller(poller& p) noexcept;
// For a runtime that begins.
void use_installed_poller(scheduler& s) noexcept;

// Without a network: a futex with a deadline.
class sleep_poller final : public poller {
 public:
  void poll() noexcept override {}
  void wait(std::int64_t until) noexcept override;
  void interrupt() noexcept override;
  bool has_callbacks() const noexcept override { return false; }

 private:
  std::atomic<std::uint32_t> woken_{0};
};

}  // namespace leat::sched
