// SPDX-License-Identifier: BSL-1.0
//
// A std::atomic whose relaxed loads and stores cost what those of a plain variable do.
//
// GCC for AArch64 (seen with 12) allows atomic accesses nothing but a bare register as their address, also
// those that are relaxed: each member of an object takes an instruction more, and a byte another one for the
// test. On the way of a value through a channel that is one instruction in fifteen. A volatile access has all
// addressing modes, is made exactly once, and is as indivisible, for what fits a register and is aligned. So
// it is done there, and there alone; ThreadSanitizer and every other compiler see std::atomic.
#pragma once
#include <atomic>
#include <type_traits>

namespace leat {

#if defined(__aarch64__) && defined(__GNUC__) && !defined(__clang__) && !defined(__SANITIZE_THREAD__)
#define LEAT_RELAXED_IS_VOLATILE 1
#else
#define LEAT_RELAXED_IS_VOLATILE 0
#endif

template <class T>
class atom : public std::atomic<T> {
  using base = std::atomic<T>;
  static_assert(std::is_scalar_v<T> && base::is_always_lock_free);
  // NOLINTNEXTLINE(bugprone-sizeof-expression): T may be a pointer, and is meant
  static_assert(sizeof(base) == sizeof(T) && alignof(base) >= sizeof(T) && std::is_standard_layout_v<base>);

 public:
  using base::base;
  using base::operator=;

  [[gnu::always_inline]] T load(std::memory_order order = std::memory_order_seq_cst) const noexcept {
    if constexpr (LEAT_RELAXED_IS_VOLATILE)
      if (order == std::memory_order_relaxed) return *value();
    return base::load(order);
  }
  [[gnu::always_inline]] void store(T v, std::memory_order order = std::memory_order_seq_cst) noexcept {
    if constexpr (LEAT_RELAXED_IS_VOLATILE) {
      if (order == std::memory_order_relaxed) {
        *value() = v;
        return;
      }
    }
    base::store(v, order);
  }

 private:
  // A standard-layout object has the address of its only member.
  const volatile T* value() const noexcept { return reinterpret_cast<const volatile T*>(this); }
  volatile T* value() noexcept { return reinterpret_cast<volatile T*>(this); }
};

}  // namespace leat
