// SPDX-License-Identifier: BSL-1.0
//
// A function in a G: made, run, joined, destroyed. For spawn.hpp and task.hpp.
#pragma once
#include <concepts>
#include <exception>
#include <new>
#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/spawn_options.hpp>

namespace leat {

enum class join_result : unsigned char { ended, stopped, timeout };

namespace sched {

// A G ready to be filled in; throws spawn_error or what the options deserve.
G& make_g(const spawn_options& options);
// Throws spawn_error, and has freed the G and what it holds, when the runtime has ended since make_g.
void start_g(G& g);
void free_g(G& g) noexcept;
void report_escaped(G& g, std::exception_ptr e) noexcept;

// Until the G is done, the deadline, or (if `may_stop`) a stop of the caller.
join_result join_g(G& g, bool may_stop, deadline until = deadline::never());
// What the G ended with; or that it was quarantined, which is put into words here and not by sysmon.
[[noreturn]] void rethrow_failure(G& g);
// When it is done. The extras of a quarantined one are its own: it may still be running somewhere.
inline bool has_failed(const G& g) noexcept {
  return g.status.load(std::memory_order_relaxed) == g_status::quarantined || (g.extras & g_failed) != 0;
}
inline bool is_done(const G& g) noexcept { return g.join.load(std::memory_order_acquire) == join_done; }
void ask_to_stop(G& g) noexcept;

// Body: what to run, in the G's own memory if it fits, else on the heap.
template <class Body>
inline constexpr bool fits_inline = sizeof(Body) <= G::closure_size && alignof(Body) <= 16;

template <class Body>
Body& body_of(G& g) noexcept {
  if constexpr (fits_inline<Body>) {
    return *std::launder(reinterpret_cast<Body*>(g.closure));
  } else {
    return **reinterpret_cast<Body**>(g.closure);
  }
}
template <class Body>
void destroy_body(G& g) noexcept {
  if constexpr (fits_inline<Body>) {
    body_of<Body>(g).~Body();
  } else {
    delete &body_of<Body>(g);
  }
}
// From here on the G owns a Body. If that throws, the G is free again.
template <class Body, class... Args>
void emplace_body(G& g, Args&&... args) {
  try {
    if constexpr (fits_inline<Body>) {
      new (g.closure) Body(std::forward<Args>(args)...);
    } else {
      *reinterpret_cast<Body**>(g.closure) = new Body(std::forward<Args>(args)...);
    }
  } catch (...) {
    free_g(g);
    throw;
  }
  g.drop = &destroy_body<Body>;
}

// A spawned function and, after it, its result.
template <class F, class T>
struct task_body {
  explicit task_body(F&& f) : run(std::move(f)) {}
  explicit task_body(const F& f) : run(f) {}
  std::optional<F> run;
  std::conditional_t<std::is_void_v<T>, char, std::optional<T>> result{};
};

// f(args...), as std::thread would call it: with copies of its own.
template <class F, class... Args>
auto bound(F&& f, Args&&... args) {
  return [f = std::decay_t<F>(std::forward<F>(f)),
          all = std::tuple<std::decay_t<Args>...>(std::forward<Args>(args)...)]() mutable -> decltype(auto) {
    return std::apply(std::move(f), std::move(all));
  };
}
template <class F, class... Args>
concept callable_with = sizeof...(Args) > 0 && std::invocable<std::decay_t<F>, std::decay_t<Args>...>;

}  // namespace sched

}  // namespace leat
