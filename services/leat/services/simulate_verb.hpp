// SPDX-License-Identifier: BSL-1.0
//
// `leat simulate`: from a checked plan to an exit status.
#pragma once
#include <leat/config/config.hpp>
#include <leat/services/command_line.hpp>

namespace leat::services {

// One seed: its log, and its summary. Several: each without a log, until one fails or, with --until, one in which the
// condition is true; that one again with its log. What is wrong with the files has been said.
int simulate_services(const command& c, config::checked r);

}  // namespace leat::services
