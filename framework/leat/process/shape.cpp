// SPDX-License-Identifier: BSL-1.0
#include <leat/process/shape.hpp>

namespace leat {

std::string type_name(const type_shape& s) {
  switch (s.form) {
    case form::list: return "list of " + type_name(s.element());
    case form::maybe: return "optional " + type_name(s.element());
    default: return std::string(s.name);
  }
}

}  // namespace leat
