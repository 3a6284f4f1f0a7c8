// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <string>

#include <leat/base/schema.hpp>

namespace leat::services {

// A process class for people: ports with their messages, settings with types, ranges and defaults, and what
// may go wrong.
std::string describe_text(const class_schema& c, const catalog& all);
// The same for programs, in one line.
std::string describe_json(const class_schema& c, bool end_line = true);

}  // namespace leat::services
