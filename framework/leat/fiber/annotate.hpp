// SPDX-License-Identifier: BSL-1.0
//
// Everything that ASan, TSan and Valgrind must be told about fibers. Off, and free, in normal builds.
//
// A note belongs to an execution: a thread's own stack, or one use of a fiber stack from its first
// switch-in to its finish. Order of calls, all on the stack that is being left or entered:
//   born      before the first switch to a fresh fiber
//   leaving   last thing before the jump
//   arrived   first thing after the jump, on the new stack
//   buried    after arrival, for a stack whose fiber has finished
// The layout does not depend on the build, so that objects compiled with and without a sanitizer link.
#pragma once
#include <cstddef>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define LEAT_ASAN 1
#endif
#if __has_feature(thread_sanitizer)
#define LEAT_TSAN 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define LEAT_ASAN 1
#endif
#if defined(__SANITIZE_THREAD__)
#define LEAT_TSAN 1
#endif

#if defined(LEAT_ASAN)
#include <sanitizer/asan_interface.h>
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
#endif
#if defined(LEAT_TSAN)
#include <sanitizer/tsan_interface.h>
#endif
#if defined(LEAT_VALGRIND)
#include <valgrind/valgrind.h>
#endif

// For functions, and lambdas, that look at the stack or state of fibers that go on meanwhile: reports, whose
// output may be mixed from before and after.
#if defined(__clang__)
#define LEAT_UNWATCHED __attribute__((no_sanitize("address", "thread", "undefined")))
#else
#define LEAT_UNWATCHED __attribute__((no_sanitize_address, no_sanitize_thread, no_sanitize_undefined))
#endif

namespace leat::fiber {

struct note {
  void* fake_stack = nullptr;    // ASan
  const void* bottom = nullptr;  // ASan: lowest address; learnt at the first switch for a thread's own stack
  std::size_t size = 0;          // ASan
  void* tsan_fiber = nullptr;    // TSan
};

inline void note_thread([[maybe_unused]] note& n) noexcept {
#if defined(LEAT_TSAN)
  n.tsan_fiber = __tsan_get_current_fiber();
#endif
}

inline void note_born([[maybe_unused]] note& n, [[maybe_unused]] const void* bottom,
                      [[maybe_unused]] std::size_t size) noexcept {
#if defined(LEAT_ASAN)
  n = note{};
  n.bottom = bottom;
  n.size = size;
#endif
#if defined(LEAT_TSAN)
  n.tsan_fiber = __tsan_create_fiber(0);
#endif
}

inline void note_leaving([[maybe_unused]] note& from, [[maybe_unused]] const note& to,
                         [[maybe_unused]] bool finishing) noexcept {
#if defined(LEAT_ASAN)
  __sanitizer_start_switch_fiber(finishing ? nullptr : &from.fake_stack, to.bottom, to.size);
#endif
#if defined(LEAT_TSAN)
  __tsan_switch_to_fiber(to.tsan_fiber, 0);
#endif
}

inline void note_arrived([[maybe_unused]] note& self, [[maybe_unused]] note& from) noexcept {
#if defined(LEAT_ASAN)
  __sanitizer_finish_switch_fiber(self.fake_stack, &from.bottom, &from.size);
#endif
}

inline void note_buried([[maybe_unused]] note& n) noexcept {
#if defined(LEAT_ASAN)
  // Redzones of frames that were never left by return would poison the next user of this stack.
  __asan_unpoison_memory_region(n.bottom, n.size);
#endif
#if defined(LEAT_TSAN)
  __tsan_destroy_fiber(n.tsan_fiber);
  n.tsan_fiber = nullptr;
#endif
}

// A stack that nobody will go on with is kept, and all that it refers to: that is no leak.
inline void note_kept([[maybe_unused]] const note& n) noexcept {
#if defined(LEAT_ASAN)
  __lsan_register_root_region(n.bottom, n.size);
#endif
}

// What a thread has done comes before what another does, though TSan cannot see how the one told the other.
inline void note_handed_over([[maybe_unused]] void* at) noexcept {
#if defined(LEAT_TSAN)
  __tsan_release(at);
#endif
}
inline void note_taken_over([[maybe_unused]] void* at) noexcept {
#if defined(LEAT_TSAN)
  __tsan_acquire(at);
#endif
}

inline unsigned note_stack_mapped([[maybe_unused]] void* low, [[maybe_unused]] void* high) noexcept {
#if defined(LEAT_VALGRIND)
  return VALGRIND_STACK_REGISTER(low, high);
#else
  return 0;
#endif
}

inline void note_stack_unmapped([[maybe_unused]] unsigned id) noexcept {
#if defined(LEAT_VALGRIND)
  VALGRIND_STACK_DEREGISTER(id);
#endif
}

#if defined(LEAT_ASAN)
inline constexpr bool under_asan = true;
#else
inline constexpr bool under_asan = false;
#endif
#if defined(LEAT_TSAN)
inline constexpr bool under_tsan = true;
#else
inline constexpr bool under_tsan = false;
#endif

}  // namespace leat::fiber
