// SPDX-License-Identifier: BSL-1.0
//
// A plug-in as it should be.
#include <chrono>
#include <cstdio>

#include <leat/csp/ticker.hpp>
#include <leat/plugin.hpp>
#include <leat/process/settings.hpp>

#include "reading.hpp"

LEAT_PLUGIN("climate");

namespace {

class room : public leat::process {
  leat::out<climate::reading> readings{this, "readings"};
  leat::setting<int> times{this, "times", 3, "readings before it ends", leat::between(1, 1000)};

  void run() override {
    leat::ticker clock{std::chrono::milliseconds(1)};
    for (int i = 0; i < times; ++i) {
      (void)clock.recv();
      readings.send({20.0 + i, "kitchen"});
    }
  }
};
LEAT_PROCESS(room, "how warm it is");

class average : public leat::process {
  leat::in<climate::reading> readings{this, "readings"};

  void run() override {
    double sum = 0;
    int n = 0;
    for (const climate::reading& r : readings) {
      sum += r.celsius;
      ++n;
    }
    std::printf("average of %d: %.1f\n", n, sum / n);
  }
};
LEAT_PROCESS(average, "the mean of all that came");

// Never comes back, and never asks.
class stuck : public leat::process {
  void run() override {
    for (;;) asm volatile("");
  }
};
LEAT_PROCESS(stuck, "hangs");

}  // namespace
