// SPDX-License-Identifier: BSL-1.0
//
// ${NAME} in texts: parameters of a template or a service first, then variables of the environment.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include <leat/base/value.hpp>
#include <leat/config/diagnostic.hpp>

namespace leat::config {

using environment_fn = std::function<std::optional<std::string>(std::string_view name)>;

// A parameter with what it is for one use.
struct argument {
  std::string name;
  value given;  // none: it was wrong, and reported
};

struct expand_scope {
  const environment_fn& environment;
  const std::vector<argument>* arguments = nullptr;
  // All places of the result are in this one of the sources.
  std::optional<std::uint32_t> file = {};
  // How many values may still be made; the one that is too much becomes none, and is not reported here.
  std::size_t* budget = nullptr;

  // For a text, before it is copied: a long one counts as several values. False: that is too much.
  bool spend(std::size_t size) const noexcept {
    const std::size_t cost = size / 64;
    if (!budget || cost == 0) return true;
    *budget -= std::min(*budget, cost);
    return *budget > 0;
  }
};

// The tree with ${NAME} and ${NAME:-default} replaced in all its texts, not in keys. $${ is a literal ${. A text
// that is one ${NAME} of a parameter and nothing else becomes its value, of whatever kind. A text that cannot be
// expanded is an error and becomes none, of which nobody finds fault again.
value expand(const value& tree, const expand_scope& scope, diagnostics& found);

void expand_environment(value& tree, const environment_fn& environment, diagnostics& found);

}  // namespace leat::config
