// SPDX-License-Identifier: BSL-1.0
// Checks of invariants. A broken one prints where, what and the values at hand, lets the registered
// last words print more, and aborts. Never use them on input.
#pragma once

#include <cstddef>
#include <string_view>

#include <leat/base/format.hpp>

// LEAT_DEBUG_CHECKS asks for the debug checks in an optimised build too.
#if !defined(NDEBUG) || defined(LEAT_DEBUG_CHECKS)
#define LEAT_DEBUG_CHECKS_ON 1
#else
#define LEAT_DEBUG_CHECKS_ON 0
#endif

// LEAT_CHECK(condition, "what broke", "name", value, "name", value, ...)
#define LEAT_CHECK(condition, ...)                                                                  \
  do {                                                                                              \
    if (!(condition)) [[unlikely]]                                                                  \
      ::leat::detail::check_failed_with(::leat::detail::check_site{__FILE__, #condition, __LINE__}, \
                                        __VA_ARGS__);                                               \
  } while (false)

// Off: the arguments are compiled, so they cannot rot, and never evaluated.
#if LEAT_DEBUG_CHECKS_ON
#define LEAT_DCHECK(...) LEAT_CHECK(__VA_ARGS__)
#else
#define LEAT_DCHECK(...)                \
  do {                                  \
    if (false) LEAT_CHECK(__VA_ARGS__); \
  } while (false)
#endif

// LEAT_UNREACHABLE("what broke", "name", value, ...)
#define LEAT_UNREACHABLE(...)                                                                      \
  ::leat::detail::check_failed_with(::leat::detail::check_site{__FILE__, "unreachable", __LINE__}, \
                                    __VA_ARGS__)

namespace leat {

// Called by a dying program, perhaps in a signal handler and with locks held: print to fd what is
// known, take no lock, allocate nothing.
using last_words_fn = void (*)(int fd, void* arg);

// Room for 16; one more is a failed check. Any thread.
void add_last_words(last_words_fn fn, void* arg) noexcept;
// When it returns, no thread is inside fn(…, arg). Not to be called from last words. Unknown pairs are
// ignored.
void remove_last_words(last_words_fn fn, void* arg) noexcept;
// Calls them in the order of their slots. Async-signal-safe.
void run_last_words(int fd) noexcept;

namespace detail {

struct check_site {
  const char* file;
  const char* condition;
  int line;
};

[[noreturn, gnu::cold, gnu::noinline]] void check_failed(const check_site& site, std::string_view what,
                                                         const format_arg* names_and_values,
                                                         std::size_t count) noexcept;

// Inlined so that the values are copied in the cold branch: were their addresses handed to a real
// call, the checked variables would have to live in memory on the hot path.
template <class... Args>
[[noreturn, gnu::always_inline]] inline void check_failed_with(const check_site& site, std::string_view what,
                                                               const Args&... args) noexcept {
  static_assert(sizeof...(Args) % 2 == 0, "each value needs a name before it");
  if constexpr (sizeof...(Args) == 0) {
    check_failed(site, what, nullptr, 0);
  } else {
    const format_arg list[] = {format_arg(args)...};
    check_failed(site, what, list, sizeof...(Args));
  }
}

}  // namespace detail
}  // namespace leat
