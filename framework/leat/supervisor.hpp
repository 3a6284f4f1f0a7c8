// SPDX-License-Identifier: BSL-1.0
//
// Supervisors in plain C++; services have theirs.
#pragma once
#include <leat/process/supervisor.hpp>
