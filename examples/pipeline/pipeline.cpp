// SPDX-License-Identifier: BSL-1.0
//
// A source, a filter with replicas, and two sinks of which one is slow.
#include <chrono>
#include <cstdio>

#include <leat/leat.hpp>
#include <leat/main.hpp>

struct reading {
  int sensor;
  double value;
};
LEAT_MESSAGE(reading, sensor, value);

class source : public leat::process {
  leat::out<reading> raw{this, "raw"};
  leat::setting<int> count{this, "count", 0, "readings to make; 0: until it is stopped",
                           leat::between(0, 1'000'000'000)};
  leat::setting<int> sensors{this, "sensors", 4, "how many sensors it plays", leat::between(1, 1000)};

  void run() override {
    for (int i = 0; count == 0 || i < count; ++i)
      if (raw.send({i % sensors, i * 0.5}) != leat::send_status::sent) return;
  }
};
LEAT_PROCESS(source, "makes readings as fast as they are taken");

class scale : public leat::process {
  leat::in<reading> raw{this, "raw"};
  leat::out<reading> scaled{this, "scaled"};
  leat::setting<double> factor{this, "factor", 1.0, "what each value is multiplied by"};

  void run() override {
    for (reading r : raw) scaled.send({r.sensor, r.value * factor});
  }
};
LEAT_PROCESS(scale, "multiplies values");

class sum : public leat::process {
  leat::in<reading> values{this, "values"};

  void run() override {
    double total = 0;
    long n = 0;
    for (const reading& r : values) {
      total += r.value;
      ++n;
    }
    std::printf("sum of %ld: %.1f\n", n, total);
  }
};
LEAT_PROCESS(sum, "adds up, and says so at the end");

class panel : public leat::process {
  leat::in<reading> live{this, "live"};
  leat::setting<std::chrono::milliseconds> pace{this, "pace", std::chrono::milliseconds(20),
                                                "between two looks"};

  void run() override {
    long looks = 0;
    for ([[maybe_unused]] const reading& r : live) {
      ++looks;
      leat::sleep_for(*pace);
    }
    std::printf("the panel looked %s\n", looks > 0 ? "now and then" : "never");
  }
};
LEAT_PROCESS(panel, "a slow reader that wants the latest value only");

int main(int argc, char** argv) { return leat::main(argc, argv); }
