// SPDX-License-Identifier: BSL-1.0
//
// Uses each module once, from compiled code and not only from headers, so that a library missing from the
// link line shows. run.sh compares what it prints.
#include <cstdio>

#include <leat/base/units.hpp>

#if __has_include(<leat/config/json_schema.hpp>)
#include <leat/config/json_schema.hpp>

namespace {
bool has_schema() { return !leat::config::json_schema().empty(); }
}  // namespace
#else
namespace {
bool has_schema() { return true; }
}  // namespace
#endif

#if __has_include(<leat/fiber/stack_pool.hpp>)
#include <leat/fiber/fiber.hpp>
#include <leat/fiber/stack_pool.hpp>

namespace {

namespace fib = leat::fiber;

struct job {
  fib::context context;
  int answer = 0;
};

void work(fib::thread& on, void* arg) {
  auto& self = *static_cast<job*>(arg);
  self.answer = 42;
  fib::finish(on, self.context, on.self, nullptr, nullptr);
}

int run_fiber() {
  fib::stack_error error;
  fib::stack* stack = fib::stack_pool::process_wide().acquire(64 * 1024, error);
  if (!stack) {
    std::fprintf(stderr, "%s\n", error.text().c_str());
    return -1;
  }
  fib::thread me;
  me.attach();
  job j;
  fib::prepare(j.context, *stack, &work, &j, fib::fp_state::read());
  fib::switch_to(me, me.self, j.context);
  fib::stack_pool::release(stack);
  return j.answer;
}

}  // namespace
#else
namespace {
int run_fiber() { return 42; }
}  // namespace
#endif

int main() {
  const auto duration = leat::parse_duration("250ms");
  const auto size = leat::parse_size("64K");
  if (!duration || !size || !has_schema()) return 1;
  std::printf("%s %s %d\n", leat::format_duration(*duration.value).c_str(),
              leat::format_size(*size.value).c_str(), run_fiber());
  return 0;
}
