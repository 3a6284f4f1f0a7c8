// SPDX-License-Identifier: BSL-1.0
#pragma once
#include <string>

#include <leat/control/view.hpp>

namespace leat::control {

// As GET /v1/state tells it; docs/operating.md has what each member means. `may_change`: whether the door
// that is asked takes more than questions.
std::string to_json(const deployment_view& v, bool may_change);

}  // namespace leat::control
