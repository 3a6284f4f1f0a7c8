// SPDX-License-Identifier: BSL-1.0
#include "support/alloc_count.hpp"

#include <doctest/doctest.h>

#include <memory>
#include <vector>

LEAT_COUNT_ALLOCATIONS();

namespace {

struct alignas(256) wide {
  char bytes[256];
};

// Opaque, lest the compiler elide a new that it sees deleted.
void use(void* memory) { asm volatile("" ::"r"(memory) : "memory"); }

}  // namespace

TEST_CASE("each new and delete is counted, with its bytes") {
  const leat::test::alloc_count count;
  {
    auto one = std::make_unique<long>(1);
    use(one.get());
    CHECK(count.allocations() == 1);
    CHECK(count.bytes() == sizeof(long));
    auto many = std::make_unique<long[]>(10);
    use(many.get());
    CHECK(count.allocations() == 2);
    auto aligned = std::make_unique<wide>();
    use(aligned.get());
    CHECK(reinterpret_cast<std::uintptr_t>(aligned.get()) % 256 == 0);
    CHECK(count.allocations() == 3);
    CHECK(count.deallocations() == 0);
  }
  CHECK(count.deallocations() == 3);
}

TEST_CASE("code that allocates nothing counts as nothing") {
  const leat::test::alloc_count count;
  int numbers[4] = {};
  use(numbers);
  CHECK(count.allocations() == 0);
}
