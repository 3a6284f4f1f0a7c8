// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstddef>

namespace leat::fiber {

// The memory calls behind stacks, as a seam: tests refuse guards (an old kernel), fail calls, or count
// them. Each returns 0 or an errno value; sizes are whole pages.
class os_memory {
 public:
  virtual ~os_memory() = default;
  // Address space without memory behind it, never in huge pages; null with errno set on failure.
  virtual void* reserve(std::size_t bytes) noexcept;
  virtual int open(void* at, std::size_t bytes) noexcept;     // make reserved space usable
  virtual int guard(void* at, std::size_t bytes) noexcept;    // fault on touch, costing no mapping
  virtual int protect(void* at, std::size_t bytes) noexcept;  // fault on touch, splitting the mapping
  virtual int discard(void* at, std::size_t bytes) noexcept;  // give the memory back; reads as zero again
  virtual void release(void* at, std::size_t bytes) noexcept;
  virtual std::size_t max_maps() noexcept;  // vm.max_map_count
  // What `ulimit -v` leaves of the address space by now; no_limit where there is none.
  static constexpr std::size_t no_limit = ~std::size_t{0};
  virtual std::size_t space_left() noexcept;

  static os_memory& system() noexcept;
  static std::size_t page_size() noexcept;
};

}  // namespace leat::fiber
