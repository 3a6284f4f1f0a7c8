// SPDX-License-Identifier: BSL-1.0
// error: a process class must override all pure virtual functions: does it have `void run\(\) override`\?
// within: 5 of 24
#include <leat/leat.hpp>

class smooth : public leat::process {
  void rum() {}
};
LEAT_PROCESS(smooth, "has no run()");
