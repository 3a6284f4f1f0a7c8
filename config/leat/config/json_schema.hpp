// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <string>

#include <leat/base/schema.hpp>

namespace leat::config {

// The grammar as a JSON Schema (draft 7), for editors that complete and check TOML by one. With a catalog it
// also knows the process classes, their ports and their settings.
std::string json_schema(const catalog* classes = nullptr);

}  // namespace leat::config
