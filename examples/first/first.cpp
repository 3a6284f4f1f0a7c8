// SPDX-License-Identifier: BSL-1.0
//
// Two fibers that take turns on one thread, and what their stacks used.
#include <cstdio>

#include <leat/fiber/fiber.hpp>
#include <leat/fiber/stack_pool.hpp>

namespace fiber = leat::fiber;

namespace {

struct counter {
  const char* name;
  fiber::context self;
  fiber::stack* stack = nullptr;
  bool done = false;
};

void count_to_three(fiber::thread& t, void* arg) {
  auto& me = *static_cast<counter*>(arg);
  fiber::thread* on = &t;
  for (int i = 1; i <= 3; ++i) {
    std::printf("%s: %d\n", me.name, i);
    on = &fiber::switch_to(*on, me.self, on->self);
  }
  me.done = true;
  fiber::finish(*on, me.self, on->self, nullptr, nullptr);
}

}  // namespace

int main() {
  fiber::thread main_thread;
  main_thread.attach();
  counter counters[] = {{"left", {}}, {"right", {}}};
  for (counter& c : counters) {
    fiber::stack_error error;
    c.stack = fiber::stack_pool::process_wide().acquire(64 * 1024, error);
    if (!c.stack) {
      std::fprintf(stderr, "first: %s\n", error.text().c_str());
      return 1;
    }
    fiber::prepare(c.self, *c.stack, count_to_three, &c, fiber::fp_state::read());
  }
  for (bool running = true; running;) {
    running = false;
    for (counter& c : counters) {
      if (c.done) continue;
      fiber::switch_to(main_thread, main_thread.self, c.self);
      running = true;
    }
  }
  for (counter& c : counters) {
    std::printf("%s used %zu bytes of its %zu byte stack\n", c.name, c.stack->high_water(), c.stack->size());
    fiber::stack_pool::release(c.stack);
  }
}
