// SPDX-License-Identifier: BSL-1.0
//
// What a switch must carry over besides the registers of the jump (jump.hpp): the C++ exception state of the
// thread and, where the jump leaves them alone, the floating-point control words.
#pragma once
#include <cstdint>

namespace leat::fiber {

// The words behind __cxa_get_globals(): the chain of caught exceptions, the number of uncaught ones,
// and on ARM EHABI the exceptions being propagated. A fiber that parks inside a catch block owns its
// chain; left on the thread, the next fiber would rethrow or free it.
struct eh_state {
  void* caught = nullptr;
  unsigned uncaught = 0;
#if defined(__ARM_EABI_UNWINDER__)
  void* propagating = nullptr;
#endif
};

// The current thread's words. The address is fixed for the life of the thread: threads fetch it once.
eh_state* thread_eh_state() noexcept;

// Rounding mode, flush-to-zero and exception masks. Each switch compares and writes when they differ: reading
// is cheap everywhere, writing is not (on x86-64 1.5 ns beside 6). On i386 jump_fcontext itself saves and
// restores them, and only a new fiber has to set them. The flags that computing raises (fetestexcept) are the
// thread's everywhere.
struct fp_state {
#if defined(__x86_64__) && defined(__LP64__)
  static constexpr bool carried_by_switch = false;
  std::uint64_t modes = 0;                       // mxcsr, and in the upper half x87's: one word to compare
  static constexpr std::uint32_t sticky = 0x3f;  // what computing raises; the rest are modes and masks
  static fp_state read() noexcept {
    std::uint32_t m;
    std::uint16_t c;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(m), "=m"(c));
    return {(m & ~sticky) | std::uint64_t{c} << 32};
  }
  void write() const noexcept {
    std::uint32_t m;
    asm volatile("stmxcsr %0" : "=m"(m));
    m = (m & sticky) | static_cast<std::uint32_t>(modes);
    const auto c = static_cast<std::uint16_t>(modes >> 32);
    asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(m), "m"(c));
  }
#elif defined(__x86_64__) || defined(__i386__)
  static constexpr bool carried_by_switch = true;
  std::uint32_t mxcsr = 0;
  std::uint16_t x87 = 0;
  static fp_state read() noexcept {
    fp_state s;
    asm volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(s.mxcsr), "=m"(s.x87));
    return s;
  }
  void write() const noexcept { asm volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(mxcsr), "m"(x87)); }
#elif defined(__aarch64__)
  static constexpr bool carried_by_switch = false;
  std::uint64_t fpcr = 0;
  static fp_state read() noexcept {
    fp_state s;
    asm volatile("mrs %0, fpcr" : "=r"(s.fpcr));
    return s;
  }
  void write() const noexcept { asm volatile("msr fpcr, %0" : : "r"(fpcr)); }
#elif defined(__arm__) && defined(__ARM_FP)
  static constexpr bool carried_by_switch = false;
  std::uint32_t control = 0;
  static constexpr std::uint32_t mask = 0x07f79f00;  // modes and traps; not the condition and sticky flags
  static fp_state read() noexcept {
    std::uint32_t v;
    asm volatile("vmrs %0, fpscr" : "=r"(v));
    return {v & mask};
  }
  void write() const noexcept {
    std::uint32_t v;
    asm volatile("vmrs %0, fpscr" : "=r"(v));
    v = (v & ~mask) | control;
    asm volatile("vmsr fpscr, %0" : : "r"(v));
  }
#elif defined(__riscv) && defined(__riscv_flen)
  static constexpr bool carried_by_switch = false;
  std::uint32_t rounding = 0;
  static fp_state read() noexcept {
    fp_state s;
    asm volatile("frrm %0" : "=r"(s.rounding));
    return s;
  }
  void write() const noexcept { asm volatile("fsrm %0" : : "r"(rounding)); }
#else
  static constexpr bool carried_by_switch = true;
  static fp_state read() noexcept { return {}; }
  void write() const noexcept {}
#endif
  friend bool operator==(const fp_state&, const fp_state&) = default;
};

}  // namespace leat::fiber
