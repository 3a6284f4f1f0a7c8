// SPDX-License-Identifier: BSL-1.0
#include <leat/process/plugin.hpp>

extern "C" {
extern const char leat_runtime_copy = 0;
}
