// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

namespace leat {
namespace sched {
void run_blocking(void (*fn)(void*), void* arg);
}

// Declares a call that blocks the thread: auto n = leat::blocking([&] { return ::read(fd, buf, size); });
// The P goes to others at once. f runs on the thread's own large stack; its result or exception comes
// back to the G. Inside f there is no current G: Leat's blocking calls then block the thread.
template <class F>
auto blocking(F&& f) -> std::invoke_result_t<F&> {
  using result = std::invoke_result_t<F&>;
  struct call {
    std::remove_reference_t<F>* f;
    std::exception_ptr failure;
    std::conditional_t<std::is_void_v<result>, char, std::optional<result>> value{};
  } c{&f, nullptr};
  sched::run_blocking(
      [](void* arg) {
        auto& self = *static_cast<call*>(arg);
        try {
          if constexpr (std::is_void_v<result>) {
            (*self.f)();
          } else {
            self.value.emplace((*self.f)());
          }
        } catch (...) {
          self.failure = std::current_exception();
        }
      },
      &c);
  if (c.failure) std::rethrow_exception(std::move(c.failure));
  if constexpr (!std::is_void_v<result>) return std::move(*c.value);
}

}  // namespace leat
