// SPDX-License-Identifier: BSL-1.0
// error: a process class needs a public constructor without arguments
// within: 5 of 24
#include <leat/leat.hpp>

class smooth : public leat::process {
 public:
  explicit smooth(int window);
  void run() override {}
};
LEAT_PROCESS(smooth, "wants to be told something");
