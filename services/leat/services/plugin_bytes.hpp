// SPDX-License-Identifier: BSL-1.0
//
// What a file says of itself before any of its code runs: whether it is a plug-in, and one for this program.
// A function of bytes, which may be anybody's. Not installed.
#pragma once
#include <string>
#include <string_view>

namespace leat::services {

struct plugin_in_file {
  std::string name = {};   // what LEAT_PLUGIN says, fit to be shown
  std::string error = {};  // not empty: it cannot be used, and why
};

plugin_in_file read_plugin(std::string_view bytes);

}  // namespace leat::services
