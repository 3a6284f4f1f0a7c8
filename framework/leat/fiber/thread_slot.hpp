// SPDX-License-Identifier: BSL-1.0
//
// One pointer for each thread, null at its start, that belongs to the layer above; and the one safe way to a
// thread_local from code that may be moved to another thread.
//
// A fiber can park on one thread and resume on another in the middle of a function. Compilers may
// keep the *address* of a thread_local across that call (GCC does at -O2, Clang with -fPIC), and the
// function then reads the old thread's variable. A noinline accessor whose address computation is
// hidden behind an asm statement has nothing to keep: the asm makes the function neither pure nor
// const, so two calls are never merged, not even under LTO. Only values leave it, never addresses.
//
// On x86-64 a thread's variables are found from a register of its own, and the asm statement reads the
// variable itself: it has no address at all, and may be inlined. Elsewhere the way to it is as long as a call
// (AArch64: inlined, a yield took 11 % longer).
#pragma once
#include <leat/fiber/annotate.hpp>

namespace leat::fiber {
namespace detail {

// initial-exec: a fixed offset from the thread pointer, also in a shared library. It takes a few
// bytes of the static TLS block, which the loader keeps in reserve for this.
[[gnu::tls_model("initial-exec")]] extern constinit thread_local void* slot_of_thread asm("leat_thread_slot");

}  // namespace detail

struct thread_slot {
#if defined(__x86_64__) && defined(__LP64__)
  [[gnu::always_inline]] static void* load() noexcept {
    void* v;
    asm volatile("movq leat_thread_slot@gottpoff(%%rip), %0\n\tmovq %%fs:(%0), %0" : "=r"(v) : : "memory");
    return v;
  }
#else
  [[gnu::noinline]] static void* load() noexcept {
    void** p = &detail::slot_of_thread;
    asm volatile("" : "+r"(p) : : "memory");
    return *p;
  }
#endif
  // The same for signal handlers, which may interrupt a sanitizer at its work.
  [[gnu::noinline]] LEAT_UNWATCHED static void* load_in_handler() noexcept {
    void** p = &detail::slot_of_thread;
    asm volatile("" : "+r"(p) : : "memory");
    return *p;
  }
  [[gnu::noinline]] static void store(void* v) noexcept {
    void** p = &detail::slot_of_thread;
    asm volatile("" : "+r"(p) : : "memory");
    *p = v;
  }
};

}  // namespace leat::fiber
