// SPDX-License-Identifier: BSL-1.0
//
// The services that a deployment lists: names of files, and uses of a file under another name and with parameters.
//
//   services = ["uplink.toml", { file = "plant.toml", name = "north", with = { bus = "/dev/ttyS1" } }]
#pragma once

#include <optional>
#include <string>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/expand.hpp>

namespace leat::config {

// One use of a service file.
struct service_use {
  source_location at = {};         // the element of the list
  std::optional<value> name = {};  // a text
  value with = {};                 // a table, or none
};

struct listed_service {
  std::string file;
  source_location at = {};              // of the file's name
  std::optional<service_use> use = {};  // none: the file as it is
};

// What is wrong is reported and left out; `complete` becomes false when a file cannot be told.
std::vector<listed_service> read_service_list(const value& list, bool& complete, diagnostics& found);

// The arguments that a file is expanded with, by its [service] and its use. Its [service] has the name of the use then,
// and no parameters.
std::vector<argument> take_arguments(value& root, const service_use* use, source_location asked_at,
                                     const std::string& file_name, const environment_fn& environment,
                                     diagnostics& found);

}  // namespace leat::config
