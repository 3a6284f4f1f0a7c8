// SPDX-License-Identifier: BSL-1.0
#include <leat/config/plan.hpp>

#include <leat/config/keys.hpp>

namespace leat::config {

const char* to_string(full f) noexcept { return policy_names[static_cast<std::size_t>(f)].data(); }

std::string plan::where(const source_location& at) const {
  if (!at.known() || at.file >= files.size()) return {};
  return files[at.file] + ':' + std::to_string(at.line);
}

}  // namespace leat::config
