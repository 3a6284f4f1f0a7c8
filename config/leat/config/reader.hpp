// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <leat/config/builder.hpp>
#include <leat/config/merge.hpp>

namespace leat::config {

// Checks each key by itself (known, of the right kind, unit and range) and keeps it with its place.
builder build(const merged& m, const source_set& sources, diagnostics& found);

}  // namespace leat::config
