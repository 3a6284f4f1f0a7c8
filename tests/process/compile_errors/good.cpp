// SPDX-License-Identifier: BSL-1.0
// compiles
#include <leat/leat.hpp>

struct sample {
  double celsius;
  int at;
};
LEAT_MESSAGE(sample, celsius, at);

class smooth : public leat::process {
  leat::in<sample> raw{this, "raw"};
  leat::setting<bool> loud{this, "loud", leat::help{"says what it does"}};
  void run() override {}
};
LEAT_PROCESS(smooth, "takes samples");
