// SPDX-License-Identifier: BSL-1.0
#pragma once

namespace leat::sched {

// The code of this shared object, which is loaded and stays, is like the program's own: a G that hangs in it
// can be taken off its thread there (quarantine.hpp). Before the first run of the program.
void add_leavable_file(const char* path);

}  // namespace leat::sched
