// SPDX-License-Identifier: BSL-1.0
//
// Taking a G off its thread although it does not come into the runtime.
//
// Roles. sysmon asks; the thread of the M answers, in the handler of a signal that sysmon sends to it. The
// handler interrupts the thread between two instructions, so what it reads of the M is what the thread itself
// would read there: whether it is in the runtime is not a guess.
//
// Variables, per M: summons::word (none, a question, answering, an answer), the gate's in_runtime and entries
// (retake_gate.hpp), cur.
//
//   sysmon                                         the thread, in the handler
//    1 has held the M in user code: entries = n     a reads word; no question: returns
//    2 entries still n after so long: writes the    b question -> answering by CAS; lost: returns
//      question and n, sends the signal             c in_runtime is 1, or entries is not n, or there is no
//    3 reads an answer: settles it, word = none       cur: answers `entered`, returns
//    4 none for too long: question -> none by CAS   d where: answers `seen`, with its trace, and returns
//      (lost: it is being answered; 3)              e a lock of Leat's is held: answers `locked`, returns
//                                                   f leave, and the place is not clean: answers `unclean`
//                                                   g leave: in_runtime = 1, switches to g0, which answers
//                                                     `left` there and comes in through the gate as any owner
//                                                   h freeze, and it stands in the program's code, or still
//                                                   in
//                                                     a system call, or was looked at for long: answers
//                                                     `frozen`, blocks all signals, waits for ever;
//                                                     in_runtime stays 0
//
// Without a timer that makes the thread look again (RLIMIT_SIGPENDING), each look is a question of its own:
// `unclean` without no_place, and sysmon asks again.
//
// Either the G comes in or it is quarantined, never both: in_runtime is written by this thread alone. If the
// first store of an entry (step 1 of the gate) comes before the signal, c refuses. If not, g and h take the
// thread away before that store, and it is never made.
// Forbidden: a question meant for one run of a G catches the next one. Every entry since 1 is counted in
// entries, since the word of the gate has not been quiet since then; c compares.
// Forbidden: sysmon gives up and the thread leaves all the same: 4 against b, by CAS on one word.
// Forbidden: the P is used twice. At g the thread is an owner that enters, and learns there whether it still
// has its P. At h in_runtime is 0 for good: sysmon borrows the P through the gate, and keeps it.
// Forbidden: a false deadlock while a G has left and is not yet accounted for: sysmon counts itself in
// without_p_ from 2 to 3.
//
// Where a G can be left (f): at an instruction of the program itself or of a library of Leat, called by such
// code alone up to the first frame of the G, as the unwinder tells. Then nobody's lock is held that others
// cannot know of: not malloc's, not the loader's, not stdio's. Leat's own code is safe because all it does to
// shared state is done inside the runtime or under a lock that e sees; the one exception, the one-to-one
// ring, is told to come in as well from the moment that a G is suspected (entered.hpp, come_in). A ring
// operation that began before that is over when the thread has used some CPU time since, which g and h
// require. In other libraries, with a C library that is linked statically, with sanitizers, and on machines
// whose unwinder cannot pass a signal frame (ARM EHABI), Gs are only frozen.
//
// What is frozen keeps its locks. Where it stands still (h): in the program's own code the C library's are
// not held, unless it was called from there with one (a callback of dl_iterate_phdr); in a system call that
// does not end, malloc's are not. Only one that was never seen in its own code, in thousands of looks, may be
// stopped in the middle of malloc. So that sysmon does not meet that lock right afterwards, it makes ready
// before the question (overrun.cpp, prepare_freezing): its P is with another M, whose thread runs, and what
// its joiner will be told is made. After the answer it allocates nothing, and lets go of nothing that it
// might be the last to hold.
//
// Stress: tests/sched/quarantine_storm_test.cpp, tests/csp/overrun_test.cpp.
#pragma once
#include <atomic>

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
// The thread may have inherited a mask that blocks it.
void unblock_quarantine_signal() noexcept;

// Can a G ever be left here, or only frozen?
bool can_leave() noexcept;

// sysmon. Unless done the question is withdrawn.
enum class put : unsigned char {
  done,
  refused,    // the kernel takes no more signals (RLIMIT_SIGPENDING): later perhaps
  no_signal,  // none is free
};
put put_question(M& m, summons::state question) noexcept;
// sysmon. `none`: there is no answer yet.
summons::state read_answer(M& m) noexcept;
// sysmon. False: it has been, or is being, answered.
bool withdraw_question(M& m) noexcept;

}  // namespace leat::sched
