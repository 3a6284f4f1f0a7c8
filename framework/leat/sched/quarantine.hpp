// SPDX-License-Identifier: BSL-1.0
//
// What becomes of the thread of a G that has been fenced (fence.hpp). The G is out by then; here nothing is
// urgent, and nothing may do harm.
//
// Roles. sysmon asks; the thread of the M answers, in the handler of a signal that sysmon sends to it. The
// handler interrupts the thread between two instructions, so what it reads of the M is what the thread itself
// would read there: whether it is in the runtime is not a guess.
//
// Variables, per M: probe::word (none, a question, answering, an answer), the gate's in_runtime and entries
// (retake_gate.hpp), cur.
//
//   sysmon                                         the thread, in the handler
//    1 has fenced the G: entries = n                a reads word; no question: returns
//    2 writes the question and n, sends the         b question -> answering by CAS; lost: returns
//      signal                                       c in_runtime is 1, or entries is not n, or there is no
//    3 reads an answer: settles it, word = none       cur: answers `entered`, returns
//    4 none for too long: question -> none by CAS   d where: answers `seen`, with its trace, and returns
//      (lost: it is being answered; 3)              e settle, and the place is clean: in_runtime = 1,
//                                                     switches to g0, which answers `left` there and comes in
//                                                     through the gate as any owner
//                                                   f settle, and the place is harmless: answers `frozen`,
//                                                     blocks all signals, waits for ever; in_runtime stays 0
//                                                   g settle, and neither: looks again in a few microseconds;
//                                                     after so many looks answers `unclean`
//
// After `unclean` the thread runs on at the lowest priority, and sysmon asks again later and later. It may
// also come in by itself, and leaves the G's stack there (end_fenced in threads.cpp). Without a timer that makes
// the thread look again (RLIMIT_SIGPENDING), each look is a question of its own.
//
// Either the thread comes in or it is taken, never both: in_runtime is written by this thread alone. If the
// first store of an entry (step 1 of the gate) comes before the signal, c refuses. If not, e and f take the
// thread away before that store, and it is never made.
// Forbidden: a question meant for one run of a G catches the next one. Every entry since 1 is counted in
// entries, since the word of the gate has not been quiet since then; c compares.
// Forbidden: sysmon gives up and the thread leaves all the same: 4 against b, by CAS on one word.
//
// 2 is put_question, 3 is settle in overrun_end.cpp, 4 withdraw_question; a to g are the handler's, answer in
// quarantine.cpp.
//
// Clean (e): an instruction of the program itself or of a library of Leat, called by such code alone up to
// the first frame of the G, as the unwinder tells, outside the allocator (heap_mark.hpp), without a lock of
// Leat's, and not under no_quarantine. Then nobody's lock is held that others cannot know of, and the thread
// can go on with other Gs.
//
// Harmless (f): the thread holds no lock that the rest of the program needs. It is outside the allocator,
// holds no lock of Leat's, and no frame up to the first one of the G is of the C library, the loader, the C++
// library or a sanitizer: these have locks that all share (the loader's, stdio's, the locale's, the time
// zone's). The one exception is a system call that it stands still in, and the functions of the C library that
// do nothing but make it (plain_call.hpp). Frames of other libraries are allowed: such a library's own lock
// stays held, as it would while the call goes on.
//
// Who can know neither never stops anybody: a C library that is linked statically, an allocator that took the
// place of ours, an unwinder that cannot pass a signal frame (ARM EHABI). There Gs are only fenced.
//
// Stress: tests/sched/quarantine_storm_test.cpp, tests/sched/heap_mark_test.cpp, tests/csp/overrun_test.cpp.
#pragma once
#include <atomic>
#include <cstdint>

#include <leat/fiber/annotate.hpp>
#include <leat/sched/m.hpp>

namespace leat::sched {

// For LEAT_UNWATCHED functions: an atomic pointer's own load is watched, wherever it is called.
template <class T>
LEAT_UNWATCHED T* read_unwatched(const std::atomic<T*>& from) noexcept {
  return *reinterpret_cast<T* const volatile*>(&from);
}

// Chooses the signal and installs its handler, once per program.
void prepare_quarantine() noexcept;
// Why no thread of a quarantined G is ever left or frozen in this program. Prepares first.
enum class unsettled : std::uint8_t {
  none,
  own_allocator,       // calls of the program's own malloc have no marks (heap_mark.hpp)
  static_c_library,    // nothing tells its code from the program's
  static_cxx_library,  // likewise: its locales and exceptions have locks
};
unsettled why_unsettled() noexcept;
// The thread may have inherited a mask that blocks it.
void unblock_quarantine_signal() noexcept;

// Can a thread ever leave the stack of its G here?
bool can_leave() noexcept;
// Can it ever be known that a place is harmless?
bool can_freeze() noexcept;
// Puts back what the C library has changed for a call that may never end: system() ignores SIGINT and SIGQUIT
// meanwhile.
void restore_signals() noexcept;
// The actions of SIGINT and SIGQUIT as they are now are the ones to restore.
void note_signals() noexcept;

// sysmon. Unless done the question is withdrawn.
enum class put : unsigned char {
  done,
  refused,    // the kernel takes no more signals (RLIMIT_SIGPENDING): later perhaps
  no_signal,  // none is free
};
put put_question(M& m, probe::state question) noexcept;
// sysmon. `none`: there is no answer yet.
probe::state read_answer(M& m) noexcept;
// sysmon. False: it has been, or is being, answered.
bool withdraw_question(M& m) noexcept;

}  // namespace leat::sched
