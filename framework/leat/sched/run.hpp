// SPDX-License-Identifier: BSL-1.0
//
//   int main() {
//     return leat::run([] { ... });
//   }
#pragma once
#include <exception>
#include <type_traits>
#include <utility>

#include <leat/sched/options.hpp>

namespace leat {
namespace sched {
void run_main(const runtime_options& options, void (*fn)(void*), void* arg);
}  // namespace sched

// What the program exits with when all Gs wait for one another (after a report on stderr).
inline constexpr int deadlock_exit_status = 70;

// Starts the scheduler and runs main() as its first G. Returns when main has returned and the other Gs,
// which are then asked to stop, have ended; those that neither end nor enter the runtime within
// options.grace are reported and left behind. Returns main's int, or 0; an exception out of main comes
// out of here. The calling thread runs no Gs: a run-away G can never keep run from returning.
// Throws std::invalid_argument for bad options and std::logic_error when a runtime is already running.
template <class F>
int run(const runtime_options& options, F&& main) {
  struct call {
    std::remove_reference_t<F>* f;
    int status = 0;
    std::exception_ptr failure;
  } c{&main, 0, nullptr};
  sched::run_main(
      options,
      [](void* arg) {
        auto& self = *static_cast<call*>(arg);
        try {
          if constexpr (std::is_convertible_v<std::invoke_result_t<F&>, int>) {
            self.status = static_cast<int>((*self.f)());
          } else {
            (*self.f)();
          }
        } catch (...) {
          self.failure = std::current_exception();
        }
      },
      &c);
  if (c.failure) std::rethrow_exception(c.failure);
  return c.status;
}
template <class F>
int run(F&& main) {
  return run(runtime_options{}, std::forward<F>(main));
}

}  // namespace leat
