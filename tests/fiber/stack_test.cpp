// SPDX-License-Identifier: BSL-1.0
#include <cstring>
#include <set>
#include <thread>
#include <vector>

#include "fixture.hpp"

using namespace leat::fiber;
using namespace leat::fiber::test;

namespace {
// Uses at least `bytes` of the calling stack.
[[gnu::noinline]] void dig(std::size_t bytes) {
  auto* p = static_cast<volatile char*>(__builtin_alloca(bytes));
  p[0] = 1;
  asm volatile("" : : "r"(p) : "memory");
}
}  // namespace

TEST_CASE("a stack of n bytes has n bytes, in whole pages") {
  stack_pool pool;
  stack_error error;
  const std::size_t page = os_memory::page_size();
  for (const std::size_t asked : {min_stack_size, min_stack_size + 1, std::size_t{100'000}, max_stack_size}) {
    stack* s = pool.acquire(asked, error);
    REQUIRE_MESSAGE(s, error.text());
    CHECK(s->size() == (asked + page - 1) / page * page);
    std::memset(s->low(), 1, s->size());
    pool.release(s);
  }
}

TEST_CASE("sizes that no stack can have are refused by name") {
  stack_pool pool;
  for (const std::size_t bad :
       {std::size_t{0}, std::size_t{1}, min_stack_size - 1, max_stack_size + 1, ~std::size_t{0}}) {
    stack_error error;
    CHECK(pool.acquire(bad, error) == nullptr);
    CHECK(error.code == stack_errc::bad_size);
    CHECK(error.asked == bad);
    CHECK(error.text().find("between 16K and 8M") != std::string::npos);
  }
}

TEST_CASE("more different sizes than a pool keeps apart are refused") {
  // Few of each: a reserve for very many takes the address space that a sanitizer needs.
  stack_pool pool({.stacks_per_size = 4});
  std::vector<stack*> held;
  stack_error error;
  for (std::size_t i = 0; i < stack_pool::max_sizes; ++i) {
    held.push_back(pool.acquire(min_stack_size + i * os_memory::page_size(), error));
    REQUIRE(held.back());
  }
  CHECK(pool.acquire(max_stack_size, error) == nullptr);
  CHECK(error.code == stack_errc::too_many_sizes);
  CHECK(error.limit == stack_pool::max_sizes);
  for (stack* s : held) pool.release(s);
}

TEST_CASE("a full region says how many it holds, and goes on when one comes back") {
  stack_pool pool({.stacks_per_size = 10});
  std::vector<stack*> held;
  stack_error error;
  for (int i = 0; i < 10; ++i) held.push_back(pool.acquire(stack_size, error));
  CHECK(pool.acquire(stack_size, error) == nullptr);
  CHECK(error.code == stack_errc::region_full);
  CHECK(error.limit == 10);
  CHECK(error.text().find("all 10") != std::string::npos);
  pool.release(held.back());
  held.back() = pool.acquire(stack_size, error);
  CHECK(held.back());
  for (stack* s : held) pool.release(s);
}

TEST_CASE("the stack given back last is the one handed out next") {
  stack_pool pool;
  stack_error error;
  stack* a = pool.acquire(stack_size, error);
  stack* b = pool.acquire(stack_size, error);
  pool.release(a);
  pool.release(b);
  CHECK(pool.acquire(stack_size, error) == b);
  CHECK(pool.acquire(stack_size, error) == a);
  pool.release(a);
  pool.release(b);
}

namespace {
struct digger {
  context self;
  std::size_t deep;
};
void dig_and_finish(thread& t, void* arg) {
  auto& d = *static_cast<digger*>(arg);
  dig(d.deep);
  finish(t, d.self, t.self, nullptr, nullptr);
}
}  // namespace

TEST_CASE("high water tells how deep a fiber went, and a discard forgets it") {
  stack_pool pool;
  attached_thread me;
  stack_error error;
  stack* s = pool.acquire(128 * 1024, error);
  REQUIRE(s);
  CHECK(s->high_water() == 0);
  for (const std::size_t deep : {std::size_t{40'000}, std::size_t{9'000}, std::size_t{1'000}}) {
    s->discard();
    digger d{{}, deep};
    prepare(d.self, *s, dig_and_finish, &d, fp_state::read());
    switch_to(me, me.self, d.self);
    CHECK(s->high_water() >= deep);
    CHECK(s->high_water() <= deep + 2 * os_memory::page_size());
  }
  pool.release(s);
}

TEST_CASE("stacks lie an odd number of pages apart") {
  const std::size_t page = os_memory::page_size();
  for (std::size_t size = min_stack_size; size < min_stack_size + 4 * page; size += page) {
    CAPTURE(size);
    CHECK(stack_region::stride(size) / page % 2 == 1);
    CHECK(stack_region::stride(size) >= size + page);
    CHECK(stack_region::stride(size) <= size + 3 * page);
  }
}

TEST_CASE("every stack has what was asked for, wherever in its first page it begins") {
  stack_pool pool;
  stack_error error;
  const std::size_t page = os_memory::page_size();
  std::vector<stack*> held;
  std::set<std::uintptr_t> begins;
  for (int i = 0; i < 64; ++i) {
    stack* const s = pool.acquire(min_stack_size, error);
    REQUIRE(s);
    held.push_back(s);
    const auto all = static_cast<std::size_t>(s->high() - s->low());
    CHECK(all >= min_stack_size);
    CHECK(s->mapped() >= all);
    CHECK(s->mapped() <= min_stack_size + page);
    CHECK(reinterpret_cast<std::uintptr_t>(s->high()) % 64 == 0);
    begins.insert(reinterpret_cast<std::uintptr_t>(s->high()) % page);
    std::memset(s->low(), 1, all);
  }
#if defined(__x86_64__)
  CHECK(begins.size() == 16);
#endif
  for (stack* s : held) pool.release(s);
}

TEST_CASE("memory of stacks that stay unused is returned after as many rounds as asked for") {
  stack_pool pool;
  stack_error error;
  std::vector<stack*> held;
  for (int i = 0; i < 20; ++i) {
    held.push_back(pool.acquire(stack_size, error));
    std::memset(held.back()->low(), 1, stack_size);
  }
  for (stack* s : held) pool.release(s);
  CHECK(pool.trim(2) == 0);
  CHECK(pool.trim(2) == 0);
  // One that was in use meanwhile stays warm.
  stack* used = pool.acquire(stack_size, error);
  pool.release(used);
  CHECK(pool.trim(2) == 19);
  CHECK(held.front()->high_water() == 0);
  CHECK(used->high_water() == static_cast<std::size_t>(used->high() - used->low()));
  region_counts seen;
  pool.each_region([&](const stack_region& r) { seen = r.counts(); });
  CHECK(seen.carved == 20);
  CHECK(seen.free_warm == 1);
  CHECK(seen.free_fresh == 19);
}

TEST_CASE("a cache hands out the hottest stack and passes on what it cannot hold") {
  stack_pool pool;
  stack_error error;
  stack_cache cache;
  cache.bind(*pool.region_for(stack_size, error));
  std::vector<stack*> held;
  for (std::size_t i = 0; i < 3 * stack_cache::capacity; ++i) held.push_back(cache.acquire(error));
  for (stack* s : held) cache.release(s);
  CHECK(cache.size() <= stack_cache::capacity);
  CHECK(cache.acquire(error) == held.back());
  cache.release(held.back());
  stack* other = pool.acquire(2 * stack_size, error);
  const std::size_t before = cache.size();
  cache.release(other);
  CHECK(cache.size() == before);
  cache.clear();
  CHECK(cache.size() == 0);
  pool.each_region([](const stack_region& r) { CHECK(r.counts().free_warm == r.counts().carved); });
}

TEST_CASE("threads take and give stacks at once without losing any") {
  stack_pool pool;
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&pool] {
      stack_error error;
      for (int round = 0; round < 2000; ++round) {
        stack* s[8];
        for (stack*& one : s) {
          one = pool.acquire(stack_size, error);
          one->low()[one->size() - 1] = 1;
        }
        for (stack* one : s) pool.release(one);
        if (round % 500 == 0) pool.trim(0);
      }
    });
  for (auto& t : threads) t.join();
  pool.each_region([](const stack_region& r) {
    CHECK(r.counts().carved <= 32 * (1 + 4));  // 32 in use, and as many again in the hands of each trim
    CHECK(r.counts().free_warm + r.counts().free_fresh == r.counts().carved);
  });
}
