// SPDX-License-Identifier: BSL-1.0
//
// The poller of the runtime: one epoll set for the descriptors of Leat's own streams, listeners and so on
// (watch.hpp), with Asio's io_context behind it as soon as somebody uses that (io.hpp).
//
// Why not everything through Asio: its reactor reads from a socket before it waits for it, one system call
// more per request, and an operation that is done at once still passes through the io_context's shared
// queue, which wakes the M that blocks there. Both cost more than a tenth of a request on loopback.
//
// # Who may do what
// The set holds each descriptor once, edge-triggered, for its whole life, plus the bell and the timer, both
// level-triggered. Any thread may take events out of it at any time (poll). One M at a time blocks (wait): in
// epoll_wait on the set, or, when Asio is in use, in io_context::run_one, with the set inside Asio's own.
//
// # The bell
//   interrupter                            the M that waits
//    1 rung_ 0 -> 1; was 1: done            a rung_ is 1: goes to c
//    2 writes to the bell                   b sleeps until the set has something
//                                           c reads the bell empty
//                                           d rung_ = 0
// Forbidden: rung, and the M sleeps on. The bell stays readable until c, also when others take events and see
// it (level-triggered), so b returns. An interrupter between c and d finds 1 and leaves: the wait that it
// wanted to end is over. One that comes after d writes again. A write that is late (its ring was consumed by
// a and c) ends the next wait for nothing, which is allowed.
//
// The timer is set by the M that waits, for this wait.
//
// # Who is inside Asio
// One thread at a time (io.cpp). If that one is in a handler that does not return, it stays inside for good.
// The M that waits then blocks in the set alone, for a moment each time: Leat's own descriptors, timers and
// signals go on.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/sched/poller.hpp>

namespace leat::net {

// What Asio adds (io.cpp). All but `poll` are for the M that waits.
class callback_loop {
 public:
  virtual void poll() noexcept = 0;
  // Blocks until a handler has run, the set of the poller has events, or somebody posted something. False: it
  // did not block, another thread is inside.
  virtual bool wait() noexcept = 0;

 protected:
  ~callback_loop() = default;
};

class poller final : public sched::poller {
 public:
  // The one of this program, made and installed in the runtime on first use; never destroyed. Throws
  // std::system_error when the system refuses the descriptors for it.
  static poller& get();

  void poll() noexcept override;
  void wait(std::int64_t until) noexcept override;
  void interrupt() noexcept override;
  void describe(int fd, bool outwards, text_buffer& into) const noexcept override;  // describe.cpp
  bool has_callbacks() const noexcept override { return loop_.load(std::memory_order_relaxed) != nullptr; }

  // Once. Its descriptors must be ready when something is in the set.
  void use(callback_loop& loop) noexcept;
  int set() const noexcept { return set_; }

 private:
  struct descriptors {
    int set = -1, bell = -1, timer = -1;
    descriptors() = default;
    descriptors(const descriptors&) = delete;
    descriptors& operator=(const descriptors&) = delete;
    ~descriptors();
  };
  static void open(descriptors& d);
  explicit poller(descriptors&& d);
  bool take_events(int timeout_ms) noexcept;  // true: the bell is among them
  void set_timer(std::int64_t until) noexcept;

  const int set_, bell_, timer_;
  std::atomic<std::uint32_t> rung_{0};
  std::int64_t timer_at_;  // what the timer is set for; the M that waits
  std::atomic<callback_loop*> loop_{nullptr};
};

}  // namespace leat::net
