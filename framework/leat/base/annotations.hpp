// SPDX-License-Identifier: BSL-1.0
// Lock contracts that Clang checks with -Wthread-safety; other compilers see nothing.
#pragma once

#if defined(__clang__)
#define LEAT_THREAD_ANNOTATION(x) __attribute__((x))
#else
#define LEAT_THREAD_ANNOTATION(x)
#endif

// A class that is a lock; the string is the word that the compiler uses in its warnings.
#define LEAT_CAPABILITY(name) LEAT_THREAD_ANNOTATION(capability(name))
// A class whose constructor locks and whose destructor unlocks.
#define LEAT_SCOPED_CAPABILITY LEAT_THREAD_ANNOTATION(scoped_lockable)
// A field that may only be touched under this lock.
#define LEAT_GUARDED_BY(...) LEAT_THREAD_ANNOTATION(guarded_by(__VA_ARGS__))
// A function whose caller holds, or must not hold, these locks.
#define LEAT_REQUIRES(...) LEAT_THREAD_ANNOTATION(requires_capability(__VA_ARGS__))
#define LEAT_EXCLUDES(...) LEAT_THREAD_ANNOTATION(locks_excluded(__VA_ARGS__))
// A function that takes or drops these locks. The first argument of TRY_ACQUIRE is the result that means
// success.
#define LEAT_ACQUIRE(...) LEAT_THREAD_ANNOTATION(acquire_capability(__VA_ARGS__))
#define LEAT_RELEASE(...) LEAT_THREAD_ANNOTATION(release_capability(__VA_ARGS__))
#define LEAT_TRY_ACQUIRE(...) LEAT_THREAD_ANNOTATION(try_acquire_capability(__VA_ARGS__))
// For bodies that the analysis cannot follow, such as a lock that is dropped on the other side of a switch.
#define LEAT_NO_THREAD_SAFETY_ANALYSIS LEAT_THREAD_ANNOTATION(no_thread_safety_analysis)
// A function that returns this lock.
#define LEAT_RETURN_CAPABILITY(x) LEAT_THREAD_ANNOTATION(lock_returned(x))
