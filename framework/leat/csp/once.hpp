// SPDX-License-Identifier: BSL-1.0
//
// Runs a function once, however many ask. Must outlive all calls.
//
// state_ goes fresh -> running -> done; an exception out of the function takes it back to fresh, comes out of
// that call, and lets the next one try. All changes under lock_. done is also read without it, with acquire,
// which pairs with the release in end: what the function did is seen by all who return.
//
// A stop does not end the wait for another's run, since a call may not return before the function has.
#pragma once
#include <atomic>
#include <cstdint>
#include <tuple>
#include <utility>

#include <leat/csp/wait.hpp>

namespace leat {

class once {
 public:
  once() noexcept = default;
  once(const once&) = delete;
  once& operator=(const once&) = delete;

  // When it returns, one call's function has run to its end. A function that calls the same once waits for
  // itself; debug builds abort.
  template <class F, class... Args>
  void call(F&& f, Args&&... args) {
    if (state_.load(std::memory_order_acquire) == done) [[likely]]
      return;
    if (!begin()) return;
    struct ending {
      once* self;
      state to = fresh;
      ~ending() { self->end(to); }
    } at_end{this};
    std::apply(std::forward<F>(f), std::forward_as_tuple(std::forward<Args>(args)...));
    at_end.to = done;
  }

  bool has_run() const noexcept { return state_.load(std::memory_order_acquire) == done; }

 private:
  enum state : std::uint8_t { fresh, running, done };

  // True: the caller runs the function, and calls end. False: it is done.
  bool begin() noexcept;
  void end(state to) noexcept;

  std::atomic<state> state_{fresh};
  ranked_spinlock lock_{lock_rank::channel, "once"};
  csp::wait_queue queue_ LEAT_GUARDED_BY(lock_);
  const void* runner_ LEAT_GUARDED_BY(lock_) = nullptr;
};

}  // namespace leat
