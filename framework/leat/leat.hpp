// SPDX-License-Identifier: BSL-1.0
//
// All that the author of a process needs. Networking is <leat/net.hpp>.
#pragma once
#include <leat/sched/blocking.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/options.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/time.hpp>
