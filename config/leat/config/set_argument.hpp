// SPDX-License-Identifier: BSL-1.0
//
// --set PATH=VALUE of the command line: one key, set after all files.
//
//   plant.process.filter.config.window=4     SERVICE.process.NAME.KEY, SERVICE.channel.NAME.KEY, SERVICE.service.KEY
//   runtime.procs=1                          runtime, supervisor, control
//
// The value is TOML; what is none is a text, so that words and durations need no quotes within those of the shell. A
// part of the path that has a point in it stands in quotes.
#pragma once

#include <string>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/expand.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

// As files say it: tables, or none.
struct set_values {
  value runtime = {}, supervisor = {}, control = {};
  value overrides = {};  // by service
};

// What is wrong is reported at its place in the argument. Of two that set one key, the later counts.
set_values read_sets(const std::vector<std::string>& arguments, const environment_fn& environment,
                     source_set& sources, diagnostics& found);

}  // namespace leat::config
