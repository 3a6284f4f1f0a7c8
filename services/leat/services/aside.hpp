// SPDX-License-Identifier: BSL-1.0
//
// Code of values (their copies, moves and destructors), which may wait for anybody or never return, done for the host on a G
// of its own, so that it cannot stop all restarts. The host waits for a moment: as a rule that is all it takes, and
// what comes after it comes in order.
#pragma once
#include <functional>

namespace leat::services {

// On a G. False: it is not over within a second, or could not be started, or the caller was asked to stop. It
// may go on, so it owns what it uses, and touches nothing of the host's; it is quarantined like a process that hangs.
bool run_aside(std::function<void()> work);

}  // namespace leat::services
