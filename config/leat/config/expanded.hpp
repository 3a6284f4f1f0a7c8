// SPDX-License-Identifier: BSL-1.0
//
// What a configuration comes to, as plain files: no templates, parameters, variables or overrides. Checked again, they
// give the same plan.
#pragma once

#include <string>
#include <vector>

#include <leat/config/diagnostic.hpp>
#include <leat/config/plugin_file.hpp>

namespace leat::config {

struct merged;

struct expanded_file {
  std::string name;  // "plant.toml"
  std::string text;
};

// One file for one service. Several services are a deployment, which comes first, and a file each.
std::vector<expanded_file> expanded_files(const merged& from, const std::vector<plugin_file>& plugins,
                                          diagnostics& found);

}  // namespace leat::config
