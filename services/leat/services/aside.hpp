// SPDX-License-Identifier: BSL-1.0
//
// Code of values (their copies, moves and destructors), which may wait for anybody or never return, done for the host on a G
// of its own, so that it cannot stop all restarts. The host waits for a moment: as a rule that is all it takes, and
// what comes after it comes in order.
#pragma once
#include <functional>
#include <memory>

#include <leat/sched/overrun.hpp>

namespace leat::services {

// For a G that works beside the host: it is quarantined when it hangs, and whoever waits for it says what that means.
std::shared_ptr<overrun_guard> guard_aside();

// On a G. False: it failed, which is logged, is not over within a second, could not be started, or the caller was
// asked to stop. It may go on, so it owns what it uses, and touches nothing of the host's.
bool run_aside(std::function<void()> work);

}  // namespace leat::services
