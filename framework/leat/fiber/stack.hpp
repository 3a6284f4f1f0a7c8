// SPDX-License-Identifier: BSL-1.0
//
// One stack: its memory, and a record about it that is kept apart from that memory, so that an
// overflow cannot damage it and returning the memory does not lose it.
//
// Stacks begin at different places within their first page (stack_region.cpp): at the same place in each, the
// innermost frames of all that are parked would share a few sets of the caches.
#pragma once
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <leat/fiber/annotate.hpp>

namespace leat::fiber {

inline constexpr std::size_t min_stack_size = 16 * 1024;
inline constexpr std::size_t max_stack_size = 8 * 1024 * 1024;

// How large a stack is for code that was promised so much. AddressSanitizer puts room around each variable, and without
// optimization each call of the standard library is a frame of its own: there it is four times as large.
std::size_t room_for(std::size_t promised) noexcept;

class stack_region;

// Owned by whoever acquired it; while free, by the list that holds it (a pool's or a cache's).
class stack {
 public:
  // Kept for the first switch-in at the top of the stack (fiber.cpp).
  static constexpr std::size_t birth_size = 64;

  [[gnu::always_inline]] char* low() const noexcept { return low_; }
  [[gnu::always_inline]] char* high() const noexcept { return high_; }  // where it begins
  // What was asked for; from low to high there is at least that.
  [[gnu::always_inline]] std::size_t size() const noexcept { return size_; }
  void* birth_place() const noexcept { return high_ - birth_size; }
  stack_region& region() const noexcept { return *region_; }
  note& sanitizer_note() noexcept { return note_; }

  // Who runs on it, for the overflow report. The text must live until the next set_label; read by
  // the fault handler on whatever thread faults.
  void set_label(const char* text) noexcept { label_.store(text, std::memory_order_relaxed); }
  const char* label() const noexcept { return label_.load(std::memory_order_relaxed); }

  // Bytes used at most since the memory was last fresh (first use, discard). Costs one system call
  // per 1024 pages and reads part of one page. Pooled stacks remember earlier users: see census.hpp.
  std::size_t high_water() const noexcept;

  // Whole pages from low.
  std::size_t mapped() const noexcept;

  // Makes the memory fresh again: reads as zero, costs a page fault per page at the next use.
  void discard() noexcept;

 private:
  friend class stack_region;
  friend class stack_cache;

  char* low_ = nullptr;
  char* high_ = nullptr;
  stack_region* region_ = nullptr;
  stack* next_ = nullptr;  // in the list that holds it while free
  std::uint32_t size_ = 0;
  std::uint32_t freed_in_ = 0;  // region's trim round at release
  unsigned valgrind_id_ = 0;
  std::atomic<const char*> label_{nullptr};
  [[no_unique_address]] note note_;
};

}  // namespace leat::fiber
