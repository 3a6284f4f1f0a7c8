// SPDX-License-Identifier: BSL-1.0
//
// All stacks of one size, in one stretch of reserved address space:
//
//   | guard | stack 0 | guard | stack 1 | ... | reserved, not yet opened ... |
//
// (On x86-64 each has a page more than was asked for, somewhere in which it begins; above it one may be left out.
// stack_region.cpp says why.)
//
// Space is opened in steps; adjacent steps are one mapping for the kernel. A guard is installed when
// a stack is first carved: by MADV_GUARD_INSTALL, which costs no mapping, or, where the kernel refuses
// that (before Linux 6.13, or locked memory), by mprotect, which costs two and so ends well below
// vm.max_map_count: the rest is left for the program's own mappings.
//
// Thread safety: every public function may be called from any thread; one lock, rank stacks.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <leat/base/annotations.hpp>
#include <leat/base/mutex.hpp>
#include <leat/fiber/os_memory.hpp>
#include <leat/fiber/stack.hpp>
#include <leat/fiber/stack_error.hpp>

namespace leat::fiber {

struct region_counts {
  std::size_t limit = 0;       // stacks that fit
  std::size_t carved = 0;      // ever handed out
  std::size_t free_warm = 0;   // with memory behind them
  std::size_t free_fresh = 0;  // memory returned
  bool guards_cost_maps = false;
};

class stack_region {
 public:
  // Address space that one stack of this size takes.
  static std::size_t stride(std::size_t size) noexcept;

  // Reserves space for `limit` stacks of `size` bytes (whole pages), or as many as the kernel lets us.
  // `error` is set, and the region is unusable, when not even a few fit.
  stack_region(os_memory& os, std::size_t size, std::size_t limit, stack_error& error);
  ~stack_region();  // all stacks must be back
  stack_region(const stack_region&) = delete;
  stack_region& operator=(const stack_region&) = delete;

  std::size_t stack_size() const noexcept { return size_; }

  // Up to `most` stacks as a list, the warmest first; fewer when the region is nearly full. None and
  // `error` when there is none at all.
  stack* take(std::size_t most, std::size_t& got, stack_error& error);
  void give(stack* first, stack* last, std::size_t count) noexcept;

  // Returns the memory of stacks that lay unused through `rounds` calls of trim. Returns their number.
  std::size_t trim(std::uint32_t rounds) noexcept;

  region_counts counts() const noexcept;

  // The stack whose memory or guard holds the address, or null. Takes no lock: for fault handlers.
  const stack* find(const void* address, bool& in_guard) const noexcept;

 private:
  friend class stack;
  stack* carve_locked(stack_error& error) LEAT_REQUIRES(lock_);
  bool open_more_locked(stack_error& error) LEAT_REQUIRES(lock_);

  os_memory& os_;
  const std::size_t size_;
  const std::size_t stride_;
  std::size_t limit_ = 0;
  char* space_ = nullptr;  // limit_ * stride_ of it are used
  std::size_t space_bytes_ = 0;
  stack* records_ = nullptr;  // limit_, opened along with space_
  std::size_t records_bytes_ = 0;

  mutable ranked_spinlock lock_{lock_rank::stacks, "stack region"};
  std::size_t opened_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t records_open_bytes_ LEAT_GUARDED_BY(lock_) = 0;
  std::atomic<std::size_t> carved_{0};  // written under lock_, read by find
  std::size_t map_guards_left_ LEAT_GUARDED_BY(lock_) = 0;
  bool guard_refused_ LEAT_GUARDED_BY(lock_) = false;
  std::uint32_t round_ LEAT_GUARDED_BY(lock_) = 0;
  stack* warm_ LEAT_GUARDED_BY(lock_) = nullptr;
  stack* cold_ LEAT_GUARDED_BY(lock_) = nullptr;
  std::size_t n_warm_ LEAT_GUARDED_BY(lock_) = 0;
  std::size_t n_cold_ LEAT_GUARDED_BY(lock_) = 0;
};

}  // namespace leat::fiber
