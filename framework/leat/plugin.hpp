// SPDX-License-Identifier: BSL-1.0
//
// For a shared object with process classes: see docs/plug-ins.md.
#pragma once
// First: what comes next would only confuse who compiles for an older standard.
#include <leat/base/language.hpp>

#include <leat/process/plugin.hpp>
#include <leat/process/registry.hpp>
