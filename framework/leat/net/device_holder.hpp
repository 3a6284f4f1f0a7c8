// SPDX-License-Identifier: BSL-1.0
//
// Who has a device open, as far as /proc tells this user. Not installed.
#pragma once
#include <string>

namespace leat::net {

// "process 1234 (minicom) uses it", or of this program itself; without a name if nobody can be found. Reads /proc: it
// blocks.
std::string device_holder(const std::string& path);

}  // namespace leat::net
