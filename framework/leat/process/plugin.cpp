// SPDX-License-Identifier: BSL-1.0
#include <leat/process/plugin.hpp>

extern "C" {
const char leat_runtime_copy = 0;  // not of this file alone: the header says extern
}
