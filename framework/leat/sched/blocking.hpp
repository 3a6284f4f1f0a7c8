// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <exception>
#include <optional>
#include <type_traits>
#include <utility>

#include <leat/base/errno.hpp>

namespace leat {
namespace sched {
void run_blocking(void (*fn)(void*), void* arg);
}

// Declares a call that blocks the thread: auto n = leat::blocking([&] { return ::read(fd, buf, size); });
// The P goes to others at once. f runs on the thread's own large stack; its result or exception comes
// back to the G, and so does errno, although the G may come back on another thread. Inside f there is no
// current G: Leat's blocking calls then block the thread.
template <class F>
auto blocking(F&& f) -> std::invoke_result_t<F&> {
  using result = std::invoke_result_t<F&>;
  struct call {
    std::remove_reference_t<F>* f;
    std::exception_ptr failure;
    int error = 0;
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
        self.error = last_error();
      },
      &c);
  *detail::errno_location() = c.error;
  if (c.failure) std::rethrow_exception(std::move(c.failure));
  if constexpr (!std::is_void_v<result>) return std::move(*c.value);
}

}  // namespace leat
