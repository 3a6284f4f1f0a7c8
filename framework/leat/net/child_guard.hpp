// SPDX-License-Identifier: BSL-1.0
//
// Ends groups of children when this program has gone without doing so itself, killed or crashed: a shell, in
// a session of its own, that reads from a socket which groups there are. When the socket ends, with the last
// descriptor of this program, it kills those that are left. PR_SET_PDEATHSIG would not do: it is tied to the
// thread that started the child, and reaches the child alone.
//
// It is started with the first group, so that programs without one have none. Any thread. Not installed.
#pragma once
#include <sys/types.h>

namespace leat::net {

void guard_group(pid_t group) noexcept;
// It is over, and its number may become another's.
void unguard_group(pid_t group) noexcept;

}  // namespace leat::net
