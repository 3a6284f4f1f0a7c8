// SPDX-License-Identifier: BSL-1.0
//
// A walk of the stack after each instruction of a jump, from a frame whose beginning the compiler keeps in
// memory (for it must be aligned beyond what the stack is), to a stack that has no frame pointer yet.
#include <cstdio>

#include <leat/fiber/switch.hpp>

#include "fixture.hpp"
#include "support/child.hpp"
#include "support/stepping.hpp"

using namespace leat::fiber;
using namespace leat::fiber::test;

namespace {

void use(void* p) noexcept { asm volatile("" ::"r"(p) : "memory"); }
void (*volatile take_many)(int, int, int, int, int, int, int, int) = [](int, int, int, int, int, int, int,
                                                                        int) {};

// GCC keeps the beginning of a frame in memory if it is aligned so, and arguments go by the stack.
[[gnu::noinline]] void leave_from_an_aligned_frame(thread& on, context& from, context& to) {
  alignas(64) char line[64];
  use(line);
  take_many(1, 2, 3, 4, 5, 6, 7, 8);
  (void)switch_here(on, from, to, nullptr, nullptr);
  use(line);
}

// doctest's checks are not for a child, so no simple_fiber.
struct visited {
  thread* on;
  context here;
};
void be_visited(thread& on, void* arg) {
  auto& v = *static_cast<visited*>(arg);
  v.on = &switch_to(on, v.here, on.self);
  finish(*v.on, v.here, v.on->self, nullptr, nullptr);
}

}  // namespace

LEAT_CHILD(walk_through_a_jump) {
  stack_pool pool;
  attached_thread me;
  stack_error error;
  stack* const s = pool.acquire(stack_size, error);
  visited v{&me, {}};
  prepare(v.here, *s, be_visited, &v, fp_state::read());
  leat::test::prepare_to_step();
  leat::test::begin_to_step();
  leave_from_an_aligned_frame(me, me.self, v.here);  // to a fresh one
  leave_from_an_aligned_frame(me, me.self, v.here);  // to one that has parked
  leat::test::end_stepping();
  stack_pool::release(s);
}

TEST_CASE("a walk of the stack that begins in a jump does not look for the frame that was left") {
  const auto child = leat::test::run_self("walk_through_a_jump");
  INFO(child.output);
  CHECK(child.exited(0));
  CHECK(child.said("stepped "));
}
