// SPDX-License-Identifier: BSL-1.0
#include <leat/fiber/stack_pool.hpp>

#include <algorithm>
#include <memory>

namespace leat::fiber {
namespace {

// How much address space one size may take: a million stacks of 64K and more on 64 bits, a fair part of
// the 3 GiB on 32. ThreadSanitizer leaves programs little room.
constexpr std::size_t gib = std::size_t{1} << 30;
constexpr std::size_t space_per_size = sizeof(void*) == 4 ? gib / 8 : gib * (under_tsan ? 4 : 96);
constexpr std::size_t most_stacks = std::size_t{4} << 20;

// Under `ulimit -v` each size takes a quarter of what is left at its first use: the rest is for threads (each
// takes a stack, and glibc's malloc sets aside 64 MiB for some of them), plug-ins and the heap.
std::size_t space_for_a_size(os_memory& os) noexcept {
  const std::size_t left = os.space_left();
  return left == os_memory::no_limit ? space_per_size : std::min(space_per_size, left / 4);
}

}  // namespace

stack_pool::stack_pool(const pool_options& options) : options_(options) {}

stack_pool::~stack_pool() {
  const std::size_t n = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i) delete regions_[i];
}

stack_region* stack_pool::region_for(std::size_t size, stack_error& error) {
  if (size < min_stack_size || size > max_stack_size) {
    error = {stack_errc::bad_size, size, max_stack_size, 0};
    return nullptr;
  }
  const std::size_t page = os_memory::page_size();
  size = (size + page - 1) / page * page;
  const auto find = [&](std::size_t n) -> stack_region* {
    for (std::size_t i = 0; i < n; ++i)
      if (regions_[i]->stack_size() == size) return regions_[i];
    return nullptr;
  };
  if (auto* r = find(count_.load(std::memory_order_acquire))) return r;

  lock_guard hold(grow_);
  const std::size_t n = count_.load(std::memory_order_relaxed);
  if (auto* r = find(n)) return r;
  if (n == max_sizes) {
    error = {stack_errc::too_many_sizes, size, max_sizes, 0};
    return nullptr;
  }
  const std::size_t fits =
      std::clamp<std::size_t>(space_for_a_size(*options_.os) / stack_region::stride(size), 1, most_stacks);
  const std::size_t limit = options_.stacks_per_size ? std::min(options_.stacks_per_size, fits) : fits;
  stack_error failed;
  auto region = std::make_unique<stack_region>(*options_.os, size, limit, failed);
  if (failed) {
    error = failed;
    return nullptr;
  }
  regions_[n] = region.release();
  count_.store(n + 1, std::memory_order_release);  // pairs with the acquire loads of count_
  return regions_[n];
}

stack* stack_pool::acquire(std::size_t size, stack_error& error) {
  stack_region* r = region_for(size, error);
  if (!r) return nullptr;
  std::size_t got = 0;
  return r->take(1, got, error);
}

void stack_pool::release(stack* s) noexcept { s->region().give(s, s, 1); }

std::size_t stack_pool::trim(std::uint32_t rounds) noexcept {
  std::size_t returned = 0;
  const std::size_t n = count_.load(std::memory_order_acquire);
  for (std::size_t i = 0; i < n; ++i) returned += regions_[i]->trim(rounds);
  return returned;
}

stack_pool& stack_pool::process_wide() {
  static auto* pool = new stack_pool;
  return *pool;
}

void stack_cache::spill(std::size_t n) noexcept {
  // The oldest lie deepest; they are the ones to give away.
  stack* keep_last = nullptr;
  stack* first = free_;
  for (std::size_t i = 0; i < size_ - n; ++i) {
    keep_last = first;
    first = first->next_;
  }
  stack* last = first;
  while (last->next_) last = last->next_;
  (keep_last ? keep_last->next_ : free_) = nullptr;
  size_ -= n;
  region_->give(first, last, n);
}

}  // namespace leat::fiber
