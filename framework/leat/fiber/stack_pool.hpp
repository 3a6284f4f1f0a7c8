// SPDX-License-Identifier: BSL-1.0
//
// Stacks by size, and the small private store that each P keeps of them.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <leat/fiber/os_memory.hpp>
#include <leat/fiber/stack.hpp>
#include <leat/fiber/stack_error.hpp>
#include <leat/fiber/stack_region.hpp>

namespace leat::fiber {

struct pool_options {
  os_memory* os = &os_memory::system();
  // At most this many stacks of one size; 0 = what the address space is good for.
  std::size_t stacks_per_size = 0;
};

// Any thread may call anything. Regions are made at the first use of a size and live as long as the pool.
class stack_pool {
 public:
  static constexpr std::size_t max_sizes = 32;

  explicit stack_pool(const pool_options& options = {});
  ~stack_pool();  // all stacks must be back
  stack_pool(const stack_pool&) = delete;
  stack_pool& operator=(const stack_pool&) = delete;

  // A stack of `size` bytes rounded up to whole pages, or null and why not.
  stack* acquire(std::size_t size, stack_error& error);
  static void release(stack* s) noexcept;

  // The region for a size, made if need be, or null and why not.
  stack_region* region_for(std::size_t size, stack_error& error);

  std::size_t trim(std::uint32_t rounds) noexcept;

  template <class F>
  void each_region(F f) const {
    const std::size_t n = count_.load(std::memory_order_acquire);
    for (std::size_t i = 0; i < n; ++i) f(static_cast<const stack_region&>(*regions_[i]));
  }

  // The one that programs use. Never destroyed: fibers may outlive static destruction.
  static stack_pool& process_wide();

 private:
  const pool_options options_;
  ranked_mutex grow_{lock_rank::thread_list, "stack pool"};
  // Append-only: an entry is written under grow_, then published by count_.
  stack_region* regions_[max_sizes] = {};
  std::atomic<std::size_t> count_{0};
};

// A LIFO store of free stacks of one size with a single owner at a time (a P): no lock, no atomic.
// It refills from and spills to its region in batches. Empty it before it dies.
class stack_cache {
 public:
  static constexpr std::size_t capacity = 64;

  stack_cache() = default;
  ~stack_cache() { clear(); }
  stack_cache(const stack_cache&) = delete;
  stack_cache& operator=(const stack_cache&) = delete;

  void bind(stack_region& region) noexcept {
    clear();
    region_ = &region;
  }
  std::size_t size() const noexcept { return size_; }
  stack_region* region() const noexcept { return region_; }

  stack* acquire(stack_error& error) {
    if (!free_) [[unlikely]]
      free_ = region_->take(capacity / 2, size_, error);
    stack* s = free_;
    if (s) {
      free_ = s->next_;
      --size_;
      // The next one will be wanted soon, and its memory may be cold.
      if (free_) __builtin_prefetch(free_->birth_place(), 1);
    }
    return s;
  }

  // Takes stacks of other sizes too, and passes them on to their region.
  void release(stack* s) noexcept {
    if (&s->region() != region_) [[unlikely]] {
      s->region().give(s, s, 1);
      return;
    }
    if (size_ == capacity) [[unlikely]]
      spill(capacity / 2);
    s->next_ = free_;
    free_ = s;
    ++size_;
  }

  void clear() noexcept {
    if (size_ > 0) spill(size_);
  }

 private:
  void spill(std::size_t n) noexcept;

  stack_region* region_ = nullptr;
  stack* free_ = nullptr;
  std::size_t size_ = 0;
};

}  // namespace leat::fiber
