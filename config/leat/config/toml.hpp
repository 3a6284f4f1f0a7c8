// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <cstdint>
#include <optional>

#include <leat/base/value.hpp>
#include <leat/config/diagnostic.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

// The file as a tree of tables, lists, texts, numbers and booleans, in the order of the file, each with its
// place. Empty when the text is no TOML; then it has been reported. A name that is there twice is reported
// with both locations and left out, and the rest is read.
std::optional<value> parse_toml(const source_set& sources, std::uint32_t file, diagnostics& found);

}  // namespace leat::config
