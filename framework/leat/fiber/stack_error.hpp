// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <cstddef>
#include <stdexcept>
#include <string>

namespace leat::fiber {

enum class stack_errc : unsigned char {
  none,
  bad_size,          // zero, below min_stack_size, above max_stack_size
  too_many_sizes,    // more different sizes than the pool keeps regions for
  region_full,       // all stacks of the region are in use
  no_address_space,  // the region could not be reserved
  no_memory,         // the kernel refused memory for one more stack
  too_many_maps,     // guards by mprotect have used up vm.max_map_count
};

// Why there is no stack, with the limit that was met.
struct stack_error {
  stack_errc code = stack_errc::none;
  std::size_t asked = 0;  // bytes per stack
  std::size_t limit = 0;  // in the unit of the code: bytes, stacks, sizes or mappings
  int os_error = 0;

  explicit operator bool() const noexcept { return code != stack_errc::none; }
  // A sentence that names the limit and what to change.
  std::string text() const;
};

// The same as an exception, for callers that cannot go on without a stack.
class out_of_stacks : public std::runtime_error {
 public:
  explicit out_of_stacks(const stack_error& e) : std::runtime_error(e.text()), error_(e) {}
  const stack_error& error() const noexcept { return error_; }

 private:
  stack_error error_;
};

}  // namespace leat::fiber
