// SPDX-License-Identifier: BSL-1.0
//
// Diagnostics as people and as programs read them.
#pragma once

#include <string>

#include <leat/config/diagnostic.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

// Each with its line, carets below it, and the second places:
//
//   gateway.toml:39:14: error: channel 'clean' joins ports of different types
//      39 | out = { ok = "clean" }
//         |              ^^^^^^^ filter.ok writes 'sample'
std::string render(const diagnostics& found, const source_set& sources, bool colour = false);

// The same for its remarks.
std::string render_remarks(const diagnostics& found, const source_set& sources, bool colour = false);

// {"errors":[...],"warnings":[...]}, each element with severity, rule, file, line, column, length, message,
// and label, suggestion and notes where there are some. With remarks: "remarks":[...] too.
std::string render_json(const diagnostics& found, const source_set& sources, bool with_remarks = false);

// "3 errors, 1 warning"; "no errors".
std::string summary(const diagnostics& found);

// A JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD.
std::string json_quoted(std::string_view text);

}  // namespace leat::config
