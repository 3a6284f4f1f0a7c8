// SPDX-License-Identifier: BSL-1.0
#include <cfenv>
#include <exception>
#include <stdexcept>
#include <string>
#include <vector>

#include "fixture.hpp"

#if defined(__SSE_MATH__)
#include <xmmintrin.h>
#endif

using namespace leat::fiber;
using namespace leat::fiber::test;

TEST_CASE("a fiber runs when it is switched to and goes on where it parked") {
  stack_pool pool;
  attached_thread me;
  std::vector<int> seen;
  simple_fiber f(pool, [&](simple_fiber& self) {
    seen.push_back(1);
    self.park();
    seen.push_back(2);
  });
  CHECK(seen.empty());
  f.resume(me);
  CHECK(seen == std::vector{1});
  f.resume(me);
  CHECK(seen == std::vector{1, 2});
  CHECK(f.done());
}

TEST_CASE("the after function runs on the far side, when the fiber can already be resumed") {
  stack_pool pool;
  attached_thread me;
  struct seen_by_after {
    simple_fiber* f;
    void* sp = nullptr;
    bool on_fiber_stack = true;
  } seen{nullptr};
  simple_fiber f(pool, [&](simple_fiber& self) {
    self.park(
        [](void* arg) {
          auto& s = *static_cast<seen_by_after*>(arg);
          char here = 0;
          s.sp = s.f->ctx().sp;
          s.on_fiber_stack = &here >= s.f->stk().low() && &here < s.f->stk().high();
        },
        &seen);
  });
  seen.f = &f;
  f.resume(me);
  CHECK(seen.sp != nullptr);
  CHECK_FALSE(seen.on_fiber_stack);
  f.resume(me);
}

TEST_CASE("fibers switch to each other without passing the thread's own context") {
  stack_pool pool;
  attached_thread me;
  std::string order;
  simple_fiber* second = nullptr;
  simple_fiber first(pool, [&](simple_fiber& self) {
    order += 'a';
    thread& t = switch_to(self.on(), self.ctx(), second->ctx());
    CHECK(&t == &me);
    order += 'c';
  });
  simple_fiber other(pool, [&](simple_fiber& self) {
    order += 'b';
    switch_to(me, self.ctx(), first.ctx());
    order += 'd';
  });
  second = &other;
  first.resume(me);
  CHECK(order == "abc");
  CHECK(first.done());
  other.resume(me);
  CHECK(order == "abcd");
}

TEST_CASE("a stack is used again by the next fiber as soon as the first has finished") {
  stack_pool pool;
  attached_thread me;
  char* low = nullptr;
  for (int i = 0; i < 1000; ++i) {
    simple_fiber f(pool, [](simple_fiber&) {});
    if (i == 0) low = f.stk().low();
    CHECK(f.stk().low() == low);
    f.resume(me);
  }
}

TEST_CASE("a fiber may park inside a catch block while others throw on the same thread") {
  stack_pool pool;
  attached_thread me;
  const auto thrower = [](std::string name) {
    return [name](simple_fiber& self) {
      try {
        throw std::runtime_error(name);
      } catch (const std::exception& e) {
        self.park();
        CHECK(e.what() == name);
        try {
          throw;
        } catch (const std::exception& again) {
          self.park();
          CHECK(again.what() == name);
        }
      }
      CHECK(std::current_exception() == nullptr);
    };
  };
  simple_fiber a(pool, thrower("a")), b(pool, thrower("b"));
  for (int i = 0; i < 3; ++i) {
    a.resume(me);
    CHECK(std::current_exception() == nullptr);
    b.resume(me);
  }
}

TEST_CASE("uncaught_exceptions counts the fiber's own when it parks during unwinding") {
  stack_pool pool;
  attached_thread me;
  struct parks_in_destructor {
    simple_fiber& self;
    ~parks_in_destructor() {
      CHECK(std::uncaught_exceptions() == 1);
      self.park();
      CHECK(std::uncaught_exceptions() == 1);
    }
  };
  simple_fiber f(pool, [](simple_fiber& self) {
    try {
      parks_in_destructor p{self};
      throw 1;
    } catch (int) {
    }
    CHECK(std::uncaught_exceptions() == 0);
  });
  f.resume(me);
  CHECK(std::uncaught_exceptions() == 0);
  f.resume(me);
}

TEST_CASE("each fiber has its own rounding mode, and a new one has what its maker asked for") {
  stack_pool pool;
  attached_thread me;
  REQUIRE(std::fegetround() == FE_TONEAREST);
  simple_fiber up(pool, [](simple_fiber& self) {
    CHECK(std::fegetround() == FE_TONEAREST);
    std::fesetround(FE_UPWARD);
    self.park();
    CHECK(std::fegetround() == FE_UPWARD);
    std::fesetround(FE_TONEAREST);
  });
  simple_fiber plain(pool, [](simple_fiber& self) {
    CHECK(std::fegetround() == FE_TONEAREST);
    self.park();
    CHECK(std::fegetround() == FE_TONEAREST);
  });
  up.resume(me);
  CHECK(std::fegetround() == FE_TONEAREST);
  plain.resume(me);
  std::fesetround(FE_DOWNWARD);
  // Started by a thread with another mode: what counts is the mode at prepare.
  simple_fiber down(pool, [](simple_fiber&) { CHECK(std::fegetround() == FE_DOWNWARD); });
  std::fesetround(FE_TONEAREST);
  down.resume(me);
  CHECK(std::fegetround() == FE_TONEAREST);
  up.resume(me);
  plain.resume(me);
}

#if defined(__SSE_MATH__)
TEST_CASE("each fiber has its own modes of the vector unit, which are not those that fegetround tells of") {
  constexpr unsigned flush_to_zero = 0x8000, round_up = 0x4000, raised = 0x3f;
  const auto modes = [] { return _mm_getcsr() & ~raised; };
  stack_pool pool;
  attached_thread me;
  const unsigned usual = modes();
  simple_fiber other(pool, [&](simple_fiber& self) {
    CHECK(modes() == usual);
    _mm_setcsr(usual | flush_to_zero | round_up);
    self.park();
    CHECK(modes() == (usual | flush_to_zero | round_up));
    volatile float five = 5, six = 6;
    CHECK(static_cast<double>(five / six) > 5. / 6);  // to the nearest it would be less
    _mm_setcsr(usual);
  });
  simple_fiber plain(pool, [&](simple_fiber& self) {
    CHECK(modes() == usual);
    self.park();
    CHECK(modes() == usual);
  });
  other.resume(me);
  CHECK(modes() == usual);
  plain.resume(me);
  other.resume(me);
  plain.resume(me);
  CHECK(modes() == usual);
}
#endif

extern "C" [[gnu::noinline]] void a_place_to_be_found(simple_fiber& self) {
  self.park();
  asm volatile("");
}

TEST_CASE("the frames of a parked fiber show where it stands") {
  stack_pool pool;
  attached_thread me;
  simple_fiber f(pool, [](simple_fiber& self) { a_place_to_be_found(self); });
  f.resume(me);
  void* found[32];
  const std::size_t n = frames(f.ctx(), found, 32);
  REQUIRE(n >= 2);
  bool in_place = false;
  const auto lo = reinterpret_cast<char*>(&a_place_to_be_found);
  for (std::size_t i = 0; i < n; ++i) {
    const auto pc = static_cast<char*>(found[i]);
    in_place |= pc > lo && pc < lo + 256;
  }
  CHECK(in_place);
  CHECK(frames(f.ctx(), found, 1) == 1);
  f.resume(me);
  CHECK(frames(f.ctx(), found, 32) == 0);
}
