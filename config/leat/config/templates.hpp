// SPDX-License-Identifier: BSL-1.0
//
// [template.NAME] and [use.TEMPLATE.NAME] of a file become processes and channels of its service.
//
//   - What a template declares gets the name of the use before its own: process `reader` of the use `north` is
//     `north-reader`. That is a name like any other: in overrides, in the log, in the verbs. Where two would be the
//     same, that is an error.
//   - Names inside the template mean what the template declares, if it does, and else what the service has.
//   - Places inside are those of a use of the file (source_set::add_use), so that diagnostics show both.
#pragma once

#include <string_view>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/expand.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

// What services, processes and channels may be called.
bool is_id(std::string_view text);

// The root of a file with all variables, parameters and templates replaced. `arguments`: those of the service.
value expand_file(const value& root, const environment_fn& environment,
                  const std::vector<argument>& arguments, source_set& sources, diagnostics& found);

}  // namespace leat::config
