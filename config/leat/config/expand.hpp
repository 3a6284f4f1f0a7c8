// SPDX-License-Identifier: BSL-1.0
#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>

#include <leat/base/value.hpp>
#include <leat/config/finding.hpp>

namespace leat::config {

using environment_fn = std::function<std::optional<std::string>(std::string_view name)>;

// Replaces ${VAR} and ${VAR:-default} in all texts of the tree, not in keys. $${ is a literal ${. A text that
// cannot be expanded is an error and becomes none, of which nobody finds fault again.
void expand_environment(value& tree, const environment_fn& environment, findings& found);

}  // namespace leat::config
