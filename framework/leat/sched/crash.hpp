// SPDX-License-Identifier: BSL-1.0
//
// The last report of a program that dies by SIGSEGV, SIGBUS, SIGILL, SIGFPE or SIGABRT while a runtime runs:
// the signal, the G that was running on the thread, and where it stood. The default action, or the handler
// that was there before the first runtime, follows. Since that one may mend the fault, the report says then
// that the program may end, and is given once for each signal.
#pragma once
#include <cstdint>

namespace leat {

// Lines of a layer above, after those: whose G it was. In the signal handler: no lock, no allocation. `g` is
// the id of the G that was running, 0 if the thread ran none. Null: no more.
using crash_note_fn = void (*)(int fd, std::uint64_t g) noexcept;
void set_crash_note(crash_note_fn note) noexcept;

namespace sched {
void report_crashes() noexcept;
}

}  // namespace leat
