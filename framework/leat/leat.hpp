// SPDX-License-Identifier: BSL-1.0
//
// All that the author of a process needs. Networking is <leat/net.hpp>.
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>
// And these: what comes next has inline functions that use errno.
#include <leat/base/errno.hpp>
#include <leat/base/this_thread.hpp>

#include <leat/csp/channel.hpp>
#include <leat/csp/condition_variable.hpp>
#include <leat/csp/mutex.hpp>
#include <leat/csp/once.hpp>
#include <leat/csp/select.hpp>
#include <leat/csp/semaphore.hpp>
#include <leat/csp/shared_mutex.hpp>
#include <leat/csp/task_group.hpp>
#include <leat/csp/task_set.hpp>
#include <leat/csp/ticker.hpp>
#include <leat/csp/wait_group.hpp>
#include <leat/process/actor.hpp>
#include <leat/process/field_path.hpp>
#include <leat/process/live_setting.hpp>
#include <leat/process/mailbox.hpp>
#include <leat/process/message.hpp>
#include <leat/process/process.hpp>
#include <leat/process/record.hpp>
#include <leat/process/record_port.hpp>
#include <leat/process/registry.hpp>
#include <leat/process/settings.hpp>
#include <leat/process/state.hpp>
#include <leat/sched/blocking.hpp>
#include <leat/sched/context.hpp>
#include <leat/sched/info.hpp>
#include <leat/sched/local.hpp>
#include <leat/sched/options.hpp>
#include <leat/sched/random.hpp>
#include <leat/sched/run.hpp>
#include <leat/sched/spawn.hpp>
#include <leat/sched/stop.hpp>
#include <leat/sched/stop_callback.hpp>
#include <leat/sched/time.hpp>
