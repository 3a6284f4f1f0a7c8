// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace leat {

// One turn of a busy wait: tells the core that this thread spins.
inline void cpu_pause() noexcept {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  // isb waits about as long as x86's pause; yield is a nop on most cores.
  asm volatile("isb" ::: "memory");
#elif defined(__arm__)
  asm volatile("yield" ::: "memory");
#elif defined(__riscv)
  // Zihintpause by its encoding, which older cores execute as a fence that orders nothing.
  asm volatile(".4byte 0x0100000f" ::: "memory");
#else
  asm volatile("" ::: "memory");
#endif
}

}  // namespace leat
