// SPDX-License-Identifier: BSL-1.0
//
// `leat run`: from a checked plan to an exit status.
#pragma once
#include <leat/config/config.hpp>
#include <leat/services/command_line.hpp>

namespace leat::services {

// Runs until all services have ended or a signal comes; tells the summary. What is wrong with the files has been said.
int run_services(const command& c, const config::checked& r);

}  // namespace leat::services
