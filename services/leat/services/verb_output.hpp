// SPDX-License-Identifier: BSL-1.0
//
// What all verbs of the command line share: exit statuses, and how they print.
#pragma once
#include <string_view>

namespace leat::services {

inline constexpr int all_is_well = 0, failed = 1, bad_usage = 2, bad_configuration = 78;

void print(std::string_view text);     // to stdout
void complain(std::string_view text);  // to stderr

// Whether this is a terminal that wants colour.
bool colour_on(int fd);

// Complains, and returns the status.
int out_of_memory();

}  // namespace leat::services
