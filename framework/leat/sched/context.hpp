// SPDX-License-Identifier: BSL-1.0
//
// A computation that ends as a whole: by a deadline, by cancel(), or with the one that it is part of.
//
//   leat::context request(2s);                        // this and all below it: at most two seconds
//   leat::task_group group(request.token());          // its members are asked to stop when the request ends
//   group.go([&] { ... });
//   leat::context part(request.token(), 500ms);       // at most 500 ms, and not longer than the request
//   auto t = leat::spawn({.stop = part.source()}, f); // a G of the part
//   auto r = part.run([&] { return look_up(name); }); // as if called here, but its waits end with the part
//   if (request.why() == leat::stop_reason::deadline) ...
//
// A context ends once. Then all Gs that were started with its source(), and those that are later, are asked
// to stop: every call of theirs that may wait returns `stopped` (stop.hpp). Callbacks (leat::stop_callback)
// are called, which is how contexts made from its token end as well. It ends with its object at the latest,
// and waits for nobody; a task_group or a task does.
//
// The deadline is kept by a G of its own, which sleeps, and ends soon after the object has. So a context with
// a deadline is made where leat::go can be called. Where its parent's deadline is earlier it needs none.
// Test: tests/csp/context_test.cpp.
#pragma once
#include <memory>
#include <optional>
#include <type_traits>

#include <leat/base/clock.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/stop_callback.hpp>

namespace leat {

class context {
 public:
  // Without end, but for cancel().
  context() : context(stop_token(), deadline::never()) {}
  explicit context(deadline until) : context(stop_token(), until) {}
  // Part of what `parent` belongs to: ends with it, for its reason.
  explicit context(const stop_token& parent, deadline until = deadline::never());
  ~context() { cancel(); }
  context(const context&) = delete;
  context& operator=(const context&) = delete;

  // Any G or thread. The first reason counts.
  void cancel() noexcept;
  bool ended() const noexcept { return source_.stop_requested(); }
  stop_reason why() const noexcept { return source_.token().why(); }
  // The earliest of its own deadline and those of its parents: for calls that take one.
  deadline until() const noexcept { return source_.token().until(); }

  // For spawn_options::stop, and for stop_callback and what is to be part of it.
  const stop_source& source() const noexcept { return source_; }
  stop_token token() const noexcept { return source_.token(); }

  // Calls f() on a G of the context, and returns when that has: its result, or what it threw, leat::stopped
  // too. A stop of the caller cancels the context.
  template <class F>
  auto run(F&& f) -> std::invoke_result_t<F&> {
    auto t =
        spawn(spawn_options{.name = "context", .stop = source_}, [&f]() -> decltype(auto) { return f(); });
    if (t.join() == join_result::stopped) cancel();
    return t.get();
  }

 private:
  struct relay {
    std::shared_ptr<sched::stop_state> from, to;
    void operator()() const noexcept;
  };
  static stop_source source_within(const stop_token& parent, deadline until);

  stop_source source_;
  std::optional<stop_source> timer_;  // of the G that keeps the deadline
  stop_callback<relay> from_parent_;
};

}  // namespace leat
