// SPDX-License-Identifier: BSL-1.0
//
// Starting Gs: leat::go for those that live on their own, leat::spawn for those that somebody joins.
#pragma once
#include <cstddef>
#include <exception>
#include <functional>
#include <memory>
#include <new>
#include <optional>
#include <stdexcept>
#include <string_view>
#include <type_traits>
#include <utility>

#include <leat/sched/g.hpp>
#include <leat/sched/stop.hpp>

namespace leat {

class overrun_guard;  // overrun.hpp

// Thrown by go and spawn when no runtime runs, or it has no room for another G; on a plain thread also when
// main has returned, since the G could only be stopped.
class spawn_error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

struct spawn_options {
  std::string_view name = {};
  std::size_t stack = 0;                         // bytes; 0: the runtime's default
  std::optional<sched::own_thread> thread = {};  // 1:1: a thread of its own, pinned or real-time
  std::optional<stop_source> stop = {};
  std::shared_ptr<overrun_guard> guard = {};  // limits for a G that runs without entering the runtime
};

using sched::own_thread;

enum class join_result : unsigned char { ended, stopped };

namespace sched {

// A G ready to be filled in; throws spawn_error or what the options deserve.
G& make_g(const spawn_options& options);
// Throws spawn_error, and has freed the G and what it holds, when the runtime has ended since make_g.
void start_g(G& g);
void free_g(G& g) noexcept;
void report_escaped(G& g, std::exception_ptr e) noexcept;

// Until the G is done, or (if `interruptible`) the caller is asked to stop.
join_result join_g(G& g, bool may_stop);
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

}  // namespace sched

// Starts f() and forgets it. An exception that escapes is logged; leat::stopped is not.
template <class F>
requires std::invocable < std::decay_t<F>
& > void go(const spawn_options& options, F&& f) {
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
template <class F>
requires std::invocable < std::decay_t<F>
& > void go(F&& f) { go(spawn_options{}, std::forward<F>(f)); }
template <class F>
void go(std::string_view name, F&& f) {
  go(spawn_options{.name = name}, std::forward<F>(f));
}

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

  // Waits for the end, also past a stop of the caller; returns the result or throws what the task threw.
  T get() {
    if (!g_) throw std::logic_error("get on a task that holds nothing");
    (void)sched::join_g(*g_, false);
    struct releaser {
      task* t;
      ~releaser() { t->release(false); }
    } at_end{this};
    if (g_->extras & sched::g_failed) std::rethrow_exception(g_->failure);
    if constexpr (!std::is_void_v<T>) return std::move(**result_(*g_));
  }

 private:
  template <class F>
  requires std::invocable < std::decay_t<F>
  & > friend auto spawn(const spawn_options& options, F&& f) -> task<std::invoke_result_t<std::decay_t<F>&>>;

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
template <class F>
requires std::invocable < std::decay_t<F>
& > auto spawn(const spawn_options& options, F&& f) -> task<std::invoke_result_t<std::decay_t<F>&>> {
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
template <class F>
requires std::invocable < std::decay_t<F>
& > auto spawn(F&& f) { return spawn(spawn_options{}, std::forward<F>(f)); }
template <class F>
auto spawn(std::string_view name, F&& f) {
  return spawn(spawn_options{.name = name}, std::forward<F>(f));
}

}  // namespace leat
