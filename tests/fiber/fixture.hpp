// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <doctest/doctest.h>
#include <functional>

#include <leat/fiber/fiber.hpp>
#include <leat/fiber/stack_pool.hpp>

namespace leat::fiber::test {

inline constexpr std::size_t stack_size = 64 * 1024;

// A fiber that runs a function, and can be resumed by any thread. The pool must outlive it.
class simple_fiber {
 public:
  simple_fiber(stack_pool& pool, std::function<void(simple_fiber&)> body, std::size_t size = stack_size)
      : body_(std::move(body)) {
    stack_error error;
    stack_ = pool.acquire(size, error);
    REQUIRE_MESSAGE(stack_, error.text());
    prepare(context_, *stack_, &simple_fiber::enter, this, fp_state::read());
  }
  ~simple_fiber() {
    CHECK(done_);
    stack_pool::release(stack_);
  }
  simple_fiber(const simple_fiber&) = delete;
  simple_fiber& operator=(const simple_fiber&) = delete;

  // Called on the thread `on`; returns when the fiber parks or ends.
  void resume(thread& on) { switch_to(on, on.self, context_); }
  bool done() const { return done_; }

  // Called by the body.
  void park(after_fn after = nullptr, void* arg = nullptr) {
    on_ = &switch_to(*on_, context_, on_->self, after, arg);
  }
  thread& on() { return *on_; }
  context& ctx() { return context_; }
  fiber::stack& stk() { return *stack_; }

 private:
  static void enter(thread& t, void* arg) {
    auto& self = *static_cast<simple_fiber*>(arg);
    self.on_ = &t;
    self.body_(self);
    self.done_ = true;
    finish(*self.on_, self.context_, self.on_->self, nullptr, nullptr);
  }

  std::function<void(simple_fiber&)> body_;
  context context_;
  fiber::stack* stack_ = nullptr;
  thread* on_ = nullptr;
  bool done_ = false;
};

struct attached_thread : thread {
  attached_thread() { attach(); }
};

}  // namespace leat::fiber::test
