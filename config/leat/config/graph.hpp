// SPDX-License-Identifier: BSL-1.0
//
// What follows from who is joined to whom.
#pragma once

#include <cstdint>
#include <vector>

#include <leat/base/flavour.hpp>
#include <leat/config/plan.hpp>

namespace leat::config {

// Gs that may send or receive, replicas counted.
struct user_count {
  unsigned writers = 0;
  unsigned readers = 0;
  unsigned reading_processes = 0;
};
user_count count_users(const plan& p, const channel_plan& c);

// Replicas of the processes that read it.
unsigned reading_replicas(const plan& p, const channel_plan& c);

// How a channel works inside, by the declared topology. One that copies to a single reading process is no
// broadcast: it has that reader's policy.
flavour choose_flavour(const plan& p, const channel_plan& c);

// What a send meets when the channel is full, as far as it is the same for all readers.
leat::full effective_policy(const channel_plan& c);

// Processes from sinks to sources: each stands behind those that read what it writes, except in a cycle.
std::vector<index> sinks_first(const plan& p);

// A way round through channels whose writers wait when they are full: edge i leads from processes[i] through
// channels[i] to the next.
struct blocking_cycle {
  std::vector<index> processes;
  std::vector<index> channels;
};
// One for each set of processes that reach one another: a shortest through the first of them.
std::vector<blocking_cycle> blocking_cycles(const plan& p);

// Stacks, rings and pools, as far as they are known before the start.
memory_sum sum_memory(const plan& p);

}  // namespace leat::config
