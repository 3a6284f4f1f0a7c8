// SPDX-License-Identifier: BSL-1.0
//
// Shared objects whose process classes join the catalog (process/plugin.hpp).
#pragma once
#include <string>
#include <vector>

#include <leat/config/config.hpp>

namespace leat::services {

// Loads it, once, and for as long as the program runs. What is wrong, one sentence each; none: its classes
// are in program_catalog(). Of a file that was not made for this program no code has run then.
std::vector<std::string> load_plugin(const std::string& path);

// For config::check: loads what files name, and reports what is wrong at its place.
config::options with_plugins();

}  // namespace leat::services
