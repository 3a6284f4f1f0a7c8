// SPDX-License-Identifier: BSL-1.0
//
// The end of a thread that ran Gs. When it has left its loop, the destructors of its thread_local objects run, and those are
// the program's: one may wait for ever, for what a quarantined process holds. Who joined such a thread, to use its M again,
// would wait with it: sysmon among others.
//
// So a thread says that it is over behind all that: in the destructor of a pthread key, which the system calls after
// those of thread_local objects, and in its second round, after those of other keys. Until then it counts as one that
// lives. One that never comes there is left alone at the end of the runtime, as one in a blocking call is.
#pragma once
#include <pthread.h>
#include <cstdint>

namespace leat::sched {

struct M;

// By the thread, at its beginning: at its end `over` is called. False: the program has used up all keys, and the thread is to
// call it itself when it has left its loop.
bool call_at_end_of_thread(M& m, void (*over)(M&) noexcept) noexcept;

// Of a thread that has said so: nearly always at once. One that does not end in so long goes on by itself.
void join_within(pthread_t thread, std::int64_t ns) noexcept;

}  // namespace leat::sched
