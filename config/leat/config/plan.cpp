// SPDX-License-Identifier: BSL-1.0
#include <leat/config/plan.hpp>

#include <leat/config/keys.hpp>

namespace leat::config {

const char* to_string(overflow o) noexcept { return policy_names[static_cast<std::size_t>(o)].data(); }

std::string plan::where(const place& at) const {
  if (!at.known() || at.file >= files.size()) return {};
  return files[at.file] + ':' + std::to_string(at.line);
}

}  // namespace leat::config
