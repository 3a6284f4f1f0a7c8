// SPDX-License-Identifier: BSL-1.0
//
// Two barriers that are a pair. Where one side of a Dekker-style handshake is hot and the other rare,
// the hot side uses light_barrier, which costs nothing, and the rare side heavy_barrier, a system call
// that makes every running thread of the process pass a full barrier:
//
//   hot:   store A;  light_barrier();  load B
//   rare:  store B;  heavy_barrier();  load A
//
// At least one of them sees the other's store. Without membarrier(2), light_barrier is a full barrier.
// ThreadSanitizer does not know membarrier, and needs no fence to follow the atomics around it; there
// too both sides use the full barrier, so that the protocol under test is the portable one.
#pragma once
#include <atomic>

namespace leat::sched {

// Not std::atomic_thread_fence: ThreadSanitizer rejects it.
inline void full_barrier() noexcept {
#if defined(__x86_64__)
  asm volatile("lock orl $0, (%%rsp)" : : : "memory", "cc");
#elif defined(__aarch64__) || defined(__arm__)
  asm volatile("dmb ish" : : : "memory");
#elif defined(__riscv)
  asm volatile("fence rw, rw" : : : "memory");
#else
  __sync_synchronize();
#endif
}

namespace detail {
// Set once, by the first prepare_barriers, before any G runs; never taken back. What was made before it was
// set (retake_gate) goes on with full barriers.
extern std::atomic<bool> membarrier_works;
}  // namespace detail

// Registers the process with the kernel. Called before the first scheduler thread starts.
void prepare_barriers() noexcept;

inline void light_barrier() noexcept {
  if (detail::membarrier_works.load(std::memory_order_relaxed)) [[likely]]
    std::atomic_signal_fence(std::memory_order_seq_cst);
  else
    full_barrier();
}

void heavy_barrier() noexcept;

}  // namespace leat::sched
