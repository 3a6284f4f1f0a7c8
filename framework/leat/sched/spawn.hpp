// SPDX-License-Identifier: BSL-1.0
//
// Starting Gs: leat::go for those that live on their own, leat::spawn (task.hpp) for those that somebody joins.
#pragma once
#include <atomic>
#include <exception>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/sched/closure.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/spawn_options.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/task.hpp>

namespace leat {

// Starts f() and forgets it. An exception that escapes is logged; leat::stopped is not.
template <spawnable F>
void go(const spawn_options& options, F&& f) {
  using body = std::decay_t<F>;
  sched::G& g = sched::make_g(options);
  sched::emplace_body<body>(g, std::forward<F>(f));
  g.join.store(sched::join_detached, std::memory_order_relaxed);
  g.body = [](sched::G& self) {
    try {
      sched::body_of<body>(self)();
    } catch (const stopped&) {
    } catch (...) {
      sched::report_escaped(self, std::current_exception());
    }
    sched::destroy_body<body>(self);
  };
  sched::start_g(g);
}
template <spawnable F>
void go(F&& f) {
  go(spawn_options{}, std::forward<F>(f));
}
template <class F>
void go(std::string_view name, F&& f) {
  go(spawn_options{.name = name}, std::forward<F>(f));
}
// f(args...). As with std::thread, f and the arguments are copied or moved in; std::ref(x) for one that
// is not.
template <class F, class... Args>
  requires sched::callable_with<F, Args...>
void go(F&& f, Args&&... args) {
  go(spawn_options{}, sched::bound(std::forward<F>(f), std::forward<Args>(args)...));
}
template <class F, class... Args>
  requires sched::callable_with<F, Args...>
void go(const spawn_options& options, F&& f, Args&&... args) {
  go(options, sched::bound(std::forward<F>(f), std::forward<Args>(args)...));
}
template <class F, class... Args>
  requires sched::callable_with<F, Args...>
void go(std::string_view name, F&& f, Args&&... args) {
  go(spawn_options{.name = name}, sched::bound(std::forward<F>(f), std::forward<Args>(args)...));
}

}  // namespace leat
