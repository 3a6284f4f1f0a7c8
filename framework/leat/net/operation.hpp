// SPDX-License-Identifier: BSL-1.0
//
// One Asio operation that a G (or a plain thread) waits for; lives on the waiting side's stack.
//
//   waiting side                              handler, on whatever thread completes the operation
//    1 starts the operation                    a keeps the result
//    2 waits (csp/wait.hpp): for                b claims the wait; wakes it, and that was it
//      the handler, the deadline, a stop       c claimed already (by deadline or stop): counts down
//    3 claimed by the handler: done              `open_`; the last one wakes the second wait
//    4 else posts the canceller to the
//      operation's executor, and waits as      canceller, on the operation's executor
//      the second wait, without deadline       x not completed yet: emits the cancellation signal
//      or stop, until both have counted down    y counts down `open_`; the last one wakes
//
// Forbidden: a buffer is written, or the handler touches this, after the waiting side has gone on. It goes on
// only after b, after which the handler touches nothing here, or after both counts in c and y.
// Forbidden: x races with a step of a composed operation. Handlers in leat::io() exclude one another
// (io.cpp); on other executors that is the user's duty anyway, by a strand.
//
// An operation that cannot be cancelled is simply waited for.
//
// A plain thread whose runtime ends meanwhile has nobody to run the canceller: in step 4 it looks at open_
// now and then, and polls itself while there is no runtime.
// Stress: tests/net/cancel_test.cpp.
#pragma once
#include <asio/associated_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/post.hpp>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <new>
#include <optional>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/csp/wait.hpp>

namespace leat::net {

enum class end_of_wait : std::uint8_t { completed, timeout, stopped };

class operation {
 public:
  // `what` is a literal, for dumps. Throws std::logic_error when no runtime is under way.
  operation(const char* what, deadline until);
  ~operation();
  operation(const operation&) = delete;
  operation& operator=(const operation&) = delete;

  // Is the G to end, whatever it would do with a result?
  bool stop_is_insisted() const noexcept;

  // Not started: the G has been asked to stop already.
  bool may_start() const noexcept { return may_start_; }

  // Steps 2 to 4. `executor` is where the canceller runs.
  template <class Executor>
  end_of_wait wait(const Executor& executor) {
    const end_of_wait how = wait_first();
    if (how == end_of_wait::completed) return how;
    second_.emplace(g_);
    try {
      asio::post(executor, canceller(*this));
    } catch (...) {
      // A canceller that is lost counts down as it goes.
    }
    wait_second();
    return how;
  }

  // Steps b and c, once; from the handler, or from its destructor if it was never called.
  void completed() noexcept;

  asio::cancellation_slot slot() noexcept { return signal_->slot(); }

  // Memory for the operation itself. What does not fit comes from the heap.
  void* allocate(std::size_t size);
  void deallocate(void* p, std::size_t size) noexcept;

 private:
  class canceller {
   public:
    explicit canceller(operation& of) noexcept : of_(&of) {}
    canceller(canceller&& other) noexcept : of_(std::exchange(other.of_, nullptr)) {}
    canceller& operator=(canceller&&) = delete;
    ~canceller() {
      if (of_) of_->count_down();
    }
    void operator()() noexcept {
      operation* const of = std::exchange(of_, nullptr);
      of->cancel();
      of->count_down();
    }

   private:
    operation* of_;
  };

  end_of_wait wait_first() noexcept;
  void wait_second() noexcept;
  void cancel() noexcept;
  void count_down() noexcept;

  static constexpr std::size_t room_size = 512;
  static constexpr std::size_t rooms = 2;

  const char* const what_;
  const deadline until_;
  csp::G* const g_;
  bool may_start_ = true;
  csp::contested_wait first_;
  std::optional<csp::contested_wait> second_;
  std::atomic<int> open_{2};            // the handler and the canceller, once it has come to that
  std::atomic<bool> completed_{false};  // relaxed: those who look exclude one another
  asio::cancellation_signal* signal_;   // kept from one operation of a G to the next, with its memory
  std::optional<asio::cancellation_signal> own_signal_;  // of a plain thread
  std::atomic<bool> taken_[rooms] = {};
  alignas(std::max_align_t) std::byte room_[rooms][room_size];
};

// The allocator that Asio gets for a handler.
template <class T>
struct operation_allocator {
  using value_type = T;
  explicit operation_allocator(operation& o) noexcept : of(&o) {}
  template <class U>
  operation_allocator(const operation_allocator<U>& other) noexcept : of(other.of) {}
  T* allocate(std::size_t n) {
    static_assert(alignof(T) <= alignof(std::max_align_t));
    return static_cast<T*>(of->allocate(n * sizeof(T)));
  }
  void deallocate(T* p, std::size_t n) noexcept { of->deallocate(p, n * sizeof(T)); }
  template <class U>
  bool operator==(const operation_allocator<U>& other) const noexcept {
    return of == other.of;
  }
  operation* of;
};
template <>
struct operation_allocator<void> {
  using value_type = void;
  explicit operation_allocator(operation& o) noexcept : of(&o) {}
  template <class U>
  operation_allocator(const operation_allocator<U>& other) noexcept : of(other.of) {}
  template <class U>
  bool operator==(const operation_allocator<U>& other) const noexcept {
    return of == other.of;
  }
  operation* of;
};

}  // namespace leat::net
