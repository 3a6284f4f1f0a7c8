// SPDX-License-Identifier: BSL-1.0
#include <leat/plugin.hpp>

LEAT_PLUGIN("modbus");
