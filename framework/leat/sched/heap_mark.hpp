// SPDX-License-Identifier: BSL-1.0
//
// Who is inside the allocator.
//
// A thread that is stopped for good inside malloc keeps the allocator's lock for good, and every other thread
// stops at its next allocation. So malloc and its family, and operator new and delete, are interposed by thin
// wrappers around whatever allocator is there (the C library's, jemalloc, mimalloc, one that is preloaded):
// each marks the calling thread, calls the next definition, and takes the mark away. The handler of the
// quarantine signal reads the mark of its own thread (quarantine.hpp).
//
// The wrappers are weak: a program that brings its own malloc, or links an allocator statically, keeps it.
// Then there are no marks, heap_is_marked() says so, and nobody is stopped where it cannot be known to be
// harmless. The same goes for a statically linked C library. With sanitizers the wrappers are not built;
// their runtimes are told from the program by address if they are shared libraries, as GCC's are.
#pragma once

namespace leat::sched {

// 1 while the thread is inside the allocator; the outermost call sets and clears it.
extern "C" {
extern thread_local volatile unsigned leat_heap_depth [[gnu::tls_model("initial-exec")]];
}

// On the calling thread; in a handler too.
[[gnu::no_sanitize_thread]] inline bool inside_heap() noexcept { return leat_heap_depth != 0; }

// Do all allocations of this program pass our wrappers? Found out when the first runtime starts; false
// before.
bool heap_is_marked() noexcept;
void find_out_about_heap() noexcept;

}  // namespace leat::sched
