// SPDX-License-Identifier: BSL-1.0
//
// The one safe way to a thread_local from code that may be moved to another thread.
//
// A fiber can park on one thread and resume on another in the middle of a function. Compilers may
// keep the *address* of a thread_local across that call (GCC does at -O2, Clang with -fPIC), and the
// function then reads the old thread's variable. A noinline accessor whose address computation is
// hidden behind an asm statement has nothing to keep: the asm makes the function neither pure nor
// const, so two calls are never merged, not even under LTO. Only values leave it, never addresses.
#pragma once
#include <leat/fiber/annotate.hpp>

namespace leat::fiber {

// One pointer-sized value per thread, zero at thread start. Tag names the variable.
template <class Tag, class T>
class thread_slot {
  static_assert(sizeof(T) <= sizeof(void*) * 2);  // NOLINT(bugprone-sizeof-expression): a pointer is meant

 public:
  [[gnu::noinline]] static T load() noexcept {
    T* p = &value_;
    asm volatile("" : "+r"(p) : : "memory");
    return *p;
  }
  // The same for signal handlers, which may interrupt a sanitizer at its work.
  [[gnu::noinline]] LEAT_UNWATCHED static T load_in_handler() noexcept {
    T* p = &value_;
    asm volatile("" : "+r"(p) : : "memory");
    return *p;
  }
  [[gnu::noinline]] static void store(T v) noexcept {
    T* p = &value_;
    asm volatile("" : "+r"(p) : : "memory");
    *p = v;
  }

 private:
  // initial-exec: a fixed offset from the thread pointer, also in a shared library. It takes a few
  // bytes of the static TLS block, which the loader keeps in reserve for this.
  [[gnu::tls_model("initial-exec")]] static inline constinit thread_local T value_{};
};

}  // namespace leat::fiber
