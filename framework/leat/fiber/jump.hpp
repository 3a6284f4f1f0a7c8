// SPDX-License-Identifier: BSL-1.0
//
// The bare jump from one stack to another: nothing but registers.
//
// Who jumps keeps its frame pointer and the place to go on at on its stack, says where that is, and takes up
// the other's. On AArch64 and x86-64 this is inlined: the compiler knows which registers are in use and saves
// those alone, once, where a function that is called has to save all; and the branch is predicted by its
// place. A function that is called and never returns, but jumps, also leaves its return address in the
// processor's stack of predictions: each later return is mispredicted. Elsewhere it is
// Boost.Context's.
#pragma once
#include <cstddef>
#include <cstdint>

#if defined(__LP64__) && (defined(__aarch64__) || defined(__x86_64__))
#define LEAT_OWN_JUMP 1
#else
#define LEAT_OWN_JUMP 0
#include <boost/context/detail/fcontext.hpp>
#endif

namespace leat::fiber {

// What one finds on the far side of a jump: the one that was left, and what it gave along.
struct arrival {
  void* sp;
  void* given;
};

// What runs first on a fresh stack. Must not return.
using start_fn = void (*)(arrival);
// fresh<start>(top, size): what to jump to for `start` to run on the stack of `size` that ends at `top`,
// which is 16-byte aligned.

#if LEAT_OWN_JUMP
// In the block at sp.
inline constexpr std::size_t saved_fp = 0, saved_pc = 8;

// A walk of the stack that a signal begins within a jump must end there: neither stack is as the tables say.
// On x86-64 it must not look for the frame either, which a function may keep by way of its frame pointer: it
// is said to be 16 from rsp (in bytes of the table, since Clang's assembler would count on from the
// directive).
#if defined(__GCC_HAVE_DWARF2_CFI_ASM)
#define LEAT_CFI(text) text "\n\t"
#else
#define LEAT_CFI(text) ""
#endif
#endif

#if LEAT_OWN_JUMP && defined(__aarch64__)

// Nothing below sp is anybody's on AArch64 Linux. The link register is cleared for the walk of a fresh stack
// to end there. hint #36 is `bti j`: where branch targets are protected, this is one.
[[gnu::always_inline]] inline arrival jump(void* to, void* give) noexcept {
  register void* x0 asm("x0") = to;
  register void* x1 asm("x1") = give;
  asm volatile(
      LEAT_CFI(".cfi_remember_state") LEAT_CFI(".cfi_undefined 30")
      "adr x16, 1f\n\t"
      "stp x29, x16, [sp, #-16]!\n\t"
      "mov x17, sp\n\t"
      "mov sp, x0\n\t"
      "ldp x29, x16, [sp], #16\n\t"
      "mov x30, xzr\n\t"
      "mov x0, x17\n\t"
      "br x16\n"
      "1:\n\t"
      LEAT_CFI(".cfi_restore_state")
      "hint #36"
      : "+r"(x0), "+r"(x1)
      :
      : "x2", "x3", "x4", "x5", "x6", "x7", "x8", "x9", "x10", "x11", "x12", "x13", "x14", "x15", "x16",
        "x17", "x18", "x19", "x20", "x21", "x22", "x23", "x24", "x25", "x26", "x27", "x28", "x30", "v0", "v1",
        "v2", "v3", "v4", "v5", "v6", "v7", "v8", "v9", "v10", "v11", "v12", "v13", "v14", "v15", "v16",
        "v17", "v18", "v19", "v20", "v21", "v22", "v23", "v24", "v25", "v26", "v27", "v28", "v29", "v30",
        "v31",
#if defined(__ARM_FEATURE_SVE)
        "p0", "p1", "p2", "p3", "p4", "p5", "p6", "p7", "p8", "p9", "p10", "p11", "p12", "p13", "p14", "p15",
#endif
        "cc", "memory");
  return {x0, x1};
}

template <start_fn Start>
void* fresh(void* top, std::size_t) noexcept {
  void** const block = static_cast<void**>(top) - 2;
  block[0] = nullptr;
  block[1] = reinterpret_cast<void*>(Start);
  return block;
}

#elif LEAT_OWN_JUMP

// The 128 bytes below sp, the red zone, are the function's around this, unless it is compiled without one:
// the block lies below them. The place where the jump ends undoes that for itself.
#if defined(LEAT_NO_RED_ZONE)
static constexpr int red_zone = 0;
#define LEAT_ARRIVED LEAT_CFI(".cfi_restore_state")
#define LEAT_ARRIVED_PAST_RED_ZONE ""
#else
static constexpr int red_zone = 128;
#define LEAT_ARRIVED ""
#define LEAT_ARRIVED_PAST_RED_ZONE "lea %c[zone](%%rsp), %%rsp\n\t" LEAT_CFI(".cfi_restore_state")
#endif
#if defined(__CET__)
#define LEAT_BRANCH_TARGET "endbr64\n\t"
#else
#define LEAT_BRANCH_TARGET ""
#endif

// The stack pointer moves before the block is written: a signal in between leaves alone what is above it.
[[gnu::always_inline]] inline arrival jump(void* to, void* give) noexcept {
  register void* rdi asm("rdi") = to;
  register void* rsi asm("rsi") = give;
  asm volatile(
      LEAT_CFI(".cfi_remember_state") LEAT_CFI(".cfi_escape 0x0c, 7, 16") LEAT_CFI(".cfi_undefined 16")
      "lea 1f(%%rip), %%rax\n\t"
      "lea -%c[zone]-16(%%rsp), %%rsp\n\t"
      "mov %%rbp, (%%rsp)\n\t"
      "mov %%rax, 8(%%rsp)\n\t"
      "mov %%rsp, %%rdx\n\t"
      "mov (%%rdi), %%rbp\n\t"
      "mov 8(%%rdi), %%rax\n\t"
      "lea 16(%%rdi), %%rsp\n\t"
      "mov %%rdx, %%rdi\n\t"
      "jmp *%%rax\n"
      "1:\n\t"
      LEAT_ARRIVED
      LEAT_BRANCH_TARGET
      LEAT_ARRIVED_PAST_RED_ZONE
      : "+r"(rdi), "+r"(rsi)
      : [zone] "i"(red_zone)
      : "rax", "rbx", "rcx", "rdx", "r8", "r9", "r10", "r11", "r12", "r13", "r14", "r15", "xmm0", "xmm1",
        "xmm2", "xmm3", "xmm4", "xmm5", "xmm6", "xmm7", "xmm8", "xmm9", "xmm10", "xmm11", "xmm12", "xmm13",
        "xmm14", "xmm15",
#if defined(__AVX512F__)
        "xmm16", "xmm17", "xmm18", "xmm19", "xmm20", "xmm21", "xmm22", "xmm23", "xmm24", "xmm25", "xmm26",
        "xmm27", "xmm28", "xmm29", "xmm30", "xmm31", "k0", "k1", "k2", "k3", "k4", "k5", "k6", "k7",
#endif
#if defined(__APX_F__)
        "r16", "r17", "r18", "r19", "r20", "r21", "r22", "r23", "r24", "r25", "r26", "r27", "r28", "r29",
        "r30", "r31",
#endif
        "st", "st(1)", "st(2)", "st(3)", "st(4)", "st(5)", "st(6)", "st(7)", "cc", "memory");
  return {rdi, rsi};
}

// Entered as if by a call: a return address, which is none, lies where the stack begins, 8 bytes off a
// multiple of 16.
template <start_fn Start>
void* fresh(void* top, std::size_t) noexcept {
  void** const begin = static_cast<void**>(top) - 1;
  *begin = nullptr;
  void** const block = begin - 2;
  block[0] = nullptr;
  block[1] = reinterpret_cast<void*>(Start);
  return block;
}

#else

#if defined(__riscv) && __riscv_xlen == 64
inline constexpr std::size_t saved_fp = 0x60, saved_pc = 0xc8;
#else
inline constexpr std::size_t saved_fp = 0, saved_pc = 0;  // unknown
#endif

[[gnu::always_inline]] inline arrival jump(void* to, void* give) noexcept {
  const boost::context::detail::transfer_t t = boost::context::detail::jump_fcontext(to, give);
  return {t.fctx, t.data};
}

template <start_fn Start>
void* fresh(void* top, std::size_t size) noexcept {
  constexpr auto start = [](boost::context::detail::transfer_t t) { Start({t.fctx, t.data}); };
  return boost::context::detail::make_fcontext(top, size, start);
}

#endif
#undef LEAT_CFI
#undef LEAT_ARRIVED
#undef LEAT_ARRIVED_PAST_RED_ZONE
#undef LEAT_BRANCH_TARGET

}  // namespace leat::fiber
