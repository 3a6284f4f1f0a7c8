// SPDX-License-Identifier: BSL-1.0
//
// Where in a file a part of a text is written, through quotes, escapes and several lines.
#pragma once

#include <cstddef>
#include <string_view>

#include <leat/config/diagnostic.hpp>
#include <leat/config/source.hpp>

namespace leat::config {

// `whole` is where the text begins, with its quotes. A text that the file does not spell like that, as one with a
// ${VARIABLE}, has no locations within: then it is the whole.
source_location location_in_text(const source_set& sources, source_location whole, std::string_view text,
                                 std::size_t offset, std::size_t length);

// Moves what is about a part of a text there.
void locate_parts(const source_set& sources, diagnostics& found);

}  // namespace leat::config
