// SPDX-License-Identifier: BSL-1.0
//
// What a signal handler can tell about the code it has interrupted. For the scheduler's own sources.
#pragma once
#include <ucontext.h>
#include <cstdint>

#include <leat/fiber/annotate.hpp>

namespace leat::sched {

// Where a signal has interrupted a thread.
struct interrupted {
  std::uintptr_t pc = 0, fp = 0, link = 0;
  std::uint64_t registers = 0;  // a hash
};

LEAT_UNWATCHED inline interrupted place_of(const void* context) noexcept {
  interrupted p;
  const auto& m = static_cast<const ucontext_t*>(context)->uc_mcontext;
  const auto mix = [&p](std::uint64_t v) LEAT_UNWATCHED {
    p.registers = (p.registers ^ v) * 0x9e3779b97f4a7c15u;
    p.registers ^= p.registers >> 29;
  };
#if defined(__x86_64__)
  p.pc = static_cast<std::uintptr_t>(m.gregs[REG_RIP]);
  p.fp = static_cast<std::uintptr_t>(m.gregs[REG_RBP]);
  for (int i = 0; i <= REG_RIP; ++i) mix(static_cast<std::uint64_t>(m.gregs[i]));
#elif defined(__aarch64__)
  p.pc = m.pc;
  p.fp = m.regs[29];
  p.link = m.regs[30];
  mix(m.pc);
  mix(m.sp);
  for (int i = 0; i < 31; ++i) mix(m.regs[i]);
#elif defined(__arm__)
  p.pc = m.arm_pc;
  p.fp = m.arm_fp;
  p.link = m.arm_lr;
  for (const auto v :
       {m.arm_pc, m.arm_sp, m.arm_r0, m.arm_r1, m.arm_r2, m.arm_r3, m.arm_r4, m.arm_r5, m.arm_r6})
    mix(v);
#elif defined(__riscv)
  p.pc = m.__gregs[REG_PC];
  p.fp = m.__gregs[REG_S0];
  p.link = m.__gregs[REG_RA];
  for (int i = 0; i < 32; ++i) mix(m.__gregs[i]);
#else
  (void)m;
  (void)mix;
#endif
  return p;
}

// Is it at a system call, or just behind one? A call that the signal interrupted is repeated, or returns.
LEAT_UNWATCHED inline bool at_system_call(const interrupted& p) noexcept {
  const auto* const at = reinterpret_cast<const unsigned char*>(p.pc);
#if defined(__x86_64__)
  return (at[0] == 0x0f && at[1] == 0x05) || (at[-2] == 0x0f && at[-1] == 0x05);
#elif defined(__aarch64__) || defined(__riscv) || defined(__arm__)
#if defined(__aarch64__)
  constexpr std::uint32_t call = 0xd4000001;
#elif defined(__riscv)
  constexpr std::uint32_t call = 0x00000073;
#else
  constexpr std::uint32_t call = 0xef000000;
  if (at[1] == 0xdf || at[-1] == 0xdf) return true;  // Thumb
#endif
  std::uint32_t here = 0, before = 0;
  __builtin_memcpy(&here, at, sizeof here);
  __builtin_memcpy(&before, at - 4, sizeof before);
  return here == call || before == call;
#else
  (void)at;
  return false;
#endif
}

}  // namespace leat::sched
