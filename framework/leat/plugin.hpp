// SPDX-License-Identifier: BSL-1.0
//
// For a shared object with process classes: see docs/plug-ins.md.
#pragma once
#include <leat/process/plugin.hpp>
#include <leat/process/registry.hpp>
