// SPDX-License-Identifier: BSL-1.0
//
// Which processes wait only for one another: a search over who waits for whom, as pure functions.
//
// A replica is stuck if nothing that could end its wait can come from one that is not stuck. The stuck are
// the greatest set of which that is true: all that wait are taken for stuck, and those are taken out again
// who can be helped by one that is not, until nobody is left to be taken out.
//
// Of the stuck, those form a set that wait for one another in a circle, directly or through others, and for
// nobody outside of it; the rest waits behind them.
#pragma once
#include <cstddef>
#include <vector>

#include <leat/config/plan.hpp>

namespace leat::services {

// Where a replica waits. Each of the groups must be helped, by any one of its processes.
struct wait_site {
  config::index channel = 0;
  bool sends = false;
  std::vector<std::vector<config::index>> helpers = {};
};

struct replica_view {
  config::index process = 0;
  bool ended = false;                 // for good
  std::vector<wait_site> waits = {};  // any of them ends its wait; none: it is not stuck
};

struct stuck_set {
  std::vector<std::size_t> members = {};  // indices of replicas, rising
  std::vector<std::size_t> behind = {};   // those that wait for the members
};

// `processes`: how many there are.
std::vector<stuck_set> find_deadlocks(const std::vector<replica_view>& replicas, std::size_t processes);

// False: whatever its processes do, none of them can wait for another in a circle, since no two of them are
// joined in two ways.
bool can_deadlock(const config::plan& plan);

}  // namespace leat::services
