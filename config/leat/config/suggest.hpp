// SPDX-License-Identifier: BSL-1.0
//
// base/suggest.hpp by the names it has here.
#pragma once

#include <leat/base/suggest.hpp>

namespace leat::config {

using leat::did_you_mean;
using leat::edit_distance;
using leat::nearest;

}  // namespace leat::config
