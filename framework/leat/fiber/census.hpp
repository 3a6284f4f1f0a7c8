// SPDX-License-Identifier: BSL-1.0
//
// How much stack each class of process really uses, so that sizes can be chosen from figures.
//
// Exact figures need a fresh stack at the start of each counted fiber: call begin() on it before
// prepare() and end() after it has finished, before the stack is released. That costs a page fault and
// two system calls per fiber, so a census is taken when somebody asks for it.
#pragma once
#include <cstddef>
#include <cstdint>
#include <leat/base/mutex.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace leat::fiber {

class stack;

struct census_row {
  std::string name;  // class of process
  std::uint64_t runs = 0;
  std::size_t most = 0;  // bytes
  std::size_t mean = 0;
  std::size_t size = 0;  // the largest stack that one of them had
};

class census {
 public:
  static void begin(stack& s) noexcept;
  void end(std::string_view class_name, const stack& s);

  std::vector<census_row> rows() const;  // by name
  // One line a class: name, runs, mean, most, size, and a size that would do with half as much again.
  std::string report() const;

 private:
  struct entry {
    census_row row;
    std::uint64_t sum = 0;
  };
  mutable ranked_mutex lock_{lock_rank::trace, "stack census"};
  std::vector<entry> entries_ LEAT_GUARDED_BY(lock_);
};

}  // namespace leat::fiber
