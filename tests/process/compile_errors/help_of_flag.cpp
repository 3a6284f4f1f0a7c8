// SPDX-License-Identifier: BSL-1.0
// error: deleted
// within: 5 of 60
#include <leat/leat.hpp>

class smooth : public leat::process {
  leat::setting<bool> loud{this, "loud", "says what it does"};
  void run() override {}
};
