// SPDX-License-Identifier: BSL-1.0
#include <leat/process/state.hpp>

namespace leat {

std::shared_ptr<states::box_base> state_store::find(std::string_view name, const void* type,
                                                    std::shared_ptr<states::box_base> (*make)()) {
  for (const auto& [known, box] : boxes_) {
    if (known != name) continue;
    if (box->type() == type) return box;
    throw wiring_error("state '" + known + "' is there with another type");
  }
  return boxes_.emplace_back(std::string(name), make()).second;
}

}  // namespace leat
