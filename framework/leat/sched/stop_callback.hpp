// SPDX-License-Identifier: BSL-1.0
//
// A function that is called when a stop is asked for: for what no Leat call waits in.
//
//   leat::stop_callback hang_up(token, [&] { ::shutdown(fd, SHUT_RDWR); });
//
// It is called once, by whoever asks for the stop, on its G or thread, or in the constructor if that was
// before. It must not throw, and should not wait: others are told after it. After the destructor it neither
// runs nor will; only a callback that ends itself goes on, and touches nothing then that it has captured.
//
// Roles: the owner (constructor, destructor), and those who ask for a stop (stop_state::raise), of which
// one calls.
// Variables: `link` and the way to calling, under the lock of the stop_state; `at`; `gone`, on the stack
// of the one who calls.
//
//   raise                                    destructor
//    1 the level, under the lock              a lock; linked: takes it out, returns
//    2 lock: takes the next one out;          b done: returns
//      at = calling, caller = me,             c calling, by itself: *gone = true,
//      gone = &mine                             returns
//    3 calls it, without a lock               d else waits for at = done
//    4 unless mine: at = done
//
// Forbidden: neither calls. The constructor looks at the level under the lock in which it links; by 1 and 2 a
// raise comes after that and finds it, or the constructor sees the level.
//
// Forbidden: 4 touches what has gone: the destructor waits in d, or says so in c.
//
// Forbidden: c waits for itself: only the caller can be inside its own call.
//
// Stress: tests/csp/context_test.cpp.
#pragma once
#include <pthread.h>
#include <atomic>
#include <concepts>
#include <cstdint>
#include <memory>
#include <type_traits>
#include <utility>

#include <leat/base/list.hpp>
#include <leat/sched/stop.hpp>

namespace leat {
namespace sched {

struct stop_node {
  enum class state : std::uint8_t { done, linked, calling };

  explicit stop_node(void (*f)(stop_node&) noexcept) noexcept : call(f) {}
  stop_node(const stop_node&) = delete;
  stop_node& operator=(const stop_node&) = delete;

  void (*const call)(stop_node&) noexcept;
  list_node link;
  // Release in 4 pairs with acquire in d: what the call did is seen after the destructor.
  std::atomic<state> at{state::done};
  bool* gone = nullptr;
  // Who calls: a G, or a plain thread.
  const G* caller = nullptr;
  pthread_t thread{};

 protected:
  ~stop_node() = default;
  void begin(stop_state* s) noexcept;  // calls it at once, if it is time
  static void end(stop_state* s, stop_node& n) noexcept;
};

}  // namespace sched

template <std::invocable F>
class [[nodiscard]] stop_callback : private sched::stop_node {
 public:
  template <class Fn>
    requires std::constructible_from<F, Fn>
  stop_callback(const stop_token& t, Fn&& f)
      : sched::stop_node([](sched::stop_node& n) noexcept { static_cast<stop_callback&>(n).f_(); }),
        state_(t.state()),
        f_(std::forward<Fn>(f)) {
    begin(state_.get());
  }
  ~stop_callback() { end(state_.get(), *this); }

 private:
  std::shared_ptr<sched::stop_state> state_;
  F f_;
};
template <class F>
stop_callback(const stop_token&, F) -> stop_callback<F>;

}  // namespace leat
