// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include <leat/base/value.hpp>

namespace leat::config {

// A shared object that a file names in `plugins`.
struct plugin_file {
  std::string path;  // relative ones begin at the folder of the file that names it
  source_location at;
};

}  // namespace leat::config
