// SPDX-License-Identifier: BSL-1.0
#include <leat/config/plan.hpp>

namespace leat::config {

std::string plan::where(const source_location& at) const {
  if (!at.known() || at.file >= files.size()) return {};
  return files[at.file] + ':' + std::to_string(at.line);
}

}  // namespace leat::config
