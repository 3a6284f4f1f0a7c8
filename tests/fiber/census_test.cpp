// SPDX-License-Identifier: BSL-1.0
#include <string>

#include <leat/fiber/census.hpp>

#include "fixture.hpp"

using namespace leat::fiber;
using namespace leat::fiber::test;

namespace {

struct job {
  context self;
  std::size_t deep;
};

void use_stack(thread& t, void* arg) {
  auto& j = *static_cast<job*>(arg);
  auto* p = static_cast<volatile char*>(__builtin_alloca(j.deep));
  p[0] = 1;
  asm volatile("" : : "r"(p) : "memory");
  finish(t, j.self, t.self, nullptr, nullptr);
}

}  // namespace

TEST_CASE("a census tells each class of process apart, also when they share pooled stacks") {
  stack_pool pool;
  attached_thread me;
  census counts;
  const auto run = [&](const char* name, std::size_t deep) {
    stack_error error;
    stack* s = pool.acquire(stack_size, error);
    census::begin(*s);
    job j{{}, deep};
    prepare(j.self, *s, use_stack, &j, fp_state::read());
    switch_to(me, me.self, j.self);
    counts.end(name, *s);
    pool.release(s);
  };
  for (int i = 0; i < 10; ++i) {
    run("parser", 30'000);
    run("ticker", 500);
  }
  run("parser", 40'000);
  const auto rows = counts.rows();
  REQUIRE(rows.size() == 2);
  CHECK(rows[0].name == "parser");
  CHECK(rows[0].runs == 11);
  CHECK(rows[0].most >= 40'000);
  const std::size_t spare =
      1000 + 2 * os_memory::page_size();  // of frames, and of the first and the last page
  CHECK(rows[0].most < 40'000 + spare);
  CHECK(rows[0].mean < rows[0].most);
  CHECK(rows[1].name == "ticker");
  CHECK(rows[1].most < 500 + spare);
  CHECK(rows[1].size == stack_size);
  CHECK(counts.report().find("parser: 11 runs") != std::string::npos);
  if (os_memory::page_size() == 4096) CHECK(counts.report().find("16K would do") != std::string::npos);
}
