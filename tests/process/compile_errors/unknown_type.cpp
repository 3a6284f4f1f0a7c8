// SPDX-License-Identifier: BSL-1.0
// error: Leat does not know this type: say LEAT_MESSAGE
// within: 30 of 120
#include <leat/leat.hpp>

struct sample {
  double celsius;
};

class smooth : public leat::process {
  leat::in<sample> raw{this, "raw"};
  void run() override {}
};
LEAT_PROCESS(smooth, "takes what has no name");
