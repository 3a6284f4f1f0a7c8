// SPDX-License-Identifier: BSL-1.0
// error: deleted
// within: 5 of 60
#include <leat/leat.hpp>

class smooth : public leat::process {
  leat::setting<std::string> device{this, "device", "the serial port"};
  void run() override {}
};
