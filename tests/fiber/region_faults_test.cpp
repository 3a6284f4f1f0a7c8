// SPDX-License-Identifier: BSL-1.0
//
// What happens when the kernel says no: every memory call is made to fail, once at each place.
#include <algorithm>
#include <cerrno>
#include <map>
#include <vector>

#include "fixture.hpp"

using namespace leat::fiber;
using namespace leat::fiber::test;

namespace {

// Passes calls on, keeps account of what is mapped, and refuses what it is told to.
class moody_memory final : public os_memory {
 public:
  int fail_call = -1;          // this call, counted from 0, fails
  bool refuse_guards = false;  // a kernel before 6.13
  std::size_t maps = 65530;
  std::size_t most_reserve = ~std::size_t{0};
  std::size_t space = no_limit;  // what `ulimit -v` leaves, before anything is mapped
  int calls = 0;
  int protects = 0;
  std::map<void*, std::size_t> mapped;

  bool fails() { return calls++ == fail_call; }

  void* reserve(std::size_t bytes) noexcept override {
    if (fails() || bytes > most_reserve) {
      errno = ENOMEM;
      return nullptr;
    }
    void* p = os_memory::reserve(bytes);
    mapped[p] = bytes;
    return p;
  }
  int open(void* at, std::size_t bytes) noexcept override {
    return fails() ? ENOMEM : os_memory::open(at, bytes);
  }
  int guard(void* at, std::size_t bytes) noexcept override {
    if (refuse_guards) return EINVAL;
    return fails() ? ENOMEM : os_memory::guard(at, bytes);
  }
  int protect(void* at, std::size_t bytes) noexcept override {
    if (fails()) return ENOMEM;
    ++protects;
    return os_memory::protect(at, bytes);
  }
  void release(void* at, std::size_t bytes) noexcept override {
    CHECK(mapped[at] == bytes);
    mapped.erase(at);
    os_memory::release(at, bytes);
  }
  std::size_t max_maps() noexcept override { return maps; }
  std::size_t space_left() noexcept override {
    if (space == no_limit) return no_limit;
    std::size_t used = 0;
    for (const auto& [at, bytes] : mapped) used += bytes;
    return space - std::min(space, used);
  }
};

bool kernel_has_guards() {
  void* p = os_memory::system().reserve(os_memory::page_size());
  const bool has = os_memory::system().open(p, os_memory::page_size()) == 0 &&
                   os_memory::system().guard(p, os_memory::page_size()) == 0;
  os_memory::system().release(p, os_memory::page_size());
  return has;
}

}  // namespace

TEST_CASE("a memory call that fails gives a typed error, leaks nothing, and the next try works") {
  for (const bool old_kernel : {false, true}) {
    if (!old_kernel && !kernel_has_guards()) continue;
    int failed = 0;
    for (int at = 0; at < 200; ++at) {
      moody_memory os;
      os.fail_call = at;
      os.refuse_guards = old_kernel;
      {
        stack_pool pool({.os = &os, .stacks_per_size = 128});
        std::vector<stack*> held;
        bool seen = false;
        for (int i = 0; i < 40; ++i) {
          stack_error error;
          if (stack* s = pool.acquire(stack_size, error)) {
            held.push_back(s);
          } else {
            seen = true;
            CHECK((error.code == stack_errc::no_memory || error.code == stack_errc::too_many_maps));
            CHECK(error.os_error == ENOMEM);
            CHECK(error.text().find("no stack of 64K") != std::string::npos);
          }
        }
        CHECK(held.size() >= 38);
        failed += seen;
        for (stack* s : held) pool.release(s);
      }
      CHECK(os.mapped.empty());
    }
    CHECK(failed > 20);
  }
}

TEST_CASE("on a kernel without guard advice stacks are guarded by mprotect, up to a clear limit") {
  moody_memory os;
  os.refuse_guards = true;
  os.maps = 10'000;
  stack_pool pool({.os = &os});
  std::vector<stack*> held;
  stack_error error;
  while (stack* s = pool.acquire(min_stack_size, error)) held.push_back(s);
  CHECK(error.code == stack_errc::too_many_maps);
  CHECK(error.limit == held.size());
  CHECK(error.text().find("vm.max_map_count") != std::string::npos);
  CHECK(error.text().find("6.13") != std::string::npos);
  CHECK(held.size() == (os.maps - 4096) / 2);
  CHECK(os.protects == static_cast<int>(held.size()));
  // What was given back can be had again.
  pool.release(held.back());
  held.back() = pool.acquire(min_stack_size, error);
  CHECK(held.back());
  for (stack* s : held) pool.release(s);
}

TEST_CASE("under a limit on address space stacks of all sizes leave most of it to others") {
  for (std::size_t megabytes = 10; megabytes <= 600; megabytes += 10) {
    moody_memory os;
    os.space = megabytes << 20;
    stack_pool pool({.os = &os});
    std::vector<stack*> held;
    for (const std::size_t size : {stack_size, min_stack_size, 4 * stack_size}) {
      stack_error error;
      const std::size_t before = os.space_left();
      stack* const s = pool.acquire(size, error);
      REQUIRE_MESSAGE(s, error.text());
      CHECK(before - os.space_left() <= before / 4 + before / 100);
      CHECK(s->region().counts().limit >= 4);
      held.push_back(s);
    }
    for (stack* s : held) pool.release(s);
  }
}

TEST_CASE("one stack is there where a quarter of the address space is not even that") {
  moody_memory os;
  os.space = 20 << 20;
  stack_pool pool({.os = &os});
  stack_error error;
  stack* const s = pool.acquire(max_stack_size, error);
  REQUIRE_MESSAGE(s, error.text());
  CHECK(pool.acquire(max_stack_size, error) == nullptr);
  CHECK(error.code == stack_errc::region_full);
  pool.release(s);
}

TEST_CASE("little address space makes a smaller region, none a typed error") {
  moody_memory os;
  os.most_reserve = 10 * 1024 * 1024;
  {
    stack_pool pool({.os = &os});
    stack_error error;
    stack* s = pool.acquire(stack_size, error);
    REQUIRE(s);
    CHECK(s->region().counts().limit >= 64);
    CHECK(s->region().counts().limit * stack_size <= os.most_reserve);
    pool.release(s);
  }
  CHECK(os.mapped.empty());
  os.most_reserve = 4096;
  stack_pool pool({.os = &os});
  stack_error error;
  CHECK(pool.acquire(stack_size, error) == nullptr);
  CHECK(error.code == stack_errc::no_address_space);
  CHECK(error.text().find("ulimit -v") != std::string::npos);
}
