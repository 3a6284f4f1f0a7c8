// SPDX-License-Identifier: BSL-1.0
// Counts operator new and delete of the whole program, for tests that say "does not allocate".
// One file of the program writes LEAT_COUNT_ALLOCATIONS() at namespace scope.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <new>

namespace leat::test {

inline std::atomic<std::uint64_t> news{0};
inline std::atomic<std::uint64_t> deletes{0};
inline std::atomic<std::uint64_t> new_bytes{0};

// What happened since it was made, on all threads.
class alloc_count {
 public:
  std::uint64_t allocations() const noexcept { return news.load() - news_; }
  std::uint64_t deallocations() const noexcept { return deletes.load() - deletes_; }
  std::uint64_t bytes() const noexcept { return new_bytes.load() - bytes_; }

 private:
  std::uint64_t news_ = news.load();
  std::uint64_t deletes_ = deletes.load();
  std::uint64_t bytes_ = new_bytes.load();
};

inline void* counted_new_or_null(std::size_t size, std::size_t alignment) noexcept {
  news.fetch_add(1, std::memory_order_relaxed);
  new_bytes.fetch_add(size, std::memory_order_relaxed);
  if (size == 0) size = 1;
  return alignment <= __STDCPP_DEFAULT_NEW_ALIGNMENT__
             ? std::malloc(size)
             : std::aligned_alloc(alignment, (size + alignment - 1) / alignment * alignment);
}

inline void* counted_new(std::size_t size, std::size_t alignment) {
  void* memory = counted_new_or_null(size, alignment);
  if (!memory) throw std::bad_alloc();
  return memory;
}

inline void counted_delete(void* memory) noexcept {
  if (!memory) return;
  deletes.fetch_add(1, std::memory_order_relaxed);
  std::free(memory);
}

}  // namespace leat::test

// Not inlined: GCC would warn of new paired with free. The array and sized forms are here because
// the sanitizers' own do not call the plain ones.
#define LEAT_COUNT_ALLOCATIONS()                 \
  LEAT_COUNT_ALLOCATIONS_BY(operator new)        \
  LEAT_COUNT_ALLOCATIONS_BY(operator new[])      \
  LEAT_COUNT_DEALLOCATIONS_BY(operator delete)   \
  LEAT_COUNT_DEALLOCATIONS_BY(operator delete[]) \
  static_assert(true, "for the semicolon")

#define LEAT_COUNT_ALLOCATIONS_BY(name)                                                         \
  [[gnu::noinline]] void* name(std::size_t size) { return ::leat::test::counted_new(size, 1); } \
  [[gnu::noinline]] void* name(std::size_t size, std::align_val_t alignment) {                  \
    return ::leat::test::counted_new(size, static_cast<std::size_t>(alignment));                \
  }                                                                                             \
  [[gnu::noinline]] void* name(std::size_t size, const std::nothrow_t&) noexcept {              \
    return ::leat::test::counted_new_or_null(size, 1);                                          \
  }                                                                                             \
  [[gnu::noinline]] void* name(std::size_t size, std::align_val_t alignment,                    \
                               const std::nothrow_t&) noexcept {                                \
    return ::leat::test::counted_new_or_null(size, static_cast<std::size_t>(alignment));        \
  }

#define LEAT_COUNT_DEALLOCATIONS_BY(name)                                                                   \
  [[gnu::noinline]] void name(void* memory) noexcept { ::leat::test::counted_delete(memory); }              \
  [[gnu::noinline]] void name(void* memory, std::size_t) noexcept { ::leat::test::counted_delete(memory); } \
  [[gnu::noinline]] void name(void* memory, std::align_val_t) noexcept {                                    \
    ::leat::test::counted_delete(memory);                                                                   \
  }                                                                                                         \
  [[gnu::noinline]] void name(void* memory, std::size_t, std::align_val_t) noexcept {                       \
    ::leat::test::counted_delete(memory);                                                                   \
  }                                                                                                         \
  [[gnu::noinline]] void name(void* memory, const std::nothrow_t&) noexcept {                               \
    ::leat::test::counted_delete(memory);                                                                   \
  }                                                                                                         \
  [[gnu::noinline]] void name(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {             \
    ::leat::test::counted_delete(memory);                                                                   \
  }
