// SPDX-License-Identifier: BSL-1.0
//
// Supervisors in plain C++; services have theirs.
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>

#include <leat/process/supervisor.hpp>
