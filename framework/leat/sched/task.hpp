// SPDX-License-Identifier: BSL-1.0
//
// leat::spawn: Gs that somebody joins.
#pragma once
#include <exception>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/base/clock.hpp>
#include <leat/sched/closure.hpp>
#include <leat/sched/g.hpp>
#include <leat/sched/spawn_options.hpp>

namespace leat {

// A spawned G. Its destructor asks it to stop and waits for it.
template <class T>
class [[nodiscard]] task {
 public:
  task() = default;
  task(task&& other) noexcept : g_(std::exchange(other.g_, nullptr)), result_(other.result_) {}
  task& operator=(task&& other) noexcept {
    if (this != &other) {
      release(true);
      g_ = std::exchange(other.g_, nullptr);
      result_ = other.result_;
    }
    return *this;
  }
  ~task() { release(true); }

  bool valid() const noexcept { return g_ != nullptr; }
  bool done() const noexcept { return g_ && sched::is_done(*g_); }
  void request_stop() noexcept {
    if (g_) sched::ask_to_stop(*g_);
  }

  // Waits for the end. `stopped`: the caller was asked to stop meanwhile; the task goes on.
  join_result join() {
    if (!g_) throw std::logic_error("join on a task that holds nothing");
    return sched::is_done(*g_) ? join_result::ended : sched::join_g(*g_, true);
  }
  // The same, but not past the deadline: `timeout`, and the task goes on.
  join_result join_until(deadline until) {
    if (!g_) throw std::logic_error("join_until on a task that holds nothing");
    return sched::is_done(*g_) ? join_result::ended : sched::join_g(*g_, true, until);
  }
  join_result join_for(deadline in) { return join_until(in); }

  // Waits for the end, also past a stop of the caller; returns the result or throws what the task threw.
  T get() {
    if (!g_) throw std::logic_error("get on a task that holds nothing");
    (void)sched::join_g(*g_, false);
    struct releaser {
      task* t;
      ~releaser() { t->release(false); }
    } at_end{this};
    if (sched::has_failed(*g_)) sched::rethrow_failure(*g_);
    if constexpr (!std::is_void_v<T>) return std::move(**result_(*g_));
  }

 private:
  template <spawnable F>
  friend auto spawn(const spawn_options& options, F&& f) -> task<std::invoke_result_t<std::decay_t<F>&>>;

  // Where the result is depends on the function's type, which the task does not know.
  struct nothing {};
  template <class R>
  struct result_finder {
    using type = std::optional<R>* (*)(sched::G&);
  };

  explicit task(sched::G& g) : g_(&g) {}

  void release(bool stop) noexcept {
    if (!g_) return;
    if (!sched::is_done(*g_)) {
      if (stop) sched::ask_to_stop(*g_);
      (void)sched::join_g(*g_, false);
    }
    if (g_->drop) g_->drop(*g_);
    sched::free_g(*g_);
    g_ = nullptr;
  }

  sched::G* g_ = nullptr;
  typename std::conditional_t<std::is_void_v<T>, std::type_identity<nothing>, result_finder<T>>::type
      result_{};
};

// Starts f() and gives a handle to join it and to fetch its result or exception.
template <spawnable F>
auto spawn(const spawn_options& options, F&& f) -> task<std::invoke_result_t<std::decay_t<F>&>> {
  using fn = std::decay_t<F>;
  using result = std::invoke_result_t<fn&>;
  using body = sched::task_body<fn, result>;
  sched::G& g = sched::make_g(options);
  sched::emplace_body<body>(g, std::forward<F>(f));
  g.body = [](sched::G& self) {
    auto& b = sched::body_of<body>(self);
    try {
      if constexpr (std::is_void_v<result>) {
        (*b.run)();
      } else {
        b.result.emplace((*b.run)());
      }
    } catch (...) {
      self.fail(std::current_exception());
    }
    b.run.reset();
  };
  sched::start_g(g);
  task<result> t(g);
  if constexpr (!std::is_void_v<result>)
    t.result_ = [](sched::G& x) { return &sched::body_of<body>(x).result; };
  return t;
}
template <spawnable F>
auto spawn(F&& f) {
  return spawn(spawn_options{}, std::forward<F>(f));
}
template <class F>
auto spawn(std::string_view name, F&& f) {
  return spawn(spawn_options{.name = name}, std::forward<F>(f));
}

}  // namespace leat
