// SPDX-License-Identifier: BSL-1.0
#pragma once

// As text, so that it can be part of a text. CMake compares it with the project's version.
#define LEAT_VERSION "0.1.0"
