// SPDX-License-Identifier: BSL-1.0
// error: a process class derives from leat::process, publicly
// within: 5 of 24
#include <leat/leat.hpp>

class smooth : leat::process {
  void run() override {}
};
LEAT_PROCESS(smooth, "has forgotten `public`");
